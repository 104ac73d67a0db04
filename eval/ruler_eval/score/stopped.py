"""A run that its own scores stopped: what its results may not say any more.

A run that ends when its scores look decided ends at a lucky or an unlucky moment, so intervals of
as many rows chosen beforehand do not hold of it. What holds is what `ruler decide` or `ruler run
--until` wrote into run.json when it stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.prediction import Prediction
from ruler_eval.score.results_file import Results
from ruler_eval.score.run_facts import RunFacts, StoppedAt


def stopped_at(run: RunFacts) -> StoppedAt | None:
    """Where a run was stopped by its own scores; None where it was not, or ran to its last row."""
    found = run.get("decision") or run.get("estimate")
    return found if found and found["rows"] < found["of"] else None


def is_part(run: RunFacts, predictions: Iterable[Prediction]) -> bool:
    """Whether a run was stopped, and not gone on with until its last row."""
    found = stopped_at(run)
    if found is None:
        return False
    answered = Counter(config for config, _ in {(row.config, row.index) for row in predictions})
    return min(answered.values(), default=0) < found["of"]


def without_intervals(results: Results) -> Results:
    """Return the results of a stopped run without the intervals that do not hold, and a note."""
    found = stopped_at(results["run"])
    if found is None:
        return results
    low, high = found["interval"]
    by, holds = "ruler decide", "the verdict in run.json"
    if (score := found.get("score")) is not None:
        by, holds = "ruler run --until", f"the mean over all, {score:.1f} ({low:.1f} to {high:.1f})"
    note = (
        f"`{by}` stopped this run after {found['rows']} of {found['of']} rows of each task, when "
        f"its scores said so. What holds is {holds}; no other interval is given."
    )
    cells = {n: {**cell, "interval": None} for n, cell in results["configurations"].items()}
    summary = _without_intervals(results["summary"])
    changed: Any = {"notes": [note, *results["notes"]], "configurations": cells, "summary": summary}
    return {**results, **changed}


def _without_intervals(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    names = ("interval", "effective_length_interval")
    return {k: None if k in names else _without_intervals(v) for k, v in value.items()}


def refuse_stopped(results: Results) -> None:
    """Raise RulerError for a run that was stopped: no interval of a comparison holds of it."""
    found = stopped_at(results.get("run", {}))
    if found is not None and results["partial"]:
        raise RulerError(
            f"The run of '{results['model']}' was stopped after {found['rows']} of {found['of']} "
            "rows of each task by its own scores, so that no interval of a comparison holds. What "
            "holds stands in its run.json; to compare, run its other rows: ruler run."
        )
