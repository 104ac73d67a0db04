"""The builder makes the frozen rows of its data version: a part is built and compared."""

from __future__ import annotations

from typing import Any

import pytest

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_builder.tasks.base import DATA_VERSION
from ruler_common.frozen import read_frozen
from ruler_common.names import TASKS

TASK_OF_EACH_KIND = ("niah_single_1", "niah_multikey_2", "vt", "cwe", "fwe", "qa_1")


def part(suite: str, files: int, *, is_nightly: bool, **choice: Any) -> Any:
    """Return a test case: a part of a data set and its number of files."""
    return pytest.param(suite, files, choice, marks=[pytest.mark.nightly] if is_nightly else [])


@pytest.mark.parametrize(
    ("dataset", "count", "choice"),
    [
        part("ruler", 6, is_nightly=False, lengths=("4k",), tasks=TASK_OF_EACH_KIND),
        part("ruler", 13, is_nightly=True, lengths=("4k",), tasks=TASKS["ruler"]),
        part("oneruler", 16, is_nightly=False, lengths=("8k",), languages=("zh", "pl")),
        part("oneruler", 8, is_nightly=True, lengths=("8k",), languages=("ta",)),
    ],
)
def test_a_part_has_the_frozen_rows(mirror, tmp_path, dataset, count, choice):
    frozen = read_frozen(DATA_VERSION)
    assert frozen, f"data version {DATA_VERSION} has no frozen rows"
    options = BuildOptions(tmp_path / dataset, suite=dataset, mirror=mirror, **choice)
    files = build(options).manifest["files"].values()
    digests = {entry["config"]: entry["rows_sha256"] for entry in files}
    assert len(digests) == count
    assert digests.items() <= frozen.rows[dataset].items()
