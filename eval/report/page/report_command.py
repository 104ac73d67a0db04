"""What `ruler report` does: one HTML page of scored runs, its data as JSON, its figures as files.

write_report([Path("runs/qwen")], Path("report.html"))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from eval.report.page.page_model import FrozenSentence
from ruler_dataset import RulerError, write_whole


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
    frozen: FrozenSentence | None = None,
) -> list[Path]:
    """Write the page to `out`, its data to `json_file`, its figures into `png`; the files written.

    `names` label the runs, `dataset` is the release they were made on, `references` the reference
    code's data folder where they were scored by one; with `every_error` all wrong rows are sorted
    into kinds; `frozen` says of a manifest whether its rows are the frozen ones. Raises RulerError
    for what cannot be shown.
    """
    for path, example in ((out, "report.html"), (json_file, "report.json")):
        if path is not None and path.is_dir():
            raise RulerError(f"'{path}' is a folder: name a file, such as {path / example}.")
    from eval.report.page.figures.page_figures import figures
    from eval.report.page.page_data import as_json, page_data
    from eval.report.page.page_render import render
    from eval.report.page.page_runs import open_runs

    page = page_data(open_runs(runs, names, dataset, revision, references), frozen, every_error)
    charts = figures(page)
    write_whole(out, render(page, charts))
    written = [out]
    if json_file is not None:
        write_whole(json_file, as_json(page))
        written.append(json_file)
    if png is not None:
        from eval.report.page.figures.heat_figures import write_figures

        write_figures(page, charts, png)
        written.append(png)
    return written


_RUNS = "Scored RUN folders, or results.json files of `ruler score`."
_DATASET = "The release they were made on: a folder or Hub repository; default: as each run names "
_DATASET += "it. It gives the texts around the needles."
_REFERENCES = (
    "The data folder that runs without a release were scored by (`ruler score --references`)."
)
_EVERY_ERROR = (
    "Sort every wrong row into its kind of error: about a minute for 39,000 rows to 128k. "
)
_EVERY_ERROR += "Without it, of a release whose texts are that large an even share is sorted."
Command = Callable[..., None]


def report_command(frozen: FrozenSentence | None = None) -> Command:
    """The command `ruler report`; `frozen` says of a manifest whether its rows are the frozen ones.

    Only the builder knows the frozen rows, and the two sides know nothing of each other, so the
    `ruler` command hands it in.
    """

    def report(
        runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help=_RUNS)],
        out: Annotated[Path, typer.Option(help="The page: one HTML file.")] = Path("report.html"),
        name: Annotated[
            list[str] | None,
            typer.Option("--name", help="What to call each model, in order; repeatable."),
        ] = None,
        dataset: Annotated[str | None, typer.Option(help=_DATASET)] = None,
        revision: Annotated[str | None, typer.Option(help="The data set's revision.")] = None,
        references: Annotated[Path | None, typer.Option(help=_REFERENCES)] = None,
        json_file: Annotated[
            Path | None, typer.Option("--json", help="Write what the page shows as JSON.")
        ] = None,
        png: Annotated[
            Path | None, typer.Option(metavar="FOLDER", help="Write the figures as PNG and SVG.")
        ] = None,
        every_error: Annotated[bool, typer.Option("--every-error", help=_EVERY_ERROR)] = False,
    ) -> None:
        """Make a page of scored runs: tables, curves, heat maps, and the rows behind each number.

        Example: `ruler report runs/qwen runs/llama --out report.html`

        One file that opens from disk, without a network.
        """
        written = write_report(
            runs,
            out,
            name or (),
            dataset,
            revision,
            references,
            json_file=json_file,
            png=png,
            every_error=every_error,
            frozen=frozen,
        )
        typer.echo("Written: " + ", ".join(map(str, written)))

    return report
