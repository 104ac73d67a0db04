"""Measure the intervals of `ruler run --until 1.0`: `python -m bench.until [PLACE …]`.

Simulated runs, then runs from the places, are replayed in random orders until the mean is known
within ± 1 point. Printed are how many rows that took, and in how many orders the interval covered
the mean of all rows. run_scores.py reads the runs from the places. If a model was run at three
lengths, these are replayed together, each from another place in the order, as `ruler run` does.
Exits with code 1 if a figure misses its limit.
"""

from __future__ import annotations

import sys

import numpy as np

from bench.run_scores import Run, by_lengths, run_scores
from ruler_common.text import end_if_unread
from ruler_eval.gate.plan import LookPlan
from ruler_eval.gate.until import looks, mean_estimate
from ruler_eval.score.results import Scores

ORDERS, HALF_WIDTH = 12, 1.0
MIN_COVERAGE = 0.89
"""Below 95 %, because the run stops by its own spread."""
SIMULATED = 100
"""Runs of each kind, each in ORDERS orders."""
MAX_ROWS = {1: 0.28, 3: 0.10}  # as a share of all rows, by the number of lengths


def stopped(plan: LookPlan, scores: Scores) -> tuple[float, bool]:
    """Return the share of rows it took, and whether the interval covers the mean."""
    truth = 100 * np.mean([np.mean([*by_row.values()]) for by_row in scores.values()])
    for rows in looks(plan):
        estimate = mean_estimate(plan, scores, rows)
        if estimate["half_width"] <= HALF_WIDTH:
            break
    low, high = estimate["interval"]
    return rows / plan.rows, low - 1e-9 <= truth <= high + 1e-9


def plan_in(rng: np.random.Generator, run: Run, lengths: tuple[str, ...]) -> LookPlan:
    """Return a random order for each task, in which each length begins a sixth later."""
    order, configs = {}, {}
    for task, scores in run.items():
        circle = [int(index) for index in rng.permutation(len(scores))]
        for number, length in enumerate(lengths):
            start = len(circle) * number // 6
            order[task, length] = circle[start:] + circle[:start]
            configs[task, length] = [f"{task}_{length}"]
    return LookPlan(order, configs)


def replay(runs: list[dict[str, Run]]) -> tuple[list[float], list[bool]]:
    """Return rows and coverage of runs, each by its lengths, in ORDERS orders."""
    shares, covers = [], []
    for number, run in enumerate(runs):
        rng = np.random.default_rng([number, len(run)])
        scores = {
            f"{task}_{length}": dict(enumerate(rows))
            for length, tasks in run.items()
            for task, rows in tasks.items()
        }
        for _ in range(ORDERS):
            plan = plan_in(rng, next(iter(run.values())), tuple(run))
            share, is_covered = stopped(plan, scores)
            shares.append(share)
            covers.append(is_covered)
    return shares, covers


def print_line(what: str, shares: list[float], covers: list[bool]) -> None:
    """Print a line of rows and coverage."""
    print(
        f"{what}, {len(covers)} replays: {100 * np.mean(shares):.1f} % of the rows, coverage "
        f"{100 * np.mean(covers):.1f} %",
        flush=True,
    )


def simulated() -> bool:
    """Print the figures of runs of 13 tasks of 500 rows, right or wrong, of three kinds."""
    kinds = {"all shares": (0.0, 1.0), "0.8 to 1": (0.8, 1.0), "0.99, or 0.5": (0.5, 0.99)}
    good = True
    for kind, (low, high) in kinds.items():
        rng = np.random.default_rng(5)
        runs = []
        for _ in range(SIMULATED):
            rates = rng.uniform(low, high, 13)
            if kind.endswith("0.5"):
                rates = np.where(rng.random(13) < 0.7, high, low)
            run = {f"task{i}": (rng.random(500) < rate) * 1.0 for i, rate in enumerate(rates)}
            runs.append({"4k": run})
        shares, covers = replay(runs)
        print_line(f"simulated, {kind}", shares, covers)
        good &= bool(np.mean(covers) >= MIN_COVERAGE)
    return good


def main() -> None:
    """Print rows and coverage; exit with code 1 if one misses its limit."""
    good = simulated()
    runs = run_scores(sys.argv[1:])
    single = [{"4k": run} for run in runs.values()]
    three = [{str(length): run for length, run in group.items()} for group in by_lengths(runs)]
    for lengths, chosen in ((1, single), (3, three)):
        if chosen:
            shares, covers = replay(chosen)
            print_line(f"{lengths} length(s), {len(chosen)} models and settings", shares, covers)
            good &= bool(np.mean(shares) <= MAX_ROWS[lengths])
            good &= bool(np.mean(covers) >= MIN_COVERAGE)
    sys.exit(not good)


if __name__ == "__main__":
    end_if_unread(main)
