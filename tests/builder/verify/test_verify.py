"""Every law is proved by planting its breach in a copy of a good release."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruler_builder.card.card_files import card_files
from ruler_builder.proof.verify_report import VerifyReport
from ruler_builder.verify.verify import verify
from ruler_common.files import sha256_of
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST
from ruler_common.rows import features
from tests.builder.proof import planting

Rows = list[dict[str, Any]]


@pytest.fixture
def copy(release: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(release, tmp_path / "copy"))


def plant(root: Path, task: str, change: Callable[[Rows], object]) -> VerifyReport:
    """Change the rows of a task at 4k, make the manifest agree, and verify that file."""
    name = f"data/tekken/4k/{task}.parquet"
    planting.plant(root, name, change)
    planting.keep(root, name)  # the others are as they were, and proved elsewhere
    return verify(root, laws_only=True)


def laws(report: VerifyReport, config: str) -> dict[int, list[str]]:
    """The breaches of one file by law."""
    found: dict[int, list[str]] = {}
    for file in report.files.values():
        if file.config == config:
            for breach in file.breaches:
                found.setdefault(breach.law, []).append(breach.what)
    return found


def swap(row: dict[str, Any], old: str, new: str) -> None:
    """Put a text of the same length in the place of another."""
    assert len(old) == len(new)
    assert old in row["input"]
    row["input"] = row["input"].replace(old, new)


def test_a_good_release_breaks_no_law(release: Path) -> None:
    report = verify(release)
    assert report.ok
    assert {file.rows for file in report.files.values()} == {20}


def test_a_changed_byte_is_found(copy: Path) -> None:
    planting.keep(copy, "data/tekken/4k/vt.parquet")
    path = copy / "data/tekken/4k/vt.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    report = verify(copy)
    assert not report.ok
    assert "sha256 is" in laws(report, "vt_4k")[6][0]


def test_a_wrong_length_is_found(copy: Path) -> None:
    report = plant(copy, "vt", lambda rows: rows[3].update(length=rows[3]["length"] - 1))
    (file,) = (file for file in report.files.values() if file.count)
    assert (file.breaches[0].row, file.breaches[0].law) == (3, 1)
    assert "counted" in file.breaches[0].what


def test_an_over_long_row_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        rows[0]["input"] += " grass" * 60
        rows[0]["length"] += 60

    assert "over-long" in laws(plant(copy, "niah_single_1", change), "niah_single_1_4k")[1][0]


def test_an_answer_with_too_little_room_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        rows[2].update(length=rows[2]["length"] - 20, max_new_tokens=10)

    found = laws(plant(copy, "vt", change), "vt_4k")
    assert "the right answer takes" in found[7][0]


def test_a_half_empty_window_is_found(copy: Path) -> None:
    from ruler_builder.sources.download import Store
    from ruler_builder.tokens.tokenizers import load_counter

    counter = load_counter("tekken", Store(None))

    def change(rows: Rows) -> None:
        row = rows[0]
        start, end = row["context_start"], row["context_end"]
        lines = row["input"][start:end].split("\n")
        kept = [line for i, line in enumerate(lines) if i % 2 or "magic" in line]
        row["input"] = row["input"][:start] + "\n".join(kept) + row["input"][end:]
        row["context_end"] = start + len("\n".join(kept))
        needle = next(line for line in kept if "magic" in line)
        at = row["input"].index(needle, start)
        depth = (at - start) / (row["context_end"] - start)
        row["evidence"] = [{"start": at, "end": at + len(needle), "depth": depth, "answer": True}]
        row["length"] = counter.count(row["input"] + row["answer_prefix"]) + row["max_new_tokens"]

    found = laws(plant(copy, "niah_single_1", change), "niah_single_1_4k")
    assert list(found) == [2]
    assert "tokens are free" in found[2][0]


def test_a_duplicated_key_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        texts = [rows[0]["input"][s["start"] : s["end"]] for s in rows[0]["evidence"]]
        keys = [text.split(" for ")[1].split(" is: ")[0] for text in texts]
        rows[0]["input"] = rows[0]["input"].replace(keys[0], keys[1])

    found = laws(plant(copy, "niah_multikey_1", change), "niah_multikey_1_4k")
    assert any("stands in 2 needles, not 1" in what for what in found[3])


def test_a_value_that_occurs_twice_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        texts = [rows[0]["input"][s["start"] : s["end"]] for s in rows[0]["evidence"]]
        values = [text.split(" is: ")[1].rstrip(".") for text in texts]
        swap(rows[0], values[0], values[1])

    found = laws(plant(copy, "niah_multikey_1", change), "niah_multikey_1_4k")
    assert any("stands in 2 needles" in what for what in found[3])


def test_a_reference_missing_from_the_context_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        rows[0]["outputs"] = ["7777777"]

    found = laws(plant(copy, "niah_single_2", change), "niah_single_2_4k")
    assert any("occurs 0 times" in what for what in found[3])


def test_a_variable_bound_twice_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        swap(rows[0], f"VAR {rows[0]['outputs'][4]} = ", f"VAR {rows[0]['outputs'][3]} = ")

    found = laws(plant(copy, "vt", change), "vt_4k")
    assert any("is assigned 2 times" in what for what in found[3])


@pytest.mark.parametrize("task", ["niah_single_2", "vt", "qa_1"])
def test_a_moved_evidence_span_is_found(copy: Path, task: str) -> None:
    def change(rows: Rows) -> None:
        span = rows[0]["evidence"][0]
        width = rows[0]["context_end"] - rows[0]["context_start"]
        span["start"] -= 40
        span["end"] -= 40
        span["depth"] -= 40 / width

    assert 4 in laws(plant(copy, task, change), f"{task}_4k")


def test_a_wrong_depth_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        rows[0]["evidence"][0]["depth"] = 0.123

    found = laws(plant(copy, "niah_single_2", change), "niah_single_2_4k")
    assert "depth 0.12300" in found[4][0]


@pytest.mark.parametrize("task", ["cwe", "fwe"])
def test_a_tie_is_found(copy: Path, task: str) -> None:
    def change(rows: Rows) -> None:
        row = rows[0]
        head, context, tail = (
            row["input"][: row["context_start"]],
            row["input"][row["context_start"] : row["context_end"]],
            row["input"][row["context_end"] :],
        )
        words = [word for word in context.split() if word[0].isalpha()]
        counts = {word: words.count(word) for word in set(words)}
        weakest = min(row["outputs"], key=counts.__getitem__)
        rival = max((w for w in counts if w not in row["outputs"]), key=counts.__getitem__)
        parts = [" " + part for part in context.split(" ")]
        for place, part in enumerate(parts):  # other words become the rival until it ties
            if counts[rival] == counts[weakest]:
                break
            word = part[1:]
            if word[:1].isalpha() and word not in row["outputs"] and word != rival:
                parts[place] = " " + rival
                counts[rival] += 1
        row["input"] = head + "".join(parts)[1:] + tail
        row["context_end"] = len(row["input"]) - len(tail)

    assert any("a tie" in what for what in laws(plant(copy, task, change), f"{task}_4k")[3])


def test_a_duplicate_index_is_found(copy: Path) -> None:
    found = laws(plant(copy, "vt", lambda rows: rows[5].update(index=4)), "vt_4k")
    assert "index 4 occurs twice" in found[6]


def test_a_gold_document_at_one_place_in_every_row_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        for row in rows:
            start, end = row["context_start"], row["context_end"]
            span = row["evidence"][0]
            gold = row["input"][span["start"] : span["end"]]
            bodies = [
                part.split(":\n", 1)[1]
                for part in ("\n\n" + row["input"][start:end]).split("\n\nDocument ")[1:]
            ]
            bodies.remove(gold)
            bodies.insert(2, gold)
            context = "\n\n".join(f"Document {i}:\n{b}" for i, b in enumerate(bodies, 1))
            row["input"] = row["input"][:start] + context + row["input"][end:]
            span["start"] = row["input"].index(gold, start)
            span["end"] = span["start"] + len(gold)
            span["depth"] = (span["start"] - start) / (end - start)

    found = laws(plant(copy, "qa_1", change), "qa_1_4k")
    assert list(found) == [4]


def test_a_gold_document_that_occurs_twice_is_found(copy: Path) -> None:
    def change(rows: Rows) -> None:
        span = rows[0]["evidence"][0]
        gold = rows[0]["input"][span["start"] : span["end"]]
        rows[0]["input"] = rows[0]["input"].replace("\n\nAnswer", f"\n\n{gold}\n\nAnswer", 1)
        rows[0]["context_end"] += len(gold) + 2

    assert any("occurs 2 times" in w for w in laws(plant(copy, "qa_1", change), "qa_1_4k")[3])


def test_a_row_that_asks_something_else_at_another_length_is_found(copy: Path) -> None:
    planting.keep(copy, "data/tekken/4k/vt.parquet")
    manifest = json.loads((copy / MANIFEST).read_text())
    entry = dict(manifest["files"]["data/tekken/4k/vt.parquet"])
    entry |= {"config": "vt_8k", "length": "8k", "max_length": 8192}
    rows = pq.read_table(copy / "data/tekken/4k/vt.parquet").to_pylist()
    rows[7]["outputs"].reverse()
    (copy / "data/tekken/8k").mkdir()
    path = copy / "data/tekken/8k/vt.parquet"
    pq.write_table(pa.Table.from_pylist(rows, features().arrow_schema), path)
    manifest["files"]["data/tekken/8k/vt.parquet"] = entry | {"sha256": sha256_of(path)}
    (copy / MANIFEST).write_text(json.dumps(manifest))
    found = [b for f in verify(copy).files.values() for b in f.breaches if b.law == 5]
    assert [(breach.row, breach.law) for breach in found] == [(7, 5)]


def test_a_missing_file_is_found(copy: Path) -> None:
    planting.keep(copy, "data/tekken/4k/cwe.parquet", "data/tekken/4k/vt.parquet")
    (copy / "data/tekken/4k/cwe.parquet").unlink()
    assert "missing" in laws(verify(copy), "cwe_4k")[6][0]


def test_a_file_the_manifest_does_not_know_is_found(copy: Path) -> None:
    planting.keep(copy, "data/tekken/4k/cwe.parquet")
    shutil.copy(copy / "data/tekken/4k/cwe.parquet", copy / "data/tekken/4k/more.parquet")
    assert laws(verify(copy), "data/tekken/4k/more.parquet") == {
        6: ["the file is not in the manifest"]
    }


def test_only_the_first_ten_breaches_of_a_file_are_kept(copy: Path) -> None:
    def change(rows: Rows) -> None:
        for row in rows:
            row["length"] += 1

    (file,) = (f for f in plant(copy, "vt", change).files.values() if f.count)
    assert (len(file.breaches), file.count) == (10, 20)


# ---- What is rendered from the manifest ----------------------------------------------------------


def few_rows(root: Path) -> None:
    """Leave one small file, so that verifying is quick, and let the card follow."""
    planting.keep(root, "data/tekken/4k/cwe.parquet")


@pytest.mark.parametrize("name", ["README.md", "eval.yaml", "croissant.json"])
def test_a_changed_card_file_is_named(copy: Path, name: str) -> None:
    few_rows(copy)
    assert verify(copy).ok
    text = (copy / name).read_text(encoding="utf-8")
    (copy / name).write_text(text.replace("RULER", "RULERS", 1), encoding="utf-8")
    report = verify(copy)
    (what,) = laws(report, name)[8]
    assert what.endswith("is not the one of this manifest: run the same `ruler build` again")
    assert [file.config for file in report.files.values() if file.count] == [name]
    (copy / name).write_bytes(b"\xff")
    assert 8 in laws(verify(copy), name)


def test_the_description_of_a_repository_is_one_of_this_manifest_too(copy: Path) -> None:
    few_rows(copy)
    manifest = read_manifest(copy)
    for name, text in card_files(copy, manifest, True, "org/ruler").items():
        (copy / name).write_text(text, encoding="utf-8")
    assert verify(copy).ok
    assert '"org/ruler"' in (copy / "README.md").read_text(encoding="utf-8")
    text = (copy / "croissant.json").read_text(encoding="utf-8")
    (copy / "croissant.json").write_text(text.replace("git+https", "git", 1), encoding="utf-8")
    assert 8 in laws(verify(copy), "croissant.json")


def test_a_missing_card_is_named_and_a_missing_registration_is_allowed(copy: Path) -> None:
    few_rows(copy)
    (copy / "eval.yaml").unlink()
    assert verify(copy).ok
    (copy / "README.md").unlink()
    assert laws(verify(copy), "README.md") == {
        8: ["the file is missing: run the same `ruler build` again"]
    }


def test_the_card_of_another_version_is_not_compared(copy: Path) -> None:
    few_rows(copy)
    manifest = json.loads((copy / MANIFEST).read_text(encoding="utf-8"))
    text = json.dumps(manifest | {"builder_version": "0.1.9"}, indent=1, ensure_ascii=False)
    (copy / MANIFEST).write_text(text + "\n", encoding="utf-8")
    report = verify(copy)
    assert report.ok
    assert any("made by ruler-release 0.1.9" in note for note in report.notes)


def test_a_card_whose_example_cannot_be_read_is_not_compared(copy: Path) -> None:
    few_rows(copy)
    (copy / "data/tekken/4k/cwe.parquet").write_bytes(b"no Parquet")
    report = verify(copy)
    assert laws(report, "README.md") == {}
    assert any(note.startswith("README.md: not checked") for note in report.notes)


def test_a_manifest_that_no_card_can_be_made_from_is_named(copy: Path) -> None:
    few_rows(copy)
    manifest = json.loads((copy / MANIFEST).read_text(encoding="utf-8"))
    (entry,) = manifest["files"].values()
    entry["rows"] = 0
    (copy / MANIFEST).write_text(json.dumps(manifest))
    (what,) = laws(verify(copy), "README.md")[8]
    assert what.startswith("No card can be made from")
