"""Verify a release: its files are those of its manifest, and every law holds of every row.

report = verify(Path("ruler"), workers=2)
report.ok, report.files["data/tekken/4k/vt.parquet"].breaches
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ruler_builder.common.build_folder import unfinished
from ruler_builder.proof.prove import prove
from ruler_builder.proof.verify_report import VerifyReport
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST
from ruler_common.work import OnRows


def verify(
    root: Path,
    workers: int = 1,
    mirror: Path | None = None,
    tokenizers: Iterable[str] = (),
    planned: Callable[[int], None] = lambda rows: None,
    on_progress: OnRows = lambda rows: None,
) -> VerifyReport:
    """Verify a whole release; `tokenizers` says where unnamed ones lie now, as `NAME=FOLDER`.

    `planned` is called with the number of rows, `on_progress` with each number of rows more.
    Raises RulerError if there is no release, its manifest is damaged, or a tokenizer is missing or
    another.
    """
    left = unfinished(root)
    if left and not (root / MANIFEST).exists():
        return VerifyReport({}, left)
    manifest = read_manifest(root)
    return prove(root, manifest, left, workers, mirror, tokenizers, planned, on_progress)
