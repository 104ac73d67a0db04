"""Faults of whole files and of the manifest, in each of which every row is sound by itself."""

from __future__ import annotations

import copy
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ruler_builder.families.task import DATA_VERSION
from ruler_builder.proof.verify_report import VerifyReport
from ruler_builder.release.build import build
from ruler_builder.release.order import BuildOrder
from ruler_builder.tokens.counters import TokenCounter
from ruler_builder.verify.verify import verify
from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from ruler_common.manifest_form import MANIFEST
from ruler_common.rows import canary_of
from tests.builder.proof import planting
from tests.builder.proof.planting import Row
from tests.conftest import Silent

ROWS = 8
TASKS = ("niah_single_1", "cwe", "fwe", "qa_1", "vt")


def path_of(task: str) -> str:
    return f"data/tekken/4k/{task}.parquet"


def of_tasks(root: Path, *tasks: str) -> Path:
    """A release of some tasks, a few rows each, which may be changed."""
    order = BuildOrder(root, lengths=("4k",), tasks=tasks, samples=ROWS, sources=("embedded",))
    build(order, Silent())
    return root


def found_in(report: VerifyReport, path: str) -> str:
    return (
        " ".join(what for _, _, what in report.files[path].breaches) if path in report.files else ""
    )


def with_words(row: Row, words: list[str], counter: TokenCounter) -> None:
    """Put other words into the place of a list's."""
    start, end = row["context_start"], row["context_end"]
    planting.edit(row, start, end, " ".join(words))
    planting.follow(row, counter)


def sorted_list(row: Row, counter: TokenCounter) -> None:
    """The asked words stand before the others, the numbers where they were."""
    items = re.findall(r"\d+\. (\S+)", row["input"][row["context_start"] : row["context_end"]])
    items.sort(key=lambda word: word not in row["outputs"])
    with_words(row, [f"{number}. {word}" for number, word in enumerate(items, 1)], counter)


def sorted_text(row: Row, counter: TokenCounter) -> None:
    words = row["input"][row["context_start"] : row["context_end"]].split(" ")
    with_words(row, sorted(words, key=lambda word: word not in row["outputs"]), counter)


def test_orders_repetitions_and_what_is_no_number_are_named(
    tmp_path: Path, tekken: TokenCounter
) -> None:
    root = of_tasks(tmp_path, *TASKS)
    assert verify(root).ok

    def again(rows: list[Row]) -> None:
        rows[5] = {**copy.deepcopy(rows[2]), "index": 5}

    def no_depth(rows: list[Row]) -> None:
        rows[1]["evidence"][0]["depth"] = float("nan")

    def long_number(rows: list[Row]) -> None:
        planting.in_context(rows[6], "Document 2:", f"Document {'7' * 5000}:")
        planting.follow(rows[6], tekken)

    planting.plant(root, path_of("cwe"), lambda rows: [sorted_list(row, tekken) for row in rows])
    planting.plant(root, path_of("fwe"), lambda rows: [sorted_text(row, tekken) for row in rows])
    planting.plant(root, path_of("niah_single_1"), again)
    planting.plant(root, path_of("vt"), no_depth)
    planting.plant(root, path_of("qa_1"), long_number)
    (root / "data/tekken/4k/notes.csv").write_text("a,b")
    pq.write_table(
        table := pq.read_table(root / path_of("vt")).replace_schema_metadata({"pandas": "{}"}),
        root / path_of("vt"),
    )
    assert len(table) == ROWS
    manifest = json.loads((root / MANIFEST).read_bytes())
    manifest["files"][path_of("vt")] |= {
        "sha256": sha256_of(root / path_of("vt")),
        "bytes": (root / path_of("vt")).stat().st_size,
    }
    planting.write_manifest(root, manifest)
    report = verify(root, laws_only=True)
    for task in ("cwe", "fwe"):
        assert "gold positions are not spread over the context" in found_in(report, path_of(task))
    named = report.files[path_of("niah_single_1")].breaches
    assert [(row, what) for row, _, what in named] == [(5, "the row is row 2 again")]
    assert "depth nan should be" in found_in(report, path_of("vt"))
    assert "describes its rows otherwise" in found_in(report, path_of("vt"))
    assert {row for row, _, _ in report.files[path_of("qa_1")].breaches} == {6}
    assert "is not in the manifest" in found_in(report, "data/tekken/4k/notes.csv")


def test_a_row_with_another_canary_is_named(tmp_path: Path) -> None:
    root = of_tasks(tmp_path, "vt")
    own = json.loads((root / MANIFEST).read_bytes())["canary"]
    wrong = {
        1: f"{own[:-1]}{'1' if own[-1] == '0' else '0'}",
        3: "",
        6: canary_of("oneruler", DATA_VERSION),
    }

    def other(rows: list[Row]) -> None:
        for row in rows:
            assert row["canary"] == own
            row["canary"] = wrong.get(row["index"], own)

    planting.plant(root, path_of("vt"), other)
    report = verify(root, laws_only=True)
    assert not report.ok
    assert [(row, what) for row, _, what in report.files[path_of("vt")].breaches] == [
        (row, f"canary is {canary!r}, the manifest's is {own!r}") for row, canary in wrong.items()
    ]


def test_other_numbers_of_rows_there_can_be_are_named(tmp_path: Path) -> None:
    root = of_tasks(tmp_path, "vt", "qa_1")
    manifest = json.loads((root / MANIFEST).read_bytes())
    manifest["files"][path_of("vt")]["most_rows"] = 8
    manifest["files"][path_of("qa_1")]["most_rows"] = 9
    planting.write_manifest(root, manifest)
    named = found_in(verify(root, laws_only=True), MANIFEST)
    assert "most_rows of vt_4k is 8, not None" in named
    assert "most_rows of qa_1_4k is 9, not" in named


def test_a_tokenizer_without_a_digest_is_refused(tmp_path: Path) -> None:
    root = of_tasks(tmp_path, "vt")
    manifest = json.loads((root / MANIFEST).read_bytes())
    manifest["tokenizers"]["tekken"]["sha256"] = {}
    planting.write_manifest(root, manifest)
    with pytest.raises(RulerError, match="Tokenizer 'tekken' differs from the release's"):
        verify(root)


def test_nothing_stands_in_for_a_haystack_at_0k(suite_release: Any, tmp_path: Path) -> None:
    root = Path(shutil.copytree(suite_release("ruler_2024"), tmp_path / "ruler"))
    manifest = json.loads((root / MANIFEST).read_bytes())
    manifest["files"]["data/tekken/0k/vt.parquet"]["unit"] = 4000
    planting.write_manifest(root, manifest)
    planting.keep(root, "data/tekken/0k/vt.parquet")
    report = verify(root)
    assert "unit is 4000 in the manifest, 0 in the file" in found_in(
        report, "data/tekken/0k/vt.parquet"
    )
