"""More than a hundred faults, each planted in a row of a real release, are named by the law.

Everything else follows the fault (digests, lengths, depths, the manifest's entries), so that only
the law "accounted for" can find it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.tokens.tokenizers import TokenCounter
from ruler_dataset import read_manifest
from tests.builder.checks.planted_oneruler import ONERULER
from tests.builder.checks.planted_ruler import RULER
from tests.builder.checks.planting import planted, read, rows_of, wording_of

ROW = 3


@pytest.mark.parametrize("name", [f"{task}: {fault}" for task, fault in RULER])
def test_a_fault_planted_in_ruler_is_named(name: str, release: Path, tekken: TokenCounter) -> None:
    task, _, fault = name.partition(": ")
    path = f"data/tekken/4k/{task}.parquet"
    row = planted(rows_of(release, path)[ROW], RULER[task, fault], tekken)
    assert read(row, wording_of(release, path, tekken)).faults


@pytest.mark.parametrize("name", [f"{file}: {fault}" for file, fault in ONERULER])
def test_a_fault_planted_in_oneruler_is_named(
    name: str, oneruler: Path, tekken: TokenCounter
) -> None:
    file, _, fault = name.partition(": ")
    path = f"data/tekken/8k/{file}.parquet"
    row = planted(rows_of(oneruler, path)[ROW], ONERULER[file, fault], tekken)
    assert read(row, wording_of(oneruler, path, tekken)).faults


def test_the_table_covers_every_family_of_both_datasets(release: Path, oneruler: Path) -> None:
    of_task = {**read_manifest(release)["tasks"], **read_manifest(oneruler)["tasks"]}
    tasks = {task for task, _ in RULER} | {file.split("/")[1] for file, _ in ONERULER}
    assert len(RULER) + len(ONERULER) >= 80
    assert {of_task[task]["family"] for task in tasks} == {t["family"] for t in of_task.values()}


def test_a_sound_release_has_nothing_left_over(root: Path, tekken: TokenCounter) -> None:
    found = {
        (path, row["index"]): reading.faults
        for path in read_manifest(root)["files"]
        for row in rows_of(root, path)
        if (reading := read(row, wording_of(root, path, tekken))).faults
    }
    assert found == {}
