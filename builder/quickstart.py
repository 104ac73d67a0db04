"""`ruler quickstart`: a small release from the project's own texts, made, verified and loaded."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from builder.checks import verdict
from builder.checks.verify import verify
from builder.common import terminal
from builder.release import build_tables
from builder.release.build import build, digest_of
from builder.release.order import BuildOrder
from ruler_dataset import MANIFEST, RulerError, read_manifest

ROWS = 5
LENGTH = "4k"
CONFIG = "niah_mk_4k"


def run(root: Path) -> None:
    """Build 13 tasks at 4k into `root`, verify, and load one configuration.

    Raises RulerError if a release is there that differs from what would be made.
    """
    import datasets

    datasets.disable_progress_bars()
    order = BuildOrder(root, lengths=(LENGTH,), samples=ROWS, sources=("embedded",))
    if root.exists():
        _refuse_other(order)
    with terminal.rows_bar("Building") as bar:
        build(order, bar)
    with terminal.rows_bar("Verifying") as bar:
        report = verify(root, planned=bar.total, on_progress=bar.rows)
    manifest = read_manifest(root)
    build_tables.show_files(manifest)
    verdict.show_report(root, report, as_json=False) if not report.ok else None
    rows = datasets.load_dataset(str(root), CONFIG, split="test")
    terminal.out.print(
        "\nMade from the project's own texts and verified. "
        f'load_dataset("{root}", "{CONFIG}") gives {len(rows)} rows.\n'
    )


def _refuse_other(order: BuildOrder) -> None:
    """The release that is there must be the one that would be made, row for row."""
    root = order.root
    if not (root / MANIFEST).exists():
        if any(root.iterdir()) and not (root / ".build").exists():
            raise RulerError(
                f"'{root}' holds other files: run `ruler quickstart` in another folder."
            )
        return
    with tempfile.TemporaryDirectory() as folder, terminal.rows_bar("Comparing") as bar:
        fresh = build(replace(order, root=Path(folder) / "ruler"), bar)
    if digest_of(fresh.manifest) != digest_of(read_manifest(root)):
        raise RulerError(
            f"'{root}' holds another release than quickstart makes; it is left as it is. "
            "Move it away, or run `ruler quickstart` in another folder."
        )
