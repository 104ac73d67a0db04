"""A window is judged by the row, its sources and the other rows, never by the manifest's `unit`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ruler_builder.proof.verify_report import VerifyReport
from ruler_builder.reading.breaches import Law
from ruler_builder.tokens.counters import TokenCounter
from ruler_builder.verify.verify import verify
from ruler_common.manifest_form import MANIFEST
from tests.builder.proof import planting
from tests.builder.proof.planting import Row

ESSAY, QA, NOISE, WORDS = (
    f"data/tekken/4k/{task}.parquet" for task in ("niah_single_2", "qa_1", "niah_single_1", "cwe")
)
BOOK = "data/tekken/8k/en/niah_single.parquet"
FREE = 4000  # tokens of a unit, as a false manifest has it


def one_file(release: Path, root: Path, path: str, **entry: Any) -> None:
    """A release of one file, whose entry says something else."""
    (root / path).parent.mkdir(parents=True)
    shutil.copy(release / path, root / path)
    manifest = json.loads((release / MANIFEST).read_bytes())
    manifest["files"] = {path: manifest["files"][path] | entry}
    planting.write_manifest(root, manifest)


def hide_sources(root: Path) -> None:
    """Let the manifest name the published texts, which are not here."""
    manifest = json.loads((root / MANIFEST).read_bytes())
    for source in manifest["sources"].values():
        source["variant"] = "canonical"
    planting.write_manifest(root, manifest)


def cut_short(rows: list[Row], counter: TokenCounter) -> None:
    """Take the last sentences of the text out of row 2."""
    row = rows[2]
    last = max(span["end"] for span in row["evidence"])
    place = row["input"].rindex(". ", last, row["context_end"] - 400) + 1
    planting.edit(row, place, row["context_end"], "")
    planting.follow(row, counter)


def of_law(report: VerifyReport, path: str, law: Law) -> list[tuple[int, str]]:
    return [(row, what) for row, found, what in report.files[path].breaches if found == law]


@pytest.mark.parametrize("path", [ESSAY, BOOK])
@pytest.mark.parametrize("at_hand", [True, False])
def test_a_shorter_text_is_named_whatever_unit_the_manifest_gives(
    path: str,
    at_hand: bool,
    release: Path,
    oneruler: Path,
    tmp_path: Path,
    tekken: TokenCounter,
    cache: Path,
) -> None:
    one_file(oneruler if path == BOOK else release, tmp_path, path, unit=FREE)
    planting.plant(tmp_path, path, lambda rows: cut_short(rows, tekken))
    if not at_hand:
        hide_sources(tmp_path)
    report = verify(tmp_path)
    ((row, what),) = of_law(report, path, Law.FULL)
    assert row == 2
    assert "has at most" in what
    assert ("in another row" in what) is not at_hand
    figures = [what for _, what in of_law(report, path, Law.ACCOUNTED)]
    assert any(f"unit is {FREE} in the manifest" in what for what in figures) is at_hand
    noted = any("whether more of it would fit" in note for note in report.notes)
    assert noted is not at_hand


@pytest.mark.parametrize("path", [ESSAY, NOISE, QA, BOOK])
@pytest.mark.parametrize("unit", [0, FREE])
def test_a_unit_that_no_row_has_is_named(
    path: str, unit: int, release: Path, oneruler: Path, tmp_path: Path
) -> None:
    one_file(oneruler if path == BOOK else release, tmp_path, path, unit=unit)
    (what,) = (what for _, what in of_law(verify(tmp_path), path, Law.ACCOUNTED))
    assert what.startswith(f"unit is {unit} in the manifest")


def test_a_unit_smaller_than_what_is_free_is_named_without_a_source(
    release: Path, tmp_path: Path, cache: Path
) -> None:
    one_file(release, tmp_path, QA, unit=1)
    hide_sources(tmp_path)
    (what,) = (what for _, what in of_law(verify(tmp_path), QA, Law.ACCOUNTED))
    assert what.startswith("unit is 1 in the manifest, a row's has ")
