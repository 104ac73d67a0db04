"""Faults planted in rows, manifest and card are named by `verify`, by `--audit`, or by both.

Everything else agrees with the fault: depths, lengths, digests, the manifest's entry and the card.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ruler_builder.release.card import CARD
from ruler_builder.release.facts import CROISSANT, EVAL_YAML
from ruler_builder.text.corpora import NOISE
from ruler_builder.verify.verify import VerifyReport, audit_release
from ruler_common.manifest import MANIFEST
from ruler_release.api import verify
from tests.builder.verify import planting
from tests.builder.verify.planting import Row


def path_of(task: str) -> str:
    """Return the file of a task: `vt` in RULER's release, `zh/cwe_easy` in ONERULER's."""
    return f"data/tekken/{'8k' if '/' in task else '4k'}/{task}.parquet"


ROW = 3


def second_word(row: Row, old: str, new: str) -> None:
    planting.in_context(row, old, new, 0.3)


def duplicate_key(row: Row) -> None:
    """Give a distractor the asked key."""
    keys = [planting.key_and_value(needle)[0] for needle in planting.needles(row)]
    key = next(key for key in keys if key in row["question"])
    distractor = next(distractor for distractor in keys if distractor != key)
    planting.in_context(row, distractor, key)


def duplicate_value(row: Row) -> None:
    """Give a distractor the value of the asked key."""
    values = [planting.key_and_value(needle)[1] for needle in planting.needles(row)]
    distractor = next(value for value in values if value not in row["outputs"])
    planting.in_context(row, distractor, row["outputs"][0])


def move_span(row: Row) -> None:
    for edge in ("start", "end"):
        row["evidence"][0][edge] -= 4


def drop_span(row: Row) -> None:
    row["evidence"].pop()


def mark_distractor(row: Row) -> None:
    next(span for span in row["evidence"] if not span["answer"])["answer"] = True


def half_window(row: Row) -> None:
    """Remove every second line of noise from the context."""
    start, end = row["context_start"], row["context_end"]
    lines = row["input"][start:end].split("\n")
    kept = [line for place, line in enumerate(lines) if place % 2 or line != NOISE]
    planting.edit(row, start, end, "\n".join(kept))
    row["context_start"], row["context_end"] = start, start + len("\n".join(kept))
    at = row["input"].index("One of the special", start)
    row["evidence"][0].update(start=at, end=row["input"].index("\n", at))


def tie(row: Row) -> None:
    """Replace the least frequent reference by another word until both are as frequent."""
    start, end = row["context_start"], row["context_end"]
    words = row["input"][start:end].split(" ")
    last = row["outputs"][-1]
    counts = {word: words.count(word) for word in set(words) if word.isalpha()}
    rivals = [word for word in counts if word not in row["outputs"]]
    rival = max(rivals, key=lambda word: (counts[word], word))
    lead = counts[last] - counts[rival]
    for place in reversed(range(len(words))):
        if lead > 0 and words[place] == last:
            words[place], lead = rival, lead - 2
    planting.edit(row, start, end, " ".join(words))
    row["context_start"], row["context_end"] = start, start + len(" ".join(words))


def repeat_gold(row: Row) -> None:
    span = row["evidence"][0]
    gold = row["input"][span["start"] : span["end"]]
    end = row["context_end"]
    row["input"] = f"{row['input'][:end]}\n\n{gold}{row['input'][end:]}"
    row["context_end"] += len(gold) + 2


def assign_twice(row: Row) -> None:
    planting.in_context(row, f"VAR {row['outputs'][4]} = ", f"VAR {row['outputs'][3]} = ")


def shift_start(row: Row) -> None:
    row["context_start"] += 1


def redraw_value(row: Row) -> None:
    planting.swap_all(row, row["outputs"][0], "7654321")


def set_columns(**columns: object) -> Callable[[Row], object]:
    return lambda row: row.update(columns)


def reverse_references(row: Row) -> None:
    row["outputs"].reverse()


def insert_value(row: Row, after: str = " the ") -> None:
    """Put a reference into the haystack."""
    second_word(row, after, f"{after}{row['outputs'][0]}{after}")


ROW_FAULTS: dict[str, tuple[str, Callable[[Row], object], str, str]] = {
    # name: (task, fault, verify's problem, the audit's problem; "" if the audit cannot know)
    "key twice": ("niah_multikey_1", duplicate_key, "input differs", "occurs in"),
    "value twice": ("niah_multikey_1", duplicate_value, "input differs", "needles"),
    "uuid redrawn": (
        "niah_multikey_3",
        lambda row: planting.swap_all(row, row["outputs"][0], "0" * 36),
        "input differs",
        "are not the values of",
    ),
    "value redrawn": ("niah_single_1", redraw_value, "input differs", ""),
    "reference missing": (
        "niah_single_2",
        set_columns(outputs=["7777777"]),
        "outputs is",
        "occurs 0 times",
    ),
    "references in another order": (
        "niah_multiquery",
        reverse_references,
        "outputs is",
        "in this order",
    ),
    "value in the haystack": (
        "niah_single_2",
        insert_value,
        "input differs at character",
        "occurs 2 times",
    ),
    "word of the essay": (
        "niah_single_2",
        lambda row: second_word(row, " the ", " a "),
        "input differs at character",
        "",
    ),
    "needle not in the evidence": ("niah_multikey_1", drop_span, "evidence is", "is missing"),
    "distractor marked": ("niah_multikey_1", mark_distractor, "evidence is", "not a span of it"),
    "span moved": ("vt", move_span, "evidence is", "is not a span of it"),
    "variable assigned twice": ("vt", assign_twice, "input differs", "assigned more than once"),
    "names in another order": (
        "vt",
        reverse_references,
        "outputs is",
        "are not the names bound to",
    ),
    "half a window": ("niah_single_1", half_window, "input differs", "are free"),
    "tie of common words": ("cwe", tie, "input differs", "times, not"),
    "rank of coded words": ("fwe", tie, "input differs", "are not ranks"),
    "word of a list": (
        "cwe",
        lambda row: second_word(row, ". ", ". un"),
        "input differs",
        "times, not",
    ),
    "gold document twice": ("qa_1", repeat_gold, "input differs", "occurs 2 times"),
    "gold span moved": ("qa_2", move_span, "evidence is", "not one whole document"),
    "another answer": ("qa_1", set_columns(outputs=["42"]), "outputs is", ""),
    "context a character late": ("fwe", shift_start, "context_start is", "letters"),
    "prefix with the answer": (
        "qa_1",
        set_columns(answer_prefix="42"),
        "answer_prefix differs at character 0",
        "",
    ),
    "another canary": ("vt", set_columns(canary="0"), "canary differs", "canary is '0'"),
    "no room for the answer": (
        "vt",
        set_columns(max_new_tokens=3),
        "max_new_tokens is 3",
        "the right answer takes",
    ),
    "another noun asked": (
        "en/niah_single",
        lambda row: row.update(question=row["question"] + "?"),
        "question differs",
        "asks for 0 nouns",
    ),
    "value of oneruler twice": (
        "zh/niah_multikey",
        lambda row: insert_value(row, "。"),
        "input differs",
        "occurs elsewhere",
    ),
    "value of an absent key": (
        "zh-en/niah_none",
        set_columns(outputs=["1234567"]),
        "outputs is",
        "are not the right ones",
    ),
    "no none word": (
        "en/niah_none",
        set_columns(none_word=""),
        "none_word differs",
        "none_word is ''",
    ),
    "order of oneruler's values": (
        "en-zh/niah_multiquery",
        reverse_references,
        "outputs is",
        "are not the right ones",
    ),
    "common word missing": (
        "zh/cwe_easy",
        lambda row: planting.in_context(row, f" {row['outputs'][0]} ", " 二 "),
        "input differs",
        "times, not",
    ),
}


def sentences(report: VerifyReport) -> list[str]:
    """Return the problems of a release: path, row and sentence."""
    return [
        f"{path} {row}: {what}"
        for path, file in report.files.items()
        for row, what in file.problems
    ]


@pytest.fixture
def copied(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Callable[[str, Callable[[list[Row]], object]], Path]:
    """Copy one file of a release and change its rows."""

    def copy(path: str, change: Callable[[list[Row]], object]) -> Path:
        source = request.getfixturevalue("release" if "/4k/" in path else "oneruler")
        root = tmp_path / "copy"
        (root / path).parent.mkdir(parents=True)
        shutil.copy(source / path, root / path)
        shutil.copy(source / MANIFEST, root)
        planting.keep(root, path)
        planting.plant(root, path, change)
        return root

    return copy


@pytest.mark.parametrize("name", ROW_FAULTS)
def test_a_fault_of_a_row_is_named(name, copied, tekken):
    task, fault, rebuilt, audited = ROW_FAULTS[name]
    path = path_of(task)

    def change(rows: list[Row]) -> None:
        before = json.dumps(rows[ROW])
        fault(rows[ROW])
        assert json.dumps(rows[ROW]) != before
        planting.follow(rows[ROW], tekken)

    root = copied(path, change)
    problems = sentences(verify(root))
    assert any(line.startswith(f"{path} {ROW}: {rebuilt}") for line in problems), problems
    problems = sentences(audit_release(root))
    if audited:
        of_row = [line for line in problems if line.startswith(f"{path} {ROW}:")]
        assert any(audited in line for line in of_row), problems
    else:
        assert problems == []


def exchanged(rows: list[Row]) -> None:
    rows[1], rows[2] = {**rows[2], "index": 1}, {**rows[1], "index": 2}


def sorted_lists(rows: list[Row]) -> None:
    """Common words at the beginning of every list."""
    for row in rows:
        start, end = row["context_start"], row["context_end"]
        words = re.findall(r"\d+\. (\S+)", row["input"][start:end])
        words.sort(key=lambda word: (word not in row["outputs"], word))
        text = " ".join(f"{number}. {word}" for number, word in enumerate(words, 1))
        planting.edit(row, start, end, text)
        row["context_start"], row["context_end"] = start, start + len(text)


FILE_FAULTS: dict[str, tuple[str, Callable[[list[Row]], object], str, str]] = {
    "rows exchanged": ("vt", exchanged, " 1: input differs", ""),
    "row twice": (
        "vt",
        lambda rows: rows.__setitem__(4, {**rows[3], "index": 4}),
        " 4: input differs",
        " 4: the row is row 3 again",
    ),
    "index twice": (
        "vt",
        lambda rows: rows[5].update(index=4),
        " 5: index is 4, should be 5",
        " 4: its index occurs twice",
    ),
    "row missing": ("vt", lambda rows: rows.pop(), "in the manifest, rows is ", ""),
    "rows sorted": ("cwe", sorted_lists, " 0: input differs", "are not spread over the context"),
    "length": (
        "vt",
        lambda rows: rows[ROW].update(length=rows[ROW]["length"] - 1),
        " 3: length is ",
        " 3: length is ",
    ),
    "depth": (
        "niah_single_2",
        lambda rows: rows[ROW]["evidence"][0].update(depth=0.123),
        " 3: evidence is ",
        " 3: depth 0.12300 should be ",
    ),
    "over its window": (
        "niah_single_1",
        lambda rows: rows[ROW].update(input=rows[ROW]["input"] + " grass" * 99),
        " 3: input differs",
        " 3: length is ",
    ),
}


@pytest.mark.parametrize("name", FILE_FAULTS)
def test_a_fault_of_a_file_is_named(name, copied):
    task, fault, rebuilt, audited = FILE_FAULTS[name]
    root = copied(path_of(task), fault)
    if name == "row missing":  # the manifest still claims it
        manifest = planting.manifest_of(root)
        manifest["files"][path_of(task)]["rows"] += 1
        planting.write_manifest(root, manifest)
    problems = sentences(verify(root))
    assert any(rebuilt in line for line in problems), problems
    problems = sentences(audit_release(root))
    assert any(audited in line for line in problems) if audited else problems == [], problems


TOKENIZER = {"spec": "tekken", "title": "", "library": "tekken", "version": "1"}
VT, ESSAY = path_of("vt"), path_of("niah_single_2")
MANIFEST_FAULTS: list[tuple[str, Any, str]] = [
    # a field, its wrong value (None: it is missing), verify's problem
    ("format", 0, "format is 0, should be 1"),
    ("note", "x", "note does not belong there"),
    ("left_out", {"vt_8k": "too long"}, "left_out does not belong there"),
    ("seed", 7, "input differs at character"),
    ("reserve", 100, "input differs at character"),
    ("suite", "mine", 'suite is "mine", should be "custom"'),
    ("sources essays", None, "sources.essays is missing"),
    ("sources essays licence", "CC0", 'sources.essays.licence is "CC0", should be '),
    ("sources essays sha256", "0" * 64, "sources.essays.sha256 is "),
    ("tokenizers tekken sha256", {}, "differs from the release's: sha256 is "),
    ("tokenizers tekken title", "GPT", 'tokenizers.tekken.title is "GPT", should be '),
    ("tokenizers mine", TOKENIZER, "tokenizers.mine does not belong there"),
    ("words", {"wonderwords 3.0.1 nounlist.txt": "0000"}, 'nounlist.txt is "0000'),
    ("groups all", ["niah_single_1"], 'groups.all is ["niah_single_1"], should be '),
    (
        "families variable_tracking input",
        "Say 42. {context} {question}",
        "families.variable_tracking.input is ",
    ),
    ("tasks vt hops", 3, "tasks.vt.hops is 3, should be 4"),
    (f"files {VT} quality", "high", "in the manifest, quality does not belong there"),
    (f"files {VT} tokens mean", 4000.5, "in the manifest, tokens.mean is 4000.5, should be "),
    (f"files {VT} fill", 1.0, "in the manifest, fill is 1.0, should be"),
    (f"files {VT} unit", 999, "in the manifest, unit is 999, should be"),
    (f"files {VT} exhausted", 3, "in the manifest, exhausted is 3, should be 0"),
    (f"files {VT} max_rows", 7, "in the manifest, max_rows is 7, should be null"),
    (f"files {VT} rows", 19, "in the manifest, rows is 19, should be 20"),
    (f"files {VT} sha256", "0" * 64, "sha256 is "),
    (f"files {VT} rows_sha256", "0" * 64, "rows_sha256 in the manifest is not that of the rows"),
]


@pytest.fixture(scope="module")
def two_files(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("two") / "ruler"
    for path in (VT, ESSAY):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(release / path, root / path)
    shutil.copy(release / MANIFEST, root)
    planting.keep(root, VT, ESSAY)
    return root


@pytest.mark.parametrize(("field", "value", "problem"), MANIFEST_FAULTS)
def test_a_fault_of_the_manifest_is_named(field, value, problem, two_files, tmp_path):
    root = Path(shutil.copytree(two_files, tmp_path / "ruler"))
    manifest = planting.manifest_of(root)
    *parents, name = field.split(" ")
    table = manifest
    for parent in parents:
        table = table[parent]
    table[name] = value
    if value is None:
        del table[name]
    planting.write_manifest(root, manifest)
    problems = sentences(verify(root))
    assert any(problem in line for line in problems), problems


CARD_FAULTS = {
    "card": (CARD, "# RULER", "# RULER 2", "line "),
    "configuration": (CARD, "niah_single_2.parquet", "vt.parquet", "line "),
    "code": (CARD, "load_dataset(", "load_dataset(trust_remote_code=True, ", "line "),
    "registration": (EVAL_YAML, "RULER", "RULERS", "line "),
    "digest": (CROISSANT, '"sha256": "', '"sha256": "0', "line "),
    "repository": (
        CROISSANT,
        '"identifier":',
        '"url": "https://huggingface.co/datasets/a/b\\", trust_remote_code=True)", "identifier":',
        "is not the name of a Hub repository, ORG/NAME",
    ),
}


@pytest.mark.parametrize("name", CARD_FAULTS)
def test_a_fault_of_the_card_is_named(name, two_files, tmp_path):
    file, old, new, problem = CARD_FAULTS[name]
    root = Path(shutil.copytree(two_files, tmp_path / "ruler"))
    text = (root / file).read_text(encoding="utf-8")
    assert old in text
    (root / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    problems = sentences(verify(root))
    assert any(problem in line for line in problems), problems
