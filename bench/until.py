"""Whether `ruler run --until 1.0` holds what it says: `python -m bench.until PLACE …`.

Runs are replayed in random orders until the mean is known within ± 1 point: how many rows that
took, and in how many orders the interval held the mean of all rows. Runs come from places that
run_scores.py reads. If a model was run at three lengths, these are replayed together, each
beginning elsewhere in the order, as `ruler run` does. Ends with code 1 if a figure misses its
limit.
"""

from __future__ import annotations

import sys

import numpy as np

from bench.run_scores import Run, by_lengths, run_scores
from ruler_eval.gate.plan import LookPlan
from ruler_eval.gate.until import MIN_ROWS, MIN_ROWS_OVER_LENGTHS, mean_estimate
from ruler_eval.score.results import Scores

ORDERS, HALF_WIDTH = 12, 1.0
LEAST_COVERAGE = 0.93
MOST_ROWS = {1: 0.28, 3: 0.10}
"""The share of rows that it may take, by the number of lengths."""


def stopped(plan: LookPlan, scores: Scores) -> tuple[float, bool]:
    """Return the share of rows it took, and whether the interval holds the mean."""
    rows = MIN_ROWS if plan.is_at_one_length else MIN_ROWS_OVER_LENGTHS
    truth = 100 * np.mean([np.mean([*mine.values()]) for mine in scores.values()])
    while (found := mean_estimate(plan, scores, rows))["half_width"] > HALF_WIDTH:
        rows = min(rows + plan.wave, plan.rows)
    low, high = found["interval"]
    return rows / plan.rows, low - 1e-9 <= truth <= high + 1e-9


def plan_in(rng: np.random.Generator, run: Run, lengths: tuple[str, ...]) -> LookPlan:
    """A random order for each task, of which each length begins a sixth later."""
    order, configs = {}, {}
    for task, scores in run.items():
        circle = [int(index) for index in rng.permutation(len(scores))]
        for number, length in enumerate(lengths):
            start = len(circle) * number // 6
            order[task, length] = circle[start:] + circle[:start]
            configs[task, length] = [f"{task}_{length}"]
    return LookPlan(order, configs)


def replayed(several: list[dict[str, Run]]) -> tuple[list[float], list[bool]]:
    """Rows and coverage of runs, each by its lengths, in ORDERS orders."""
    shares, holds = [], []
    for number, run in enumerate(several):
        rng = np.random.default_rng([number, len(run)])
        scores = {
            f"{task}_{length}": dict(enumerate(rows))
            for length, tasks in run.items()
            for task, rows in tasks.items()
        }
        for _ in range(ORDERS):
            share, held = stopped(plan_in(rng, next(iter(run.values())), tuple(run)), scores)
            shares.append(share)
            holds.append(held)
    return shares, holds


def shown(what: str, shares: list[float], holds: list[bool]) -> None:
    """A line of rows and coverage."""
    print(
        f"{what}, {len(holds)} replays: {100 * np.mean(shares):.1f} % of the rows, coverage "
        f"{100 * np.mean(holds):.1f} %",
        flush=True,
    )


def main() -> None:
    """Print rows and coverage; code 1 where one misses its limit."""
    runs = run_scores(sys.argv[1:])
    good = True
    one = [{"4k": run} for run in runs.values()]
    three = [{str(length): run for length, run in found.items()} for found in by_lengths(runs)]
    for lengths, several in ((1, one), (3, three)):
        if several:
            shares, holds = replayed(several)
            shown(f"{lengths} length(s), {len(several)} models and settings", shares, holds)
            good &= bool(np.mean(shares) <= MOST_ROWS[lengths])
            good &= bool(np.mean(holds) >= LEAST_COVERAGE)
    sys.exit(not good)


if __name__ == "__main__":
    main()
