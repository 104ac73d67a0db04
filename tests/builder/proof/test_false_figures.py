"""What the manifest of a release says falsely is named, on real files, by `ruler verify`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ruler_builder.proof.verify_report import VerifyReport
from ruler_builder.verify.verify import verify
from ruler_common.files import sha256_of
from tests import in_process
from tests.builder.proof import planting
from tests.builder.proof.planting import manifest_of

VT, QA = "data/tekken/4k/vt.parquet", "data/tekken/4k/qa_1.parquet"
ESSAY = "data/tekken/4k/niah_single_2.parquet"


@pytest.fixture
def root(release: Path, tmp_path: Path) -> Path:
    """A release of three files, which may be changed."""
    root = Path(shutil.copytree(release, tmp_path / "root"))
    planting.keep(root, VT, QA, ESSAY)
    return root


def found_in(report: VerifyReport, path: str) -> list[str]:
    return [breach.what for breach in report.files[path].breaches] if path in report.files else []


def test_each_false_figure_of_an_entry_is_named(root: Path) -> None:
    manifest = manifest_of(root)
    tokens = {"min": 1, "mean": 1.5, "max": 9999}
    false = {"unit": 4000, "exhausted": 3, "repeats": 7, "bytes": 1, "tokens": tokens, "fill": 0.5}
    manifest["files"][VT] |= false
    manifest["files"][QA] |= {"rows": 19, "rows_sha256": "0" * 64}
    manifest["files"][ESSAY] |= {"text_sha256": "0" * 64, "row_repeats": [1] * 20}
    planting.write_manifest(root, manifest)
    report = verify(root)
    named = " ".join(found_in(report, VT))
    for figure in ("unit", "exhausted", "repeats", "bytes", "tokens.min", "tokens.mean", "fill"):
        assert f"{figure} is " in named, figure
    assert "tokens.max is 9999 in the manifest" in named
    named = " ".join(found_in(report, QA))
    assert "rows is 19 in the manifest, 20 in the file" in named
    assert "rows_sha256 in the manifest is not that of the rows" in named
    named = " ".join(found_in(report, ESSAY))
    assert "text_sha256 in the manifest is not that" in named
    assert "row_repeats is not how often" in named


def regroup(root: Path, path: str) -> None:
    """Write a file anew with a row group for every row; the manifest follows."""
    rows = pq.read_table(root / path).to_pylist()
    planting.write_rows(root / path, rows, group=1)
    manifest = manifest_of(root)
    size, digest = (root / path).stat().st_size, sha256_of(root / path)
    manifest["files"][path] |= {"bytes": size, "sha256": digest}
    planting.write_manifest(root, manifest)


def test_row_groups_of_one_row_hide_no_changed_text(root: Path) -> None:
    regroup(root, ESSAY)
    assert verify(root, laws_only=True).ok

    def change(rows: list[dict[str, Any]]) -> None:
        planting.in_context(rows[3], " the ", " teh ", share=0.5)

    planting.plant(root, ESSAY, change)
    regroup(root, ESSAY)
    assert "the text is not its source's" in " ".join(found_in(verify(root), ESSAY))


@pytest.mark.parametrize("damage", ["a page", "the end", "all of it"])
def test_a_damaged_file_is_named_and_the_rest_still_checked(root: Path, damage: str) -> None:
    data = bytearray((root / VT).read_bytes())
    if damage == "a page":
        data[200:400] = bytes(200)
    (root / VT).write_bytes({"a page": data, "the end": data[:-30], "all of it": b""}[damage])
    done = in_process.ruler("verify", root, "--json")
    assert (done.code, done.stderr) == (1, "")
    files = json.loads(done.stdout)["files"]
    assert "sha256 is" in files[VT]["first"][0]["what"]
    assert any("cannot be read" in breach["what"] for breach in files[VT]["first"])
    assert {(file["rows"], file["breaches"]) for path, file in files.items() if path != VT} == {
        (20, 0)
    }
