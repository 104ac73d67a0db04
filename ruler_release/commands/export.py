"""`ruler export`."""

from __future__ import annotations

from ruler_common.text import number_of, show
from ruler_eval.export.options import ExportOptions
from ruler_release.api import export_release


def export(options: ExportOptions) -> None:
    """Write a release in the format of another tool, without changing its rows.

    Example: ruler export ruler --format lm-eval --to tasks --configs all_4k
    """
    exported = export_release(options)
    rows = number_of(exported.rows, "row")
    configs = number_of(exported.configs, "configuration")
    show(f"{rows} of {configs} in '{options.to}'. Next: {exported.next}")
