"""A release of ONERULER: what it holds, how its laws are proved, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruler_builder.oneruler.language_pairs import Languages
from ruler_builder.proof.verify_report import VerifyReport
from ruler_builder.release.build import build
from ruler_builder.release.order import BuildOrder
from ruler_builder.sources.registry import restricted
from ruler_builder.verify.verify import verify
from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from ruler_common.manifest_form import MANIFEST
from ruler_common.names import GROUPS, LANGUAGES, TASKS
from ruler_common.rows import features
from ruler_dataset import load
from tests.builder.conftest import EVERY_LANGUAGES_TASKS
from tests.conftest import Silent

Rows = list[dict[str, Any]]


def order(root: Path, *names: str, **more: Any) -> BuildOrder:
    usual = {"suite": "oneruler", "lengths": ("8k",), "samples": 2, "sources": ("embedded",)}
    return BuildOrder(root, languages=Languages(names or ("en",)), **(usual | more))


def plant(root: Path, path: str, change: Callable[[Rows], object]) -> dict[int, list[str]]:
    """Change the rows of a file, let the manifest agree, and give the breaches found, by law.

    Only the files of the same task are verified: with them a row is compared.
    """
    file = f"data/tekken/8k/{path}.parquet"
    rows = pq.read_table(root / file).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, features().arrow_schema), root / file)
    manifest = json.loads((root / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"][file]["sha256"] = sha256_of(root / file)
    for other in [name for name in manifest["files"] if Path(name).stem != Path(file).stem]:
        (root / other).unlink()
        del manifest["files"][other]
    (root / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return by_law(verify(root))


def by_law(report: VerifyReport) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for file in report.files.values():
        for breach in file.breaches:
            found.setdefault(breach.law, []).append(breach.what)
    return found


@pytest.fixture
def copy(oneruler: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(oneruler, tmp_path / "copy"))


def test_a_good_release_breaks_no_law(oneruler: Path) -> None:
    report = verify(oneruler)
    assert report.ok
    assert len(report.files) == 2 * (7 + 1) + 2 * (5 + 1)


def test_its_configurations_are_loaded_by_name(oneruler: Path) -> None:
    from datasets import load_dataset

    rows = load_dataset(str(oneruler), "niah_none_8k_zh", split="test")
    assert rows[0]["outputs"] == ["无"]
    assert set(load(oneruler, "niah_single_8k_en-zh")["instruction_language"]) == {"zh"}
    assert len(load(oneruler, "all_8k_en")) == 7 * 6
    assert len(load(oneruler, "niah_8k_zh-en")) == 5 * 6
    assert len(load(oneruler, "niah_single_nonone_8k_en")) == 6
    with pytest.raises(RulerError, match="holds no 'all_8k_zh-en'"):
        load(oneruler, "all_8k_zh-en")


def test_the_manifest_keeps_the_prompts_the_errata_and_the_sources(oneruler: Path) -> None:
    manifest = json.loads((oneruler / MANIFEST).read_text(encoding="utf-8"))
    assert set(manifest["languages"]) == {"en", "zh"}
    assert manifest["languages"]["zh"]["separator"] == ""
    assert {source["variant"] for source in manifest["sources"].values()} == {"embedded"}
    assert manifest["groups"]["all"] == list(GROUPS["oneruler"]["all"])
    assert set(TASKS["oneruler"]) - {*manifest["groups"]["all"]} == {"niah_single_nonone"}
    assert manifest["tasks"]["niah_single_nonone"]["same_as"] == "niah_single"


def test_the_manifest_says_how_often_the_book_began_again_in_each_row(tmp_path: Path) -> None:
    root = tmp_path / "long"
    built = build(order(root, "zh", lengths=("32k",), tasks=("niah_single",)), Silent())
    (entry,) = built.manifest["files"].values()
    assert entry["row_repeats"] == [entry["repeats"]] * 2
    text = load(root, "niah_single_32k_zh")[0]["input"]
    opening = text[text.index(">") + 1 :].strip()[:24]
    assert entry["repeats"] == text.count(opening) - 1 > 0


def test_a_default_order_is_more_than_the_embedded_texts() -> None:
    with pytest.raises(RulerError, match="no text of its own"):
        build(BuildOrder(Path("never"), suite="oneruler", sources=("embedded",)), Silent())
    assert not Path("never").exists()


@pytest.mark.nightly
def test_all_26_languages_are_built_and_proved(every_language: Path) -> None:
    report = verify(every_language)
    assert report.ok, by_law(report)
    crossed = [task for task in EVERY_LANGUAGES_TASKS if task.startswith("niah_")]
    assert len(report.files) == 26 * len(EVERY_LANGUAGES_TASKS) + 4 * len(crossed)
    found = load(every_language, "niah_none_8k_pl", "cl100k_base")
    assert found["none_word"] == ["brak"] * 2


def test_restricted_books_can_be_left_out(mirror: Path, tmp_path: Path) -> None:
    closed = restricted()
    assert set(closed) < set(LANGUAGES)
    code = min(closed)
    root = tmp_path / "open"
    languages = Languages((code, "en"), skip_restricted=True)
    made = order(root, mirror=mirror, sources=(), tasks=("niah_single",))
    built = build(BuildOrder(**(vars(made) | {"languages": languages})), Silent())
    assert {entry["language"] for entry in built.manifest["files"].values()} == {"en"}
    with pytest.raises(RulerError, match="may not be free everywhere: ask for other"):
        build(
            BuildOrder(**(vars(made) | {"languages": Languages((code,), skip_restricted=True)})),
            Silent(),
        )


def test_lists_of_words_are_not_crossed(tmp_path: Path) -> None:
    with pytest.raises(RulerError, match="take niah"):
        build(order(tmp_path / "no", "en-zh", tasks=("cwe",)), Silent())
    assert not (tmp_path / "no").exists()


def test_the_embedded_texts_are_never_mixed_with_the_published(
    mirror: Path, tmp_path: Path
) -> None:
    with pytest.raises(RulerError, match="do not stand beside"):
        build(order(tmp_path / "no", mirror=mirror, sources=("book-en=embedded",)), Silent())
    assert not (tmp_path / "no" / MANIFEST).exists()


def test_ruler_takes_no_language(tmp_path: Path) -> None:
    with pytest.raises(RulerError, match="--suite oneruler"):
        build(order(tmp_path / "no", "pl", suite="ruler"), Silent())


# ---- Planted breaches --------------------------------------------------------------------------


def replaced(rows: Rows, row: int, old: str, new: str) -> None:
    assert old in rows[row]["input"]
    rows[row]["input"] = rows[row]["input"].replace(old, new)


def needle(row: dict[str, Any], place: int) -> str:
    span = row["evidence"][place]
    return str(row["input"][span["start"] : span["end"]])


def digits(text: str) -> str:
    return "".join(char for char in text if char.isdigit())


def test_a_value_that_stands_twice_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        old, new = (digits(needle(rows[0], place)) for place in (0, 1))
        replaced(rows, 0, old, new)

    assert 3 in plant(copy, "en/niah_multikey", change)


def test_an_absent_key_that_is_there_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        asked = rows[0]["question"].split('"')[1]
        there = needle(rows[0], 0).split('"')[1]
        start, end = rows[0]["context_start"], rows[0]["context_end"]
        text = rows[0]["input"]
        rows[0]["input"] = text[:start] + text[start:end].replace(f'"{there}"', f'"{asked}"')
        rows[0]["input"] += text[end:]

    found = plant(copy, "en/niah_none", change)
    assert any("absent key" in what for what in found[3])


def test_a_needle_for_none_with_a_number_as_reference_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        rows[1]["outputs"] = [digits(needle(rows[1], 0))]

    assert any("not the none word" in what for what in plant(copy, "zh/niah_none", change)[3])


def test_another_none_word_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        rows[1]["none_word"] = "nothing"

    assert any("none_word is" in what for what in plant(copy, "zh/niah_single", change)[3])


def test_a_tag_that_is_not_closed_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        rows[2]["input"] = rows[2]["input"].replace("</Answer>", "")

    assert any(
        "the text after the context is not the wording's" in what
        for what in plant(copy, "en/niah_single", change)[4]
    )


def test_a_context_that_stands_twice_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        text, start, end = (rows[0][key] for key in ("input", "context_start", "context_end"))
        rows[0]["input"] = text[:end] + "\n" + text[start:]

    found = plant(copy, "en/cwe_easy", change)
    assert any("the text after the context is not the wording's" in what for what in found[4])


def test_a_needle_cut_in_two_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        whole = needle(rows[0], 0)
        replaced(rows, 0, whole, whole[:-3] + " " + whole[-2:])

    found = plant(copy, "en/niah_single", change)
    assert 3 in found
    assert any("is no such span" in what for what in found[4])


def test_a_row_that_asks_another_noun_than_in_the_other_language_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        rows[0], rows[1] = rows[1] | {"index": 0}, rows[0] | {"index": 1}

    found = plant(copy, "zh/niah_single", change)
    assert any("asks something else than row 0" in what for what in found[5])


def test_needles_elsewhere_than_in_the_other_language_are_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        text, span = rows[0]["input"], rows[0]["evidence"][0]
        shown = needle(rows[0], 0)
        start, end = rows[0]["context_start"], rows[0]["context_end"]
        target = end - len(shown) if span["depth"] < 0.5 else start
        rest = text.replace(shown, "", 1)
        rows[0]["input"] = rest[:target] + shown + rest[target:]
        depth = (target - start) / (end - start)
        rows[0]["evidence"] = [
            {"start": target, "end": target + len(shown), "depth": depth, "answer": True}
        ]

    found = plant(copy, "zh/niah_single", change)
    assert any("needles elsewhere" in what for what in found[5])


def test_a_common_word_that_ties_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        text, word = rows[0]["input"], rows[0]["outputs"][0]
        start = text.index(f" {word} ", rows[0]["context_start"])
        rows[0]["input"] = text[:start] + text[start:].replace(f" {word} ", " zzz ", 1)

    assert any("appear" in what for what in plant(copy, "en/cwe_hard", change)[3])


def test_an_answer_leaked_into_the_prompt_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        tail = rows[0]["input"].rindex("<Answer>")
        rows[0]["input"] = rows[0]["input"][:tail] + f"<Answer> {rows[0]['outputs'][0]} </Answer>"
        rows[1]["answer_prefix"] = f"The answer is {rows[1]['outputs'][0]}"

    found = plant(copy, "en/niah_single", change)
    assert sum("is not the wording's" in what for what in found[4]) == 2


def test_a_distractors_value_in_the_book_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        value = digits(needle(rows[0], 3))
        start = rows[0]["evidence"][3]["end"] + 40
        text = rows[0]["input"]
        rows[0]["input"] = text[:start] + value + text[start + 7 :]

    assert any("stands elsewhere" in what for what in plant(copy, "zh/niah_none", change)[3])


def test_another_text_in_one_row_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        start = rows[3]["context_start"] + 30
        text = rows[3]["input"]
        rows[3]["input"] = text[:start] + "xyz" + text[start + 3 :]

    found = plant(copy, "en/niah_multivalue", change)
    assert any("the text is not its source's" in what for what in found[8])


def test_a_wrong_language_and_a_needle_too_many_are_breaches_and_no_tracebacks(
    copy: Path,
) -> None:
    def change(rows: Rows) -> None:
        rows[0]["language"] = "xx"
        rows[1]["evidence"].append({"start": 200, "end": 230, "depth": 0.0, "answer": False})

    found = plant(copy, "zh/niah_single", change)
    assert {1, 3, 4, 5} <= set(found)


def test_a_list_with_evidence_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        rows[0]["question"] = rows[0]["question"][:-1]

    assert any(
        "question is not the wording's" in what for what in plant(copy, "zh/cwe_easy", change)[3]
    )


def test_a_suite_whose_names_say_nothing_is_proved(tmp_path: Path) -> None:
    suite = tmp_path / "own.toml"
    suite.write_text(
        'dataset = "oneruler"\n[tasks.common]\nfamily = "multilingual_words"\n'
        '[tasks.my_cwe_niah]\nfamily = "multilingual_niah"\n',
        encoding="utf-8",
    )
    root = tmp_path / "own"
    build(order(root, "zh", suite=suite), Silent())
    assert verify(root).ok


def test_a_card_that_is_not_there_is_written_again(copy: Path) -> None:
    card, listing = copy / "README.md", copy / "eval.yaml"
    before = card.read_text(encoding="utf-8"), listing.read_text(encoding="utf-8")
    card.write_text("old", encoding="utf-8")
    listing.unlink()
    again = order(copy, "en", "zh", "en-zh", "zh-en", samples=6)
    assert build(again, Silent()).new == []
    assert (card.read_text(encoding="utf-8"), listing.read_text(encoding="utf-8")) == before


def test_what_is_said_of_a_source_may_change(copy: Path) -> None:
    manifest = json.loads((copy / MANIFEST).read_text(encoding="utf-8"))
    manifest["sources"]["book-en"]["title"] = "Said otherwise before"
    (copy / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    built = build(order(copy, "en", samples=6, lengths=("16k",), tasks=("cwe",)), Silent())
    assert len(built.new) == 2


def test_a_needle_inside_a_word_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        for row in rows:
            start = row["evidence"][0]["start"]
            text = row["input"]
            row["input"] = text[: start - 1] + "x" + text[start:]

    for language in ("en", "zh"):
        found = plant(copy, f"{language}/niah_single", change)
        assert any("needle at" in what for what in found[4])
