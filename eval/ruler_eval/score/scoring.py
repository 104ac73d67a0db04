"""Score predictions: each row, each configuration, and the aggregates, as results.json has them.

    predictions, release = open_predictions(PredictionOptions("runs/qwen"))
    scored = score(predictions, release)
    scored.results["configurations"]["vt_4k"]["score"]           # 0 … 100, unrounded
    write(*scored, Path("results.json"))

The schema of results.json and rows.parquet is in ruler_eval/score/results.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np

from ruler_common.errors import RulerError
from ruler_common.frozen import why_custom
from ruler_common.manifest import benchmark_suite
from ruler_common.names import CONTROL_LENGTH, Names
from ruler_common.text import number_of
from ruler_eval.frozen_release import Release, place_of
from ruler_eval.score.aggregates import Baseline, SummaryOptions, summary
from ruler_eval.score.cells import cell_of, shared_documents
from ruler_eval.score.odd_answers import notes_on_answers
from ruler_eval.score.own_run import (
    RunFacts,
    StoppedAt,
    note_of_stopped,
    notes_of_models,
    notes_of_shards,
    rows_looked_at,
    stopped_at,
)
from ruler_eval.score.predictions import Predictions, without_garbage_collection
from ruler_eval.score.results import (
    FORMAT,
    Cell,
    Latency,
    Lines,
    Results,
    ScoredDataset,
    row_table,
    rows_by_config,
)
from ruler_eval.score.rows import ConfigScores, ScoringRules, add_lines, configs_of, score_rows
from ruler_score import ruler_score as metric


class Scored(NamedTuple):
    """The results of a run, and a line for each answer (ruler_eval/score/results.py)."""

    results: Results
    lines: Lines


def score(
    predictions: Predictions,
    release: Release | None = None,
    rules: ScoringRules | None = None,
    baseline: Baseline = "chat",
    claimed: int | None = None,
    progress: Callable[[Sequence[str]], Iterable[str]] = iter,
) -> Scored:
    """Join predictions to rows, score them, and aggregate.

    Args:
        predictions: The predictions; without a release the files must have the references.
        release: The release whose rows they answer.
        rules: The options that a row's score depends on.
        baseline: The threshold of the effective length: `chat`, `base`, or a number.
        claimed: The model's context window in tokens.
        progress: Takes the configurations' names and yields them one by one.

    Raises RulerError if no prediction matches a row, or if the run was made on other data.
    """
    run = predictions.run
    rules = replace(rules or ScoringRules(), model=str(run.get("model") or ""))
    asked_partial = rules.partial
    stopped = _stopped(predictions)
    if stopped is not None:  # the remaining rows were left out on purpose
        asked_partial, rules = False, replace(rules, partial=True)
        predictions = _looked_at(predictions, stopped, release)
    names = release.names if release else predictions.names
    if rules.compat is not None and names.dataset != "oneruler":
        raise RulerError("--compat authors is for ONERULER: RULER's rule is its authors' own.")
    notes = [note_of_stopped(stopped)] if stopped else []
    notes += [*notes_of_shards(run), *notes_of_models(run)]
    notes += predictions.damaged
    documents = shared_documents(configs_of(predictions, release), release) if release else {}
    with without_garbage_collection():
        scores = score_rows(predictions, release, rules, progress)
        cells, lines, notes_on_rows = _collect(scores, documents, release, stopped is None)
        notes += [*notes_on_rows, *notes_on_answers(lines)]
    dataset = _dataset(release, names, run, cells)
    options = SummaryOptions(
        standard=dataset["standard"] is not False,
        baseline=baseline,
        claimed=claimed,
        intervals=stopped is None,
    )
    results: Results = {
        "format": FORMAT,
        "score_version": metric.SCORE_VERSION,
        "partial": rules.partial,
        "rules": {"compat": rules.compat, "truncated": rules.truncated},
        "options": {"partial": asked_partial, "threshold": baseline, "claimed": claimed},
        "dataset": dataset,
        "model": run.get("model"),
        "mode": run.get("mode"),
        "run": run,
        "predictions": predictions.files,
        "latency": _latency(predictions),
        "configurations": cells,
        "rows": row_table(lines),
        "summary": {},
        "notes": notes,
    }
    results["summary"] = summary(cells, rows_by_config(results), names, options)
    return Scored(results, lines)


def _collect(
    all_scores: Iterable[ConfigScores],
    documents: Mapping[str, Mapping[int, str]],
    release: Release | None,
    with_intervals: bool,
) -> tuple[dict[str, Cell], Lines, list[str]]:
    """Return the cells, the lines of rows.parquet and the notes of all configurations.

    The control of a task, 0k, comes before its other lengths. `documents` are digests of the rows'
    documents by configuration, if several rows ask about one.
    """
    lines = cast(Lines, {column: [] for column in Lines.__annotations__})
    cells: dict[str, Cell] = {}
    controls: dict[tuple[str, str | None, str], float | None] = {}
    notes = []
    for scores in all_scores:
        name, config = scores.name, scores.config
        place = config.task, config.tokenizer, config.languages
        shared = documents.get(name, {})
        if not all(row[0].row["index"] in shared for row in scores.rows):
            shared = {}
        add_lines(lines, scores, shared)
        cells[name] = cell_of(scores, shared, controls.get(place), with_intervals, release)
        if config.length == CONTROL_LENGTH:
            controls[place] = cells[name]["score"]
        notes += _notes(scores)
    return cells, lines, notes


def _latency(predictions: Predictions) -> Latency | None:
    """Return the server's time for an answer; None if the run did not record it."""
    seconds = []
    for row in predictions.rows:
        if row.seconds is not None:
            seconds.append(row.seconds)
    if not seconds:
        return None
    median, p95 = np.percentile(seconds, (50, 95))
    return {"median": float(median), "p95": float(p95)}


