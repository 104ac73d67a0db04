"""Predictions and a frozen split in, one result anybody can reproduce out: results.json.

    results = score(read([Path("RUN")]), Release.open("ruler"), ScoringRules())
    results["configurations"]["vt_4k"]["score"]                        # 0 … 100, unrounded

The form of results.json is in ruler_eval/score/results_file.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.frozen_rows import own_because
from ruler_common.manifest import has_threshold
from ruler_common.names import Names
from ruler_eval.frozen_release import Release, place_of
from ruler_eval.score.aggregates import summary, with_relative
from ruler_eval.score.cells import scored_cell, with_documents
from ruler_eval.score.effective_length import Baseline
from ruler_eval.score.join import join_predictions
from ruler_eval.score.predictions import Predictions
from ruler_eval.score.results_file import FORMAT, Results, ScoredDataset
from ruler_eval.score.row_score import ScoringRules
from ruler_eval.score.stopped import is_part, without_intervals
from ruler_score.ruler_score import SCORE_VERSION


def score(
    predictions: Predictions,
    release: Release | None = None,
    rules: ScoringRules | None = None,
    baseline: Baseline = "chat",
    claimed: int | None = None,
    progress: Callable[[Sequence[str]], Iterable[str]] = iter,
) -> Results:
    """Join, score and aggregate; ruler_eval/score/results_file.py has the form of the result.

    Without a release the references must be in the files. `baseline` sets the threshold of the
    effective length: `chat`, `base`, or a number; `claimed` is the model's window in tokens;
    `progress` hands on the configurations' names one by one.
    Raises RulerError if nothing can be joined, or if the run was made on other data.
    """
    rules = replace(rules or ScoringRules(), model=str(predictions.run.get("model") or ""))
    rules = rules.of(release)
    stopped = is_part(predictions.run, predictions.rows)
    asked_partial = rules.partial and not stopped
    if stopped:  # the rows after that were never to be asked
        rules = replace(rules, partial=True)
    notes = list(predictions.damaged)
    names = release.names if release else predictions.names
    if rules.compat is not None and names.dataset != "oneruler":
        raise RulerError("--compat authors is for ONERULER: RULER's rule is its authors' own.")
    joined = join_predictions(predictions, release)
    cells = {name: scored_cell(joined[name], rules, notes) for name in progress([*joined])}
    if release is not None:
        cells = with_documents(cells, release)
    cells = with_relative(cells)
    run = predictions.run
    standard = has_threshold(release.manifest) if release else None
    results: Results = {
        "format": FORMAT,
        "score_version": SCORE_VERSION,
        "partial": rules.partial,
        "rules": {"compat": rules.compat, "cut": rules.cut},
        "options": {"partial": asked_partial, "threshold": baseline, "claimed": claimed},
        "dataset": _dataset(release, names, cells, run),
        "model": run.get("model"),
        "mode": run.get("mode"),
        "run": run,
        "predictions": predictions.files,
        "configurations": cells,
        "summary": summary(cells, names, standard is not False, baseline, claimed),
        "notes": notes,
    }
    return without_intervals(results) if stopped else results


def _dataset(
    release: Release | None, names: Names, cells: Mapping[str, Any], run: Mapping[str, Any]
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
            "own_because": None,
        }
    manifest = release.manifest
    found: ScoredDataset = {
        "name": release.dataset,
        "source": place_of(release.source),
        "data_version": manifest["data_version"],
        "builder_version": manifest.get("builder_version"),
        "revision": release.revision,
        "seed": manifest.get("seed"),
        "tasks": list(names.tasks),
        "standard": has_threshold(manifest),
        "parameters": {task: dict(manifest["tasks"][task]) for task in names.tasks},
        "rows": {name: release.rows_sha256(name) for name in cells},
        "own_because": own_because(manifest, cells),
    }
    if release.languages.custom:
        found["languages"] = {code: dict(own) for code, own in release.languages.custom.items()}
    return found
