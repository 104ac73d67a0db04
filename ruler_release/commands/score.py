"""`ruler score` and `ruler errors`: score predictions, and sort the wrong ones."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ruler_common.errors import RulerError
from ruler_common.files import check_file
from ruler_common.options import Option
from ruler_common.text import announce, note, plain
from ruler_eval.score.options import ErrorsOptions, ScoreOptions

if TYPE_CHECKING:
    from ruler_eval.score.results import Results

SHOWN = "What is shown"


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
    markdown: Annotated[bool, Option("Tables in Markdown.", panel=SHOWN)] = False
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


def score(options: ScoreCommand) -> None:
    """Score predictions on frozen rows: shows scores and averages, writes the rest to results.json.

    Missing and failed rows count as wrong; --truncated says how truncated ones count. The counts
    of all three are shown.

    Example: ruler score runs/qwen --out results.json
    """
    from ruler_release.api import results_path, score_files

    out = results_path(options)
    check_file(out, "results.json")
    results = score_files(replace(options, progress=True))
    show_scores(results, options)
    if out is not None:
        print(f"\nWritten: {plain(out)}", file=sys.stderr)
    else:
        print(
            "\nNo results.json was written: add --out FILE, for compare and report.",
            file=sys.stderr,
        )
    if options.fail_under is not None:
        check_average(results, options.fail_under)


def show_scores(results: Results, options: ScoreCommand) -> None:
    """Print the tables of a scored run."""
    from ruler_eval.report import terminal

    print(plain(terminal.scores(results, options.markdown, options.all)))
    if options.published:
        from ruler_eval.report.published import published_models
        from ruler_eval.score.aggregates import parse_baseline

        baseline = parse_baseline(options.threshold)
        tables = published_models(results, baseline, options.markdown, options.all)
        print(f"\n{plain(tables)}")


def check_average(results: Results, fail_under: float) -> None:
    """Exit with code 1 if the average over tasks and lengths is below `fail_under`."""
    from ruler_eval.report.terminal import overall_average

    average = overall_average(results)
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

    markdown: Annotated[bool, Option("Tables in Markdown.")] = False


def errors(options: ErrorsCommand) -> None:
    """Sort every wrong answer into the papers' kinds of errors, by task and length.

    Example: ruler errors runs/qwen
    """
    from ruler_eval.report import analysis_tables
    from ruler_eval.score.stored import open_scores
    from ruler_release.api import sort_errors

    check_file(None if options.out is None else Path(options.out), "errors.jsonl")
    announce("Reading the predictions")
    scores = open_scores(options, options.truncated)
    repeats = max((config.repeats for config in scores.configs.values()), default=1)
    if repeats > 1:
        note(f"Only the first of {repeats} samples of each row is sorted.")
    print(plain(analysis_tables.errors(sort_errors(scores, options), options.markdown)))