def _stopped(predictions: Predictions) -> StoppedAt | None:
    """Return where the run was stopped by its own scores; None if it has all rows."""
    stop = stopped_at(predictions.run)
    if stop is None:
        return None
    answered = Counter(config for config, _ in {(p.config, p.index) for p in predictions.rows})
    return stop if min(answered.values(), default=0) < stop["of"] else None


def _looked_at(predictions: Predictions, stop: StoppedAt, release: Release | None) -> Predictions:
    """Return the predictions that a stopped run looked at, without those in flight at its end.

    Rows that were answered in time are not a random sample.
    """
    if release is None:
        raise RulerError(
            "This run was stopped by its scores, and only its release says which rows it looked "
            "at: add --dataset."
        )
    rows = {}
    for config in {prediction.config for prediction in predictions.rows}:
        rows[config] = rows_looked_at(predictions.run, stop, release, config)
    return predictions.of_rows(rows)


def _dataset(
    release: Release | None, names: Names, run: RunFacts, configs: Collection[str]
) -> ScoredDataset:
    if release is None:
        return {
            "name": names.dataset,
            "source": None,
            "revision": None,
            "data_version": run.get("data_version"),
            "tasks": list(names.tasks),
            "standard": None,
            "rows": run.get("rows", {}),
            "custom_because": None,
        }
    manifest = release.manifest
    dataset: ScoredDataset = {
        "name": release.dataset,
        "source": place_of(release.source),
        "data_version": manifest["data_version"],
        "builder_version": manifest.get("builder_version"),
        "revision": release.revision,
        "seed": manifest.get("seed"),
        "tasks": list(names.tasks),
        # RULER's thresholds were measured in the layout of the suite ruler_2024
        "standard": benchmark_suite(manifest) in (release.dataset, "ruler_2024"),
        "parameters": {task: dict(manifest["tasks"][task]) for task in names.tasks},
        "rows": {name: release.rows_sha256(name) for name in configs},
        "sources": {name: source["sha256"] for name, source in manifest["sources"].items()},
        "custom_because": why_custom(manifest, configs),
    }
    if not dataset["standard"]:
        dataset["groups"] = {name: list(tasks) for name, tasks in names.groups.items()}
    if release.languages.custom:
        custom = release.languages.custom
        dataset["languages"] = {code: dict(table) for code, table in custom.items()}
    return dataset


def _notes(scores: ConfigScores) -> list[str]:
    """Return the notes on a configuration: duplicated and missing answers."""
    notes, missing, missing_samples = [*scores.notes], [], 0
    for samples in scores.rows:
        if samples[0].prediction is None:
            missing.append(samples[0].row["index"])
        else:
            missing_samples += scores.repeats - len(samples)
    if missing:
        count = number_of(len(missing), "missing row")
        notes.append(f"{scores.name}: {count}, the first is row {missing[0]}")
    if missing_samples:
        count = number_of(missing_samples, "sample")
        notes.append(f"{scores.name}: {count} missing, of {scores.repeats} per row")
    return notes
