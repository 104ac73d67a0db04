"""The builder still makes the rows of its data version: a part is built again and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruler_builder.release.build import build
from ruler_builder.release.plan import BuildOrder
from ruler_builder.tasks.base import DATA_VERSION
from ruler_builder.text.language_choice import LanguageChoice
from ruler_common.frozen_rows import read_frozen
from ruler_common.names import TASKS
from tests.conftest import Silent
from tests.shares import share

NIAH = [name for name in TASKS["ruler"] if name.startswith("niah_")]
RULER = (*share(4, NIAH), "vt", "cwe", "fwe", *share(2, ["qa_1", "qa_2"]))
LANGUAGES = ("zh", *share(2, ["pl", "ta"]))
PARTS = {
    "ruler": {"lengths": ("4k",), "tasks": RULER},
    "oneruler": {"lengths": ("8k",), "languages": LanguageChoice(LANGUAGES)},
}
FILES = {"ruler": len(RULER), "oneruler": 8 * len(LANGUAGES)}


@pytest.mark.parametrize("dataset", PARTS)
def test_a_part_built_again_has_the_frozen_rows(mirror: Path, tmp_path: Path, dataset: str) -> None:
    frozen = read_frozen(DATA_VERSION)
    assert frozen, f"data version {DATA_VERSION} has no frozen rows"
    order = BuildOrder(tmp_path / dataset, suite=dataset, mirror=mirror, **PARTS[dataset])
    files = build(order, Silent()).manifest["files"].values()
    digests = {entry["config"]: entry["rows_sha256"] for entry in files}
    assert len(digests) == FILES[dataset]
    assert digests.items() <= frozen.rows[dataset].items()
