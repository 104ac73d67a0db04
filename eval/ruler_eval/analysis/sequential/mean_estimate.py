"""`ruler run --until 1.0`: waves until the mean over all tasks is known within ± 1 point.

    found = mean_estimate(plan, scores_of(results), rows=120)
    found["score"], found["interval"]                  # 78.3, [77.3, 79.3]

The mean over all rows of the release, from the first rows of the frozen order: stratified by task
and length, with the finite-population factor 1 − n/N and 1.96 standard errors. Every task and
length counts one more squared deviation of 1/4 (half a point of a 0/1 score), because where all of
few rows are right nothing is observed of those that are not. A row's lengths stay together where
an index has come at several. With the whole run of a near model beside it, a difference estimator:
that run's mean, plus the mean of the paired differences.

It stops when the interval is as narrow as was asked, from 20 rows a task on at one length, 6 of
each task and length over several; that it stops by its own spread costs coverage, which
tests/bench/bench_until.py shows. What was tried and left, on 41 published runs: to give tasks that
vary more rows as it goes (17 % of the rows instead of 25, but 89 to 91 % coverage); rows of middle
difficulty (1.7 to 15 points too low); anchor points, which do not hold from one family of models
to another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_eval.analysis.compare import paired_cells
from ruler_eval.analysis.sequential.sequential_test import LookPlan
from ruler_eval.analysis.sequential.wave_run import WaveRun
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.work_plan import WAVE
from ruler_eval.score.results_file import Results, Scores, scores_of

FEWEST, FEWEST_OVER_LENGTHS = 20, 6
"""Rows of each task and length before a run may stop: at one length, over several."""
_Z = 1.96
_DOUBT = 0.25
"""The squared deviation that is added to those of each task and length."""


class MeanEstimate(TypedDict):
    """The mean over all tasks (0 … 100) and its 95 % interval, from `rows` of `of` rows each."""

    half_width: float
    score: float
    interval: list[float]
    rows: int
    of: int


def mean_estimate(
    plan: LookPlan, scores: Scores, rows: int, base: Scores | None = None
) -> MeanEstimate:
    """The estimate from the first `rows` rows of each task and length; `base` has all of them."""
    means, offsets = [], []
    errors: dict[str, dict[int, float]] = {}
    for (task, length), order in plan.order.items():
        names = plan.configs[task, length]
        values = _by_index(scores, names, order[:rows])
        if base is not None:
            known = _by_index(base, names, order)
            values = values - known[:rows]
            offsets.append(known.mean())
        means.append(values.mean())
        mine = errors.setdefault(task, {})
        for index, value in zip(order[:rows], values - values.mean(), strict=True):
            mine[index] = mine.get(index, 0.0) + float(value)
    squares = sum(value**2 for mine in errors.values() for value in mine.values())
    squares = squares * rows / max(rows - 1, 1) + _DOUBT * len(means)
    error = math.sqrt(squares * (1 - rows / plan.rows)) / rows / len(means)
    score = 100 * float(np.mean(means) + (np.mean(offsets) if offsets else 0))
    half = 100 * _Z * error
    return MeanEstimate(
        half_width=half,
        score=score,
        interval=[max(0.0, score - half), min(100.0, score + half)],
        rows=rows,
        of=plan.rows,
    )


def _by_index(scores: Scores, names: Sequence[str], indices: Sequence[int]) -> np.ndarray:
    """The mean over languages and tokenizers of rows; a missing one is wrong."""
    return np.array([np.mean([scores.get(n, {}).get(i, 0.0) for n in names]) for i in indices])


def run_until(
    order: RunOrder,
    half_width: float,
    beside: Results | None = None,
    on_look: Callable[[MeanEstimate], None] = lambda _: None,
) -> RunSummary:
    """Run waves until the mean is within ± `half_width` points; `ruler run --until`.

    The width is in run.json before the first row, the estimate after the last; results.json is
    written. Raises RulerError as `run` does.
    """
    if not 0 < half_width < 50:
        raise RulerError("--until takes points above 0 and below 50, such as 1.0.")
    fixed = {"half_width": float(half_width), "beside": beside["model"] if beside else None}
    with WaveRun(order, {"until": fixed}, WAVE) as run:
        plan, base = run.plan, None
        if beside is not None:
            run.check_base(beside)
            base = scores_of(beside)
        several = len({length for _, length in plan.order}) > 1
        fewest = min(plan.rows, FEWEST_OVER_LENGTHS if several else FEWEST)
        for rows in [*range(fewest, plan.rows, plan.wave), plan.rows]:
            results = run.upto(rows, beside)
            if beside is not None:
                paired_cells(beside, results)
            found = mean_estimate(plan, scores_of(results), rows, base)
            on_look(found)
            if found["half_width"] <= half_width:
                break
        summary = run.end({"estimate": found})
    run.write(beside, partial=found["rows"] < found["of"])
    return summary
