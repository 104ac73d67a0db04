"""Run rows until the mean over all tasks is known within ± 1 point: `ruler run --until 1.0`.

    estimate = mean_estimate(plan, scores, rows=120)
    estimate["score"], estimate["interval"]                  # 78.3, [77.3, 79.3]

The estimate is the mean over all rows of the release, from the first rows of the frozen order. It
is stratified by task and length; its interval is 1.96 standard errors, with the finite-population
factor 1 − n/N. Every task and length gets one extra squared deviation of 1/4 (half a point of a 0/1
score), because the observed spread of a few rows that are all right is 0, and all together at least
two: with less, the estimate of one task of which few rows are wrong covered the mean in as little
as 76 % of simulated runs, because it stops when none of them has been seen. The deviations of rows
with the same index at several lengths are added up before they are squared.

The run stops when the interval is narrow enough, after at least 20 rows of each task at one length,
or 6 of each task and length at several. Later rows are in flight while it looks; those answered by
the end are stored, but neither the estimate nor results.json has them.

Stopping by the observed spread costs some coverage, which bench/until.py measures. These
alternatives were rejected on 41 published runs: more rows for tasks that vary more (17 % of the
rows instead of 25 %, but 89 to 91 % coverage), rows of medium difficulty (1.7 to 15 points too
low), and anchor points, which do not transfer from one family of models to another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from typing_extensions import TypedDict

from ruler_eval.gate.plan import LookPlan
from ruler_eval.gate.waves import open_waves
from ruler_eval.run.options import RunOptions
from ruler_eval.run.progress import RunSummary
from ruler_eval.score.results import Scores

MIN_ROWS, MIN_ROWS_OVER_LENGTHS = 20, 6
"""Rows of each task and length before a run may stop, at one length and at several."""
LOOK_EVERY, LOOK_EVERY_OVER_LENGTHS = 10, 2
"""New rows of each task and length between two looks, at one length and at several."""
_Z = 1.96
_EXTRA_DEVIATION = 0.25
"""The extra squared deviation of each task and length."""
_MIN_EXTRA_DEVIATIONS = 2.0
"""That of all tasks and lengths together, at least."""


class MeanEstimate(TypedDict):
    """The mean over all tasks (0 … 100) and its 95 % interval, by `rows` of `of` rows of each."""

    half_width: float
    score: float
    interval: list[float]
    rows: int
    of: int


def mean_estimate(plan: LookPlan, scores: Scores, rows: int) -> MeanEstimate:
    """Estimate the mean from the first `rows` rows of each task and length."""
    means = []
    deviations: dict[str, dict[int, float]] = {}
    for (task, length), order in plan.order.items():
        values = _by_index(scores, plan.configs[task, length], order[:rows])
        means.append(values.mean())
        by_index = deviations.setdefault(task, {})
        for index, value in zip(order[:rows], values - values.mean(), strict=True):
            by_index[index] = by_index.get(index, 0.0) + float(value)
    squares = sum(value**2 for by_index in deviations.values() for value in by_index.values())
    extra = max(_EXTRA_DEVIATION * len(means), _MIN_EXTRA_DEVIATIONS)
    squares = squares * rows / max(rows - 1, 1) + extra
    error = math.sqrt(squares * (1 - rows / plan.rows)) / rows / len(means)
    score, half = 100 * float(np.mean(means)), 100 * _Z * error
    return MeanEstimate(
        half_width=half,
        score=score,
        interval=[max(0.0, score - half), min(100.0, score + half)],
        rows=rows,
        of=plan.rows,
    )


def looks(plan: LookPlan) -> list[int]:
    """Return after how many rows of each task and length to look."""
    first, step = MIN_ROWS_OVER_LENGTHS, LOOK_EVERY_OVER_LENGTHS
    if plan.is_at_one_length:
        first, step = MIN_ROWS, LOOK_EVERY
    return [*range(min(first, plan.rows), plan.rows, step), plan.rows]


def _by_index(scores: Scores, names: Sequence[str], indices: Sequence[int]) -> np.ndarray:
    """Return each row's mean over configurations; a missing row counts as wrong."""
    means = []
    for index in indices:
        means.append(np.mean([scores.get(name, {}).get(index, 0.0) for name in names]))
    return np.array(means)


def run_until(
    options: RunOptions,
    half_width: float,
    on_look: Callable[[MeanEstimate], None] = lambda _: None,
) -> RunSummary:
    """Run rows until the mean is known within ± `half_width` points (`ruler run --until`).

    The width is written to run.json before the first row, estimate.json and results.json after the
    last one. Raises RulerError as `run` does.
    """
    with open_waves(options, {"until": {"half_width": float(half_width)}}) as run:
        for rows in looks(run.plan):
            run.answer(rows)
            estimate = mean_estimate(run.plan, run.rows.scores, rows)
            on_look(estimate)
            if estimate["half_width"] <= half_width:
                break
        return run.store_results("estimate", estimate)
