"""How often an effective length's interval holds it: `python -m tests.bench.bench_effective`.

Models whose 13 tasks lose this number of points with each doubling of the length, from 4K to 128K;
the threshold is 85.6. Printed are the length that the true means give, how often the measured one
is it, and how often the true one lies within the interval, in percent. A number of trials may
follow: 1000 if left out.
"""

from __future__ import annotations

import sys

import numpy as np

from ruler_eval.score.aggregates import (
    effective_length,
    effective_length_interval,
    written,
)
from ruler_eval.score.intervals import percent

TRIALS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
LENGTHS = [4096 << i for i in range(6)]
THRESHOLD = 85.6
TASKS = np.array([1, 1, 1, 1, 0.999, 0.998, 0.99, 0.98, 0.97, 0.9, 0.85, 0.7, 0.6])


def main() -> None:
    """Print a line for each fall of the score and number of rows."""
    print(f"{TRIALS} trials; points a doubling, rows, true length, same, within the interval")
    for fall in (0.3, 1.0, 1.5, 1.85, 2.5, 5.0):
        truth = {n: np.clip(TASKS - i * fall / 100, 0, 1) for i, n in enumerate(LENGTHS)}
        means = {n: 100 * float(tasks.mean()) for n, tasks in truth.items()}
        true = effective_length(means, THRESHOLD) or 0
        for rows in (20, 50, 500):
            rng, same, within = np.random.default_rng([rows]), 0, 0
            for _ in range(TRIALS):
                found, ends = {}, {}
                for length, tasks in truth.items():
                    cells = [(rng.random(rows) < task).astype(float) for task in tasks]
                    found[length] = 100 * float(np.mean(cells))
                    ends[length] = percent(cells) or []
                low, high = effective_length_interval(ends, THRESHOLD) or (None, None)
                same += effective_length(found, THRESHOLD) == true
                within += (low or 0) <= true <= (high or 0)
            shares = f"{100 * same / TRIALS:6.1f} {100 * within / TRIALS:6.1f}"
            print(f"{fall:5.2f} {rows:5}  {written(true):>5} {shares}")


if __name__ == "__main__":
    main()
