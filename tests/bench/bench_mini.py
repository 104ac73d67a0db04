"""How far mini releases' scores lie from those of all rows: `python -m tests.bench.bench_mini NPZ`.

Runs that have all tasks (arrays `run|task`, scores 0 … 1) are replayed with the rows of a mini
release: the first MINI_ROWS of ORDERS random orders, and of the frozen order at the six lengths.
Printed is the error that 95 % of the scores stay within, in points: of one task, and of the mean
over all tasks at one length. Ends with code 1 where MINI_ERROR is less than was measured.
"""

from __future__ import annotations

import sys

import numpy as np

from ruler_common.names import LENGTHS
from ruler_common.rows import MINI_ROWS, row_order
from ruler_eval.report.mini_error import MINI_ERROR, TASKS_MEASURED
from tests.bench.run_scores import Run, run_scores

ORDERS, VERSION = 200, "1.0.0"


def errors(runs: dict[str, Run], orders: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mini less whole, in points: (runs, tasks, orders), and the mean over tasks."""
    by_task = np.array(
        [
            [100 * (rows[orders[task]].mean(1) - rows.mean()) for task, rows in run.items()]
            for run in runs.values()
        ]
    )
    return by_task, by_task.mean(1)


def main() -> None:
    """Print errors; code 1 where the figure that scores are shown with is too small."""
    every = run_scores(sys.argv[1:])
    runs = {name: run for name, run in every.items() if len(run) == TASKS_MEASURED}
    rng, names = np.random.default_rng(7), LENGTHS["ruler"]
    sizes = {task: len(rows) for run in runs.values() for task, rows in run.items()}
    random = {
        task: np.array([rng.permutation(n)[:MINI_ROWS] for _ in range(ORDERS)])
        for task, n in sizes.items()
    }
    frozen = {
        task: np.array([row_order(VERSION, "ruler", task, name, n)[:MINI_ROWS] for name in names])
        for task, n in sizes.items()
    }
    good = True
    for kind, orders in (("random orders", random), ("the frozen order", frozen)):
        by_task, means = errors(runs, orders)
        task, mean = (float(np.quantile(abs(some), 0.95)) for some in (by_task, means))
        worst = np.quantile(abs(means), 0.95, axis=1).max()
        print(
            f"{kind}: {means.size} scores of {len(runs)} runs, 95 % within ± {mean:.2f} points (of "
            f"one task ± {task:.1f}), worst run ± {worst:.2f}; mean error {means.mean():+.2f}"
        )
        if orders is random:
            good = mean <= MINI_ERROR["mean"] + 0.05 and task <= MINI_ERROR["task"] + 0.05
    sys.exit(not good)


if __name__ == "__main__":
    main()
