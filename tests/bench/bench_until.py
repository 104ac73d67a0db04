"""Whether `ruler run --until 1.0` holds what it says: `python -m tests.bench.bench_until NPZ`.

Runs are replayed in random orders until the mean is known within ± 1 point: how many rows that
took, and in how many orders the interval held the mean of all rows. Runs come from a file of row
scores (arrays `run|task`, 0 … 1); three lengths are simulated, each run standing for 4k and worse
copies of it for 8k and 16k, in which the same rows fail first. With --beside the run beside is
another of the same model, changed in its cache: every pair whose names begin alike. Ends with code
1 if a figure misses its limit.
"""

from __future__ import annotations

import sys
from itertools import permutations

import numpy as np

from ruler_eval.analysis.sequential.mean_estimate import (
    FEWEST,
    FEWEST_OVER_LENGTHS,
    mean_estimate,
)
from ruler_eval.analysis.sequential.sequential_test import LookPlan, Scores

ORDERS, HALF_WIDTH = 12, 1.0
Run = dict[str, np.ndarray]


def stopped(plan: LookPlan, scores: Scores, base: Scores | None = None) -> tuple[float, bool]:
    """The share of rows it took, and whether the interval holds the mean; `base` stands beside."""
    several = len({length for _, length in plan.order}) > 1
    rows = FEWEST_OVER_LENGTHS if several else FEWEST
    truth = 100 * np.mean([np.mean([*mine.values()]) for mine in scores.values()])
    while (found := mean_estimate(plan, scores, rows, base))["half_width"] > HALF_WIDTH:
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


def beside(runs: dict[str, Run], lengths: tuple[str, ...]) -> tuple[list[float], list[bool]]:
    """Rows and coverage of runs with another one of their model beside them.

    All pairs at one length; over several, whose estimate takes longer, every fourth.
    """
    shares, holds = [], []
    step = 1 if len(lengths) == 1 else 4
    for number, (name, other) in enumerate([*permutations(runs, 2)][::step]):
        if name.split("__")[:4] != other.split("__")[:4] or runs[name].keys() != runs[other].keys():
            continue
        rng = np.random.default_rng([number, len(lengths)])
        lost = {task: rng.random((len(lengths), len(rows))) for task, rows in runs[name].items()}
        both: list[Scores] = [
            {
                f"{task}_{length}": dict(
                    enumerate(np.where(lost[task][place] < 0.05 * place, 0.0, rows))
                )
                for task, rows in runs[one].items()
                for place, length in enumerate(lengths)
            }
            for one in (name, other)
        ]
        share, held = stopped(plan_in(rng, runs[name], lengths), *both)
        shares.append(share)
        holds.append(held)
    return shares, holds


def worse(rng: np.random.Generator, scores: np.ndarray, by: float) -> np.ndarray:
    """The same rows at a greater length: what was wrong stays so, a share is lost."""
    return np.where(rng.random(len(scores)) < by, 0.0, scores)


def main() -> None:
    """Print rows and coverage; code 1 where one misses its limit."""
    runs: dict[str, Run] = {}
    with np.load(sys.argv[1]) as file:
        for key in file.files:
            name, _, task = key.rpartition("|")
            runs.setdefault(name, {})[task] = file[key].astype(float)
    good = True
    if sys.argv[2:] == ["--beside"]:
        for lengths in (("4k",), ("4k", "8k", "16k")):
            shares, holds = beside(runs, lengths)
            print(
                f"{len(lengths)} length(s), a run beside, {len(holds)} pairs: "
                f"{100 * np.mean(shares):.1f} % of the rows, coverage {100 * np.mean(holds):.1f} %",
                flush=True,
            )
            good &= bool(np.mean(holds) >= 0.93)
        sys.exit(not good)
    for lengths, most in ((("4k",), 0.28), (("4k", "8k", "16k"), 0.10)):
        shares, holds = [], []
        for number, run in enumerate(runs.values()):
            rng = np.random.default_rng([number, len(lengths)])
            scores = {
                f"{task}_{length}": dict(enumerate(worse(rng, rows, 0.05 * place)))
                for task, rows in run.items()
                for place, length in enumerate(lengths)
            }
            for _ in range(ORDERS):
                share, held = stopped(plan_in(rng, run, lengths), scores)
                shares.append(share)
                holds.append(held)
        print(
            f"{len(lengths)} length(s), {len(holds)} replays: {100 * np.mean(shares):.1f} % of the "
            f"rows, coverage {100 * np.mean(holds):.1f} %",
            flush=True,
        )
        good &= bool(np.mean(shares) <= most and np.mean(holds) >= 0.93)
    sys.exit(not good)


if __name__ == "__main__":
    main()
