"""`ruler score` and `ruler errors`: how good answers are, and how the wrong ones are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_common.text import plain
from ruler_release import api
from ruler_release.commands import flags

_BESIDE = "published: the papers' models beside this one (measured on other rows)."
_INTERVALS = "Print every table, and every cell's 95 % interval."
_DEPTH = "Print the scores by depth of the evidence too."
_ALL = "Print every table: each language, configurations with missing or truncated rows, depth."
_STRICT = "Also sort right answers with something extra."
_ERRORS_OUT = "Write every wrong row and its kind as JSON lines."
_OF_ERRORS = ("cut", "length", "tokenizer", "config", "columns", "references", "name", "revision")


@flags.arguments_of(api.score)
def score(
    files: flags.Files,
    dataset: flags.Reference = None,
    markdown: flags.Markdown = False,
    intervals: Annotated[bool, Option("--intervals", help=_INTERVALS)] = False,
    depth: Annotated[bool, Option("--depth", help=_DEPTH)] = False,
    every: Annotated[bool, Option("--all", help=_ALL)] = False,
    beside: Annotated[str | None, Option(help=_BESIDE)] = None,
    *,
    out: Path | None,
    threshold: str,
    **more: Any,
) -> None:
    """Score predictions against a frozen split: scores and averages, all else in results.json.

    Example: `ruler score runs/qwen --out results.json`

    Missing and failed rows count as wrong, truncated ones as --cut decides. All are counted.
    """
    from ruler_eval.report import score_report
    from ruler_eval.report.published_beside import beside_published
    from ruler_eval.score.aggregates import parse_baseline
    from ruler_eval.score.predictions import results_place

    flags.not_a_folder(out, "results.json")
    if beside not in (None, "published"):
        raise RulerError(f"--beside '{beside}' is not published, the one choice there is.")
    out = out or results_place(files)
    read: dict[str, Any] = {"dataset": dataset, "out": out, "threshold": threshold}
    results = api.score(files, **read, **more, progress=True)
    every = every or intervals
    typer.echo(plain(score_report.report(results, markdown, every, intervals, depth)))
    if beside is not None:
        found = beside_published(results, parse_baseline(threshold), markdown, every)
        typer.echo(f"\n{found}")
    if out is not None:
        typer.echo(f"\nWritten: {plain(out)}", err=True)
    else:
        typer.echo("\nNo results.json: --out FILE writes one, for compare and report.", err=True)


@flags.arguments_of(api.score, only=_OF_ERRORS)
def errors(
    files: flags.Files,
    dataset: flags.Reference = None,
    strict: Annotated[bool, Option("--strict", help=_STRICT)] = False,
    out: Annotated[Path | None, Option("--out", "-o", help=_ERRORS_OUT)] = None,
    markdown: flags.Markdown = False,
    *,
    cut: str,
    **more: Any,
) -> None:
    """Sort every wrong answer into the papers' kinds of errors, by task and length.

    Example: `ruler errors runs/qwen`
    """
    from ruler_eval.analysis.errors import collect
    from ruler_eval.report import analysis_tables
    from ruler_eval.score.predictions import PredictionSource
    from ruler_eval.score.row_score import ScoringRules

    flags.not_a_folder(out, "errors.jsonl")
    source = PredictionSource(dataset=dataset, **more)
    predictions, release = source.open(files, keep_prompts=True)
    found = collect(predictions, release, ScoringRules.parse(cut=cut), strict)
    if out is not None:
        write_whole(out, "".join(json.dumps(e, ensure_ascii=False) + "\n" for e in found))
    typer.echo(plain(analysis_tables.errors(found, markdown)))
