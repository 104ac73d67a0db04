"""What the commands score, errors, compare and correlate do; eval/cli.py holds their flags."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial as with_arguments
from pathlib import Path
from typing import Any, cast

import typer

from eval.report import analysis_tables
from eval.report import score_tables as tables
from eval.score.effective_length import Baseline
from eval.score.prediction_source import PredictionSource
from eval.score.results_file import Results, load
from eval.step_bar import steps
from ruler_dataset import RulerError, parse_length, plain, write_whole


def score(
    files: Sequence[Path],
    source: PredictionSource,
    out: Path | None,
    partial: bool,
    cut: str,
    compat: str | None,
    threshold: str,
    claimed: str | None,
    markdown: bool,
    intervals: bool,
    beside: str | None = None,
) -> None:
    """`ruler score`: print the tables and write results.json."""
    from eval.report.published_beside import beside_published
    from eval.score import results_file, scoring

    _not_a_folder(out, "results.json")
    if beside not in (None, "published"):
        raise RulerError(f"--beside '{beside}' is not published, the one choice there is.")
    rules = scoring.ScoringRules.parse(compat, cut, partial)
    baseline = _baseline(threshold)
    predictions, release = source.open(files)
    dataset = release.dataset if release else "ruler"
    window = None if claimed is None else parse_length(claimed.lower(), dataset)
    shown = with_arguments(steps, label="Scoring")
    results = scoring.score(predictions, release, rules, baseline, window, shown)
    if out is None and predictions.run_folder is not None:
        out = predictions.run_folder / "results.json"
    if out is not None:
        results_file.write(results, out)
    typer.echo(plain(tables.report(results, markdown, intervals)))
    if beside is not None:
        typer.echo("\n" + beside_published(results, baseline, markdown))
    if out is not None:
        typer.echo(f"\nWritten: {plain(out)}", err=True)


def _baseline(threshold: str) -> Baseline:
    if threshold in ("chat", "base"):
        return cast(Baseline, threshold)
    try:
        return float(threshold)
    except ValueError:
        raise RulerError(f"--threshold '{threshold}' is not chat, base or a number.") from None


def errors(
    files: Sequence[Path],
    source: PredictionSource,
    strict: bool,
    out: Path | None,
    cut: str,
    markdown: bool,
) -> None:
    """`ruler errors`: print the kinds by task and length with an example each."""
    from eval.analysis import error_rows
    from eval.report import error_tables
    from eval.score.scoring import ScoringRules

    _not_a_folder(out, "errors.jsonl")
    predictions, release = source.open(files, keep_prompts=True)
    found = error_rows.collect(predictions, release, ScoringRules.parse(cut=cut), strict)
    if out is not None:
        write_whole(out, "".join(json.dumps(e, ensure_ascii=False) + "\n" for e in found))
    typer.echo(plain(error_tables.report(found, markdown)))


def compare(
    a: Path,
    b: Path,
    out: Path | None,
    seed: int,
    markdown: bool,
    names: Sequence[str] = (),
    max_drop: float | None = None,
) -> None:
    """`ruler compare`: print paired differences by configuration, by length and over all.

    With `max_drop` it also decides, and ends with the exit code of the verdict.
    """
    from eval.analysis.compare import compare as compare_results
    from eval.analysis.decide import EXIT_CODES, decide

    _not_a_folder(out, "comparison.json")
    left, right = _named([a, b], names).values()
    found = compare_results(left, right, seed)
    decision = None if max_drop is None else decide(found, max_drop)
    if out is not None:
        _write_json(out, found if decision is None else {**found, "decision": decision})
    typer.echo(plain(analysis_tables.comparison(found, markdown)))
    if decision is not None:
        typer.echo("\n" + analysis_tables.decision(decision))
        raise typer.Exit(EXIT_CODES[decision["verdict"]])


def correlate(
    paths: Sequence[Path], out: Path | None, markdown: bool, names: Sequence[str] = ()
) -> None:
    """`ruler correlate`: print the matrix in the dendrogram's order and the merges.

    Before it, for each model with other tasks than RULER's, how scores fall with the parameters in
    which these differ; where there is that, too few results for a correlation are no mistake.
    """
    from eval.analysis.complexity import panels
    from eval.analysis.correlate import correlate as correlate_results

    _not_a_folder(out, "correlation.json")
    results = _named(paths, names)
    changed = {name: r for name, r in results.items() if r["dataset"]["standard"] is False}
    figures = {name: shown for name, result in changed.items() if (shown := panels(result))}
    found: dict[str, Any]
    try:
        found = correlate_results(results)
    except RulerError as error:
        if not figures:
            raise
        found = {"correlation": None, "why": str(error)}
    if out is not None:
        drawn = {name: list(map(asdict, shown)) for name, shown in figures.items()}
        _write_json(out, {**found, "complexity": drawn})
    for name, shown in figures.items():
        typer.echo(tables.line_of(f"Scores by complexity, {name}", markdown) + "\n")
        typer.echo(plain(analysis_tables.complexity(shown, markdown) + "\n"))
    if found["correlation"] is None:
        typer.echo(plain(f"No correlation. {found['why']}"))
    else:
        typer.echo(plain(analysis_tables.correlation(found, markdown)))


def analyze(
    paths: Sequence[Path],
    errors_files: Sequence[Path],
    out: Path | None,
    markdown: bool,
    names: Sequence[str] = (),
) -> None:
    """`ruler analyze`: print what ONERULER's paper draws, as far as the results hold it."""
    from eval.analysis.language_scores import analyze as analyze_results
    from eval.report.language_tables import report

    _not_a_folder(out, "analysis.json")
    lines = [line for path in errors_files for line in _lines(path)]
    found = analyze_results(_named(paths, names), lines)
    if out is not None:
        _write_json(out, found)
    typer.echo(plain(report(found, markdown)))


def _lines(path: Path) -> list[dict[str, Any]]:
    """The lines of `ruler errors --out`; RulerError for another file."""
    if not path.is_file():
        raise RulerError(f"There is no '{path}'. Make it: ruler errors RUN --out {path}")
    try:
        found = [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]
        if all(isinstance(line[name], str) for line in found for name in ("languages", "kind")):
            return found
    except (ValueError, RecursionError, TypeError, LookupError):
        pass
    raise RulerError(f"'{path}' is not what `ruler errors --out` writes: name such a file.")


def _named(paths: Sequence[Path], names: Sequence[str]) -> dict[str, Results]:
    """The results by the name given with --name, else the model's, else the file's."""
    if names and len(names) != len(paths):
        raise RulerError(
            f"There are {len(names)} --name for {len(paths)} results: give one for each, in order."
        )
    found: dict[str, Results] = {}
    for number, path in enumerate(paths):
        results = load(path)
        label = names[number] if names else str(results["model"] or path)
        if names:
            results["model"] = label
        if label in found:
            label = str(path)
        if label in found:
            raise RulerError(f"'{label}' is named twice: give other --name labels.")
        found[label] = results
    return found


def _not_a_folder(out: Path | None, name: str) -> None:
    """Refuse --out that names a folder, before any work."""
    if out is not None and out.is_dir():
        raise RulerError(f"'{out}' is a folder: name a file with --out, such as {out / name}.")


def _write_json(path: Path, found: Mapping[str, Any]) -> None:
    write_whole(path, json.dumps(found, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
