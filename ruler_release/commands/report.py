"""`ruler report` and `ruler show`: scored runs as a page, and single rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_release import api, completion
from ruler_release.commands.flags import DataRevision, Dataset, ModelNames

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
_RUN = "A RUN folder or prediction file; repeatable."
_FULL = "The whole text, page by page, evidence marked."


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


def show(
    config: Annotated[
        str,
        Argument(
            metavar="CONFIG",
            help="Such as niah_single_2_4k.",
            autocompletion=completion.configurations,
        ),
    ],
    index: Annotated[int, Argument(metavar="INDEX", help="The row's index, from 0.")],
    dataset: Dataset,
    run: Annotated[list[Path] | None, Option(help=_RUN)] = None,
    full: Annotated[bool, Option("--full", help=_FULL)] = False,
    html: Annotated[Path | None, Option(metavar="FILE", help="Write the row as a page.")] = None,
    revision: DataRevision = None,
) -> None:
    """Show one row: the text around its evidence, question, references, and how runs answered.

    Example: `ruler show niah_single_2_4k 3 --dataset ruler --run runs/qwen`
    """
    import pydoc

    from ruler_eval.frozen_release import Release
    from ruler_eval.report.show.row_page import row_page
    from ruler_eval.report.show.row_text import short_text, whole_text
    from ruler_eval.report.show.row_view import row_view

    if html is not None and html.is_dir():
        raise RulerError(f"'{html}' is a folder: name a file, such as {html / 'row.html'}.")
    view = row_view(Release.open(dataset, revision), config, index, run or ())
    if html is not None:
        write_whole(html, row_page(view))
        typer.echo(f"Written: {html}")
    elif full:
        pydoc.pager(whole_text(view))  # the user's in a terminal, plain text elsewhere
    else:
        typer.echo(short_text(view), nl=False)
