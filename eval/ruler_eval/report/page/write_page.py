"""What `ruler report` writes: one HTML page of scored runs, and what was asked for beside it.

write_report(open_runs([Path("runs/qwen")]), Path("report.html"))
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_eval.report.page.figures.heat_figures import check_packages, write_figures
from ruler_eval.report.page.figures.page_figures import figures
from ruler_eval.report.page.page_data import as_json, page_data
from ruler_eval.report.page.page_render import render
from ruler_eval.report.page.page_runs import ReportedRun
from ruler_eval.report.page.rows.row_pages import write_row_pages
from ruler_eval.report.page.rows.rows_file import rows_file


@dataclass(frozen=True, kw_only=True)
class Beside:
    """What is written beside the page: its data, every row, pages of rows, its figures."""

    json: Path | None = None
    rows: Path | None = None
    row_pages: Path | None = None
    png: Path | None = None


def _check_places(out: Path, beside: Beside) -> None:
    named = {"report.html": out, "report.json": beside.json, "report.rows.gz": beside.rows}
    for example, path in named.items():
        if path is not None and path.is_dir():
            raise RulerError(f"'{path}' is a folder: name a file, such as {path / example}.")
    if beside.png is not None:
        check_packages()


def write_report(
    runs: Sequence[ReportedRun], out: Path, beside: Beside, every_error: bool = False
) -> None:
    """Write the page to `out`, and what stands beside it.

    With `every_error` all wrong rows are sorted into kinds. Raises RulerError for what cannot be
    shown.
    """
    _check_places(out, beside)
    with nullcontext() if beside.rows is None else rows_file(beside.rows) as rows:
        page = page_data(runs, every_error, rows)
    if beside.row_pages is not None:
        address = Path(os.path.relpath(beside.row_pages, out.parent)).as_posix()
        write_row_pages(page, runs, beside.row_pages, address)
    charts = figures(page)
    write_whole(out, render(page, charts))
    if beside.json is not None:
        write_whole(beside.json, as_json(page))
    if beside.png is not None:
        write_figures(page, charts, beside.png)
