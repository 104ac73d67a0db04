"""`ruler report` and `ruler show`: scored runs as a page, and single rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_release import api, completion
from ruler_release.commands.flags import DataRevision, Dataset, ModelNames, Reference, arguments_of

_RUNS = "RUN folders, or results.json files of `ruler score`."
_RUN = "A RUN folder or prediction file; repeatable."
_FULL = "The whole text, page by page, evidence marked."


@arguments_of(api.report)
def report(
    runs: Annotated[list[Path], Argument(metavar="RUN...", help=_RUNS)],
    names: ModelNames = None,
    dataset: Reference = None,
    **more: Any,
) -> None:
    """Make a page of scored runs: tables, curves, heat maps, and the rows behind each number.

    Example: `ruler report runs/qwen runs/llama --out report.html`

    One file that opens from disk, without a network.
    """
    typer.echo(f"Written: {api.report(runs, names=names, dataset=dataset, **more)}")


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
    from ruler_eval.report.row_text import row_page, short_text, whole_text
    from ruler_eval.report.row_view import row_view

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
