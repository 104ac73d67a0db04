"""`ruler report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from ruler_release import api
from ruler_release.commands.flags import DataRevision, ModelNames

_RUNS = "Scored RUN folders, or results.json files of `ruler score`."
_DATASET = "The release they were made on: a folder or Hub repository; default: as each run names "
_DATASET += "it. It gives the texts around the needles."
_REFERENCES = (
    "The data folder that runs without a release were scored by (`ruler score --references`)."
)
_EVERY_ERROR = (
    "Sort every wrong row into its kind of error: about a minute for 39,000 rows to 128k. "
    "Without it, of a release whose texts are that large an even share is sorted."
)
_JSON_FILE = "Write what the page shows as JSON."
_ROWS = "Write every row, compressed, which the page opens on demand: it holds 20 of each cell."
_ROW_PAGES = "Write a page of each row that the page shows: its whole prompt, linked from the row."
_PAGE = "The page: one HTML file."
_PNG = "Write the figures as PNG and SVG."


def report(
    runs: Annotated[list[Path], Argument(metavar="RUN...", help=_RUNS)],
    out: Annotated[Path, Option("--out", "-o", help=_PAGE)] = Path("report.html"),
    names: ModelNames = None,
    dataset: Annotated[str | None, Option("--dataset", "-d", help=_DATASET)] = None,
    revision: DataRevision = None,
    references: Annotated[Path | None, Option(help=_REFERENCES)] = None,
    json_file: Annotated[Path | None, Option("--json", help=_JSON_FILE)] = None,
    rows_file: Annotated[Path | None, Option("--rows", metavar="FILE", help=_ROWS)] = None,
    row_pages: Annotated[Path | None, Option(metavar="FOLDER", help=_ROW_PAGES)] = None,
    png: Annotated[Path | None, Option(metavar="FOLDER", help=_PNG)] = None,
    every_error: Annotated[bool, Option("--every-error", help=_EVERY_ERROR)] = False,
) -> None:
    """Make a page of scored runs: tables, curves, heat maps, and the rows behind each number.

    Example: `ruler report runs/qwen runs/llama --out report.html`

    One file that opens from disk, without a network.
    """
    api.report(**locals())
    written = filter(None, (out, json_file, rows_file, row_pages, png))
    typer.echo(f"Written: {', '.join(map(str, written))}")
