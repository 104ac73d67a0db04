"""`ruler report` and `ruler show`: scored runs as a page, and single rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ruler_common.files import check_file, write_whole
from ruler_common.options import Option
from ruler_common.text import announce, plain
from ruler_eval.report.options import ReportOptions


def report(options: ReportOptions) -> None:
    """Write a page of scored runs: tables, curves, heat maps, and the rows behind each number.

    The page is a single file that opens from disk, without a network.

    Example: ruler report runs/qwen runs/llama --out report.html

    Example: ruler report runs/qwen runs/llama --figures charts --format svg,pdf
    """
    from ruler_release.api import write_page

    check_file(options.out, "report.html")
    announce("Writing the page")
    print(f"Written: {plain(write_page(options))}")
    if options.figures is not None:
        print(f"Written: {plain(options.figures)}")


@dataclass(frozen=True, kw_only=True)
class ShowCommand:
    """The flags of `ruler show`."""

    config: Annotated[str, Option("Such as niah_single_2_4k.", argument=True, metavar="CONFIG")]
    index: Annotated[int, Option("The row's index, from 0.", argument=True, metavar="INDEX")]
    dataset: Annotated[
        str,
        Option("A release folder or Hub repository (ORG/NAME).", short="-d", metavar="RELEASE"),
    ]
    run: Annotated[
        tuple[Path, ...], Option("A RUN folder or prediction file; repeatable.", repeatable=True)
    ] = ()
    full: Annotated[bool, Option("Show the whole text in a pager, with the evidence marked.")] = (
        False
    )
    html: Annotated[Path | None, Option("Write the row as a page.", metavar="FILE")] = None
    revision: Annotated[str | None, Option("The release's tag or commit on the Hub.")] = None


def show(options: ShowCommand) -> None:
    """Show one row: the text around its evidence, its question, references, and answers of runs.

    Example: ruler show niah_single_2_4k 3 --dataset ruler --run runs/qwen
    """
    import pydoc

    from ruler_eval.frozen_release import Release
    from ruler_eval.report.row_text import short_text, whole_text
    from ruler_eval.report.row_view import row_view

    html = options.html
    check_file(html, "row.html", "--html")
    release = Release.open(options.dataset, options.revision)
    view = row_view(release, options.config, options.index, options.run)
    if html is not None:
        from ruler_eval.report.page.build import row_page

        write_whole(html, row_page(view))
        print(f"Written: {plain(html)}")
    elif options.full:
        pydoc.pager(whole_text(view))  # the user's in a terminal, plain text elsewhere
    else:
        print(short_text(view), end="")
