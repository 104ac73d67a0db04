"""What `ruler report` writes: one HTML page of scored runs, its data as JSON, its figures as files.

write_report([Path("runs/qwen")], Path("report.html"))
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_eval.report.page.figures.heat_figures import check_packages, write_figures
from ruler_eval.report.page.figures.page_figures import figures
from ruler_eval.report.page.page_data import as_json, page_data
from ruler_eval.report.page.page_render import render
from ruler_eval.report.page.page_runs import open_runs


def write_report(
    runs: Sequence[Path],
    out: Path,
    names: Sequence[str] = (),
    dataset: str | None = None,
    revision: str | None = None,
    references: Path | None = None,
    *,
    json_file: Path | None = None,
    png: Path | None = None,
    every_error: bool = False,
) -> None:
    """Write the page to `out`, its data to `json_file`, its figures into `png`.

    `names` label the runs, `dataset` is the release they were made on, `references` the reference
    code's data folder where they were scored by one; with `every_error` all wrong rows are sorted
    into kinds. Raises RulerError for what cannot be shown.
    """
    for path, example in ((out, "report.html"), (json_file, "report.json")):
        if path is not None and path.is_dir():
            raise RulerError(f"'{path}' is a folder: name a file, such as {path / example}.")
    if png is not None:
        check_packages()
    page = page_data(open_runs(runs, names, dataset, revision, references), every_error)
    charts = figures(page)
    write_whole(out, render(page, charts))
    if json_file is not None:
        write_whole(json_file, as_json(page))
    if png is not None:
        write_figures(page, charts, png)
