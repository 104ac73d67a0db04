"""`ruler score` and `ruler errors`: score predictions, and sort the wrong ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ruler_common.errors import RulerError
from ruler_common.files import check_file, write_whole
from ruler_common.options import Option, flag_of, options_of, paths
from ruler_common.text import announce, note, plain, show
from ruler_eval.report.formats import FORMATS, SUFFIXES
from ruler_eval.score.options import ErrorsOptions, ScoreOptions

if TYPE_CHECKING:
    from ruler_eval.figures.figure import Figure
    from ruler_eval.figures.series import Runs
    from ruler_eval.score.results import Results

SHOWN = "What is shown"
Format = Annotated[
    str,
    Option(
        "The format of the tables: text, markdown, latex (booktabs), csv (one table, unrounded, "
        "with intervals) or json.",
        panel=SHOWN,
        choices=FORMATS,
    ),
]
Markdown = Annotated[bool, Option("As --format markdown.", panel=SHOWN)]


def _score(text: str) -> float:
    """Read a score; a share such as 0.9 is refused, because every model would be above it."""
    try:
        score = float(text)
    except ValueError:
        raise RulerError(f"--fail-under takes a score from 0 to 100, not '{text}'.") from None
    if 0 < score < 1:
        raise RulerError(
            f"--fail-under takes a score from 0 to 100, not {text}: did you mean {100 * score:g}?"
        )
    return score


@dataclass(frozen=True, kw_only=True)
class ScoreCommand(ScoreOptions):
    """The flags of `ruler score`."""

    out: Annotated[
        Path | str | None,
        Option(
            "The results file of one run. Default: results.json in the RUN folder; of files none "
            "is written. With --format or --figure, or of several runs: the file of the tables.",
            short="-o",
            metavar="FILE",
        ),
    ] = None
    all: Annotated[
        bool,
        Option(
            "Show every table: each language, intervals of every score, depth of the evidence, "
            "configurations with missing or truncated rows.",
            panel=SHOWN,
        ),
    ] = False
    published: Annotated[
        bool, Option("Also show the papers' models (measured on other rows).", panel=SHOWN)
    ] = False
    format: Format = "text"
    figures: Annotated[
        tuple[str, ...],
        Option(
            "Show only this figure, such as scores, tasks, losses or languages (docs/score.md); "
            "repeatable. Default with csv: scores.",
            flag="--figure",
            repeatable=True,
            panel=SHOWN,
            metavar="NAME",
        ),
    ] = ()
    markdown: Markdown = False
    json: Annotated[
        bool,
        Option("Print the whole results as JSON; of several runs a list.", panel=SHOWN),
    ] = False
    cite: Annotated[
        bool,
        Option(
            "Print a paragraph for a paper: data, rules, settings, and the papers' BibTeX.",
            panel=SHOWN,
        ),
    ] = False
    fail_under: Annotated[
        float | None,
        Option(
            "Exit with code 1 if the average over the scored tasks and lengths is below this.",
            panel=SHOWN,
            min=0,
            max=100,
            parse=_score,
            metavar="SCORE",
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.json and (self.figures or self.format != "text" or self.cite):
            raise RulerError("--json prints everything: leave --format, --figure and --cite out.")
        if self.figures:
            from ruler_eval.figures.catalogue import check_figure_names

            check_figure_names(self.figures)


def score(options: ScoreCommand) -> None:
    """Score predictions on frozen rows: shows scores and averages, writes the rest to results.json.

    Several runs are shown side by side. Missing and failed rows count as wrong; --truncated says
    how truncated ones count. The counts of all three are shown.

    Example: ruler score runs/qwen --out results.json

    Example: ruler score runs/qwen runs/llama --format latex --out table.tex
    """
    from ruler_eval.score.stored import check_different_places, check_different_runs, open_results

    places = separate_runs(paths(options.files))
    format = "markdown" if options.markdown else options.format
    is_table = len(places) > 1 or format != "text" or bool(options.figures)
    table_file = Path(options.out) if is_table and options.out is not None else None
    check_file(table_file, f"table.{SUFFIXES[format]}", inputs=files_read(paths(options.files)))
    if places:
        check_different_places(places)
        changes_scores = _changes_scores(places, options)
        all_results = [
            _scored(replace(options, files=place, out=None), quiet=True)
            if changes_scores
            else open_results(place)
            for place in places
        ]
        check_different_runs(all_results, [str(place) for place in places])
    else:
        single = replace(options, out=None) if is_table else options
        all_results = [_scored(single, quiet=table_file is not None or options.json)]
    runs = runs_of_results(all_results, places)
    if options.json:
        print(json.dumps(all_results if len(all_results) > 1 else all_results[0], indent=1))
    else:
        show_scores(runs, options, table_file)
    if options.fail_under is not None:
        for run in runs.runs:
            check_average(runs_of_results([run.results], []), options.fail_under)


def separate_runs(files: Sequence[Path]) -> list[Path]:
    """Return the paths if each is scored or a run of its own; none if together they are one run.

    RUN folders with the same settings and different configurations are parts of one run, as are
    its shards.
    """
    from ruler_eval.score.own_run import run_folders
    from ruler_eval.score.predictions import are_one_run
    from ruler_eval.score.stored import is_results

    if len(files) == 1:
        return [file for file in files if is_results(file)]
    if not all(is_results(file) or run_folders(file) for file in files):
        return []
    folders = [file for file in files if not is_results(file)]
    return [] if len(folders) == len(files) and are_one_run(folders) else list(files)


def _changes_scores(places: Sequence[Path], options: ScoreCommand) -> bool:
    """Return whether a flag changes scores, so that runs which are scored are scored again.

    Raises RulerError if one of the places is a results.json, which cannot be scored again.
    """
    from ruler_eval.score.stored import is_results

    flags = []
    for field in fields(ScoreOptions):
        option = options_of(ScoreOptions).get(field.name)
        is_set = getattr(options, field.name) != field.default
        if option is not None and is_set and field.name not in ("files", "out"):
            flags.append(flag_of(field.name, option))
    for place in places:
        if flags and is_results(place):
            raise RulerError(
                f"'{place}' is scored already: leave {flags[0]} out, or name its RUN folder or "
                "files."
            )
    return bool(flags)


def _scored(options: ScoreCommand, quiet: bool) -> Results:
    """Score the files of one run, and say where the results are unless `quiet`."""
    from ruler_release.api import results_path, score_files

    out = results_path(options)
    check_file(out, "results.json", inputs=paths(options.files))
    results = score_files(replace(options, progress=True))
    if out is not None:
        note(f"Written: {out}")
    elif not quiet:
        note("No results.json was written: add --out FILE, for compare and report.")
    return results


def files_read(places: Sequence[Path]) -> list[Path]:
    """Return the files of results and of answers that are named, and the results in RUN folders."""
    return [place / "results.json" if place.is_dir() else place for place in places]


def runs_of_results(all_results: Sequence[Results], places: Sequence[Path]) -> Runs:
    """Return results as the runs of figures, labelled by their models and places."""
    from ruler_eval.figures.series import ScoredRun, labels_of, runs_of

    where = places or [Path() for _ in all_results]
    labels = labels_of(all_results, where, ())
    runs = []
    for label, results in zip(labels, all_results, strict=True):
        runs.append(ScoredRun(label=label, results=results))
    return runs_of(runs)


def show_scores(runs: Runs, options: ScoreCommand, table_file: Path | None = None) -> None:
    """Print the figures of scored runs, or write them to a file."""
    from ruler_eval.figures.catalogue import chosen_figures, notes_on_runs, score_figures
    from ruler_eval.figures.published import published
    from ruler_eval.figures.runs import cite
    from ruler_eval.report.render import render

    format = "markdown" if options.markdown else options.format
    if options.cite:
        show(cite(runs))
        return
    if options.figures or format == "csv":
        figures = chosen_figures(runs, options.figures or ("scores",))
        shown_sentences = [sentence for figure in figures for sentence in figure.sentences]
        for sentence in notes_on_runs(runs):
            if sentence not in shown_sentences:
                note(sentence)
    else:
        figures = score_figures(runs, options.all)
    if options.published:
        figures += published(runs, options.all)
    write_or_show(render(figures, format), table_file)


def write_or_show(text: str, file: Path | None) -> None:
    """Write a text to a file, or print it."""
    if file is None:
        show(text)
        return
    write_whole(file, text + "\n")
    show(f"Written: {file}")


def check_average(runs: Runs, fail_under: float) -> None:
    """Exit with code 1 if the average over tasks and lengths is below `fail_under`."""
    from ruler_eval.figures.scores import overall_average

    average = overall_average(runs)
    if average is None:
        print("--fail-under: nothing was scored.", file=sys.stderr)
        raise SystemExit(1)
    if average < fail_under:
        text = f"The average is {average:.2f}, below --fail-under {fail_under:g}."
        print(text, file=sys.stderr)
        raise SystemExit(1)


@dataclass(frozen=True, kw_only=True)
class ErrorsCommand(ErrorsOptions):
    """The flags of `ruler errors`."""

    format: Format = "text"
    markdown: Markdown = False
    json: Annotated[
        bool, Option("Print every wrong row and its kind as a JSON list.", panel=SHOWN)
    ] = False


def errors(options: ErrorsCommand) -> None:
    """Sort every wrong answer into the papers' kinds of errors, by task and length.

    Example: ruler errors runs/qwen
    """
    from ruler_eval.figures.errors import error_figures
    from ruler_eval.report.render import render
    from ruler_eval.score.stored import open_scores
    from ruler_release.api import sort_errors

    check_file(options.out, "errors.jsonl", inputs=paths(options.files))
    announce("Reading the predictions")
    scores = open_scores(options, options.truncated)
    repeats = max((config.repeats for config in scores.configs.values()), default=1)
    if repeats > 1:
        note(f"Only the first of {repeats} samples of each row is sorted.")
    wrong = sort_errors(scores, options)
    if options.json:
        lines = [json.dumps(error, ensure_ascii=False) for error in wrong]
        print(plain("[" + ",\n".join(lines) + "]"))
        return
    format = "markdown" if options.markdown else options.format
    figures: list[Figure] = error_figures(wrong)
    if format == "csv":
        figures = figures[:1]
    show(render(figures, format))
