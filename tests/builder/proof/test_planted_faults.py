"""More than a hundred faults, each planted in a row of a real release, are named by the law.

Everything else follows the fault (digests, lengths, depths, the manifest's entries), so that only
the law "accounted for" can find it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from ruler_builder.proof.laws import breaches
from ruler_builder.tokens.counters import TokenCounter
from ruler_common.manifest import read_manifest
from tests.builder.proof.planted_oneruler import ONERULER
from tests.builder.proof.planted_ruler import RULER
from tests.builder.proof.planting import checked_manifest, edit, planted, read, rows_of, wording_of
from tests.shares import TURN, examples

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


@seed(TURN)
@settings(max_examples=examples(200), database=None)
@given(
    file=st.integers(0, 1000),
    number=st.integers(0, 1),
    place=st.floats(0, 1),
    sign=st.sampled_from(["é", "\u200b", "\n", "\t", "１", "{", "<", " ", "\u202e"]),
)
def test_a_sign_too_many_is_named_wherever_it_stands(
    roots: list[Path], tekken: TokenCounter, file: int, number: int, place: float, sign: str
) -> None:
    files = [(root, path) for root in roots for path in checked_manifest(root)["files"]]
    root, path = files[file % len(files)]
    row = copy.deepcopy(rows_of(root, path)[number])
    at = int(place * len(row["input"]))
    edit(row, at, at, sign)
    about = wording_of(root, path, tekken)
    assert read(row, about).faults or list(
        breaches(row, row["length"] - row["max_new_tokens"], about)
    )


@pytest.fixture(scope="module")
def roots(release: Path, oneruler: Path, suite_release: Callable[[str], Path]) -> list[Path]:
    """Releases of both data sets, of the controls at 0k and of every optional parameter."""
    return [release, oneruler, *map(suite_release, ("ruler_2024", "ruler_complexity", "optional"))]


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
