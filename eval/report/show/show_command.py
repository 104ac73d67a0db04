"""`ruler show`: one row of a release as a person reads it, and how runs answered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def show(
    config: Annotated[str, typer.Argument(metavar="CONFIG", help="Such as niah_single_2_4k.")],
    index: Annotated[int, typer.Argument(metavar="INDEX", help="The row's index, from 0.")],
    dataset: Annotated[str, typer.Option(help="A release folder or Hub repository (ORG/NAME).")],
    run: Annotated[
        list[Path] | None, typer.Option(help="A RUN folder or prediction file; repeatable.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="The whole text, page by page, evidence marked.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the row as a page.")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="The data set's revision.")] = None,
) -> None:
    """Show one row: the text around its evidence, question, references, and how runs answered.

    Example: `ruler show niah_single_2_4k 3 --dataset ruler --run runs/qwen`
    """
    from eval.frozen_release import Release
    from eval.report.show.row_page import row_page
    from eval.report.show.row_text import short_text, whole_text
    from eval.report.show.row_view import row_view
    from ruler_dataset import RulerError, write_whole

    if html is not None and html.is_dir():
        raise RulerError(f"'{html}' is a folder: name a file, such as {html / 'row.html'}.")
    view = row_view(Release.open(dataset, revision), config, index, run or ())
    if html is not None:
        write_whole(html, row_page(view))
        typer.echo(f"Written: {html}")
    elif full:
        _page(whole_text(view))
    else:
        typer.echo(short_text(view), nl=False)


def _page(text: str) -> None:
    """Through the user's pager in a terminal, plainly elsewhere."""
    import pydoc

    pydoc.pager(text)
