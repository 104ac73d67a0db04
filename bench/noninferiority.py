"""How often `ruler compare --max-drop` errs: `python -m bench.noninferiority`.

Exact first: rows of one task that only B may lose, which makes the number of lost rows
binomial, for every limit of a grid from 0.2 to 20 points, with and without rows that only B gets
right. The share of repetitions in which the interval ends on the wrong side of the limit, at the
exact limit, should be at most 2.5 % at each end. Then simulated: 13 tasks whose losses all fall in
a few tasks, partial credit, and three lengths of the same questions. The plain paired interval
(Bonett and Price) is beside it. Ends with code 1 if any exact error is above 2.5 %, or any
simulated one above 3.2 % (2.5 % plus three standard errors of 4,000 runs).
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from scipy.stats import binom

from ruler_eval.score.intervals import (
    PairedMean,
    Stratum,
    noninferiority_interval,
    paired_interval,
    paired_mean,
)

GRID = np.linspace(0.002, 0.2, 100)
RUNS, TASKS = 4000, 13
Interval = Callable[[PairedMean], tuple[float, float]]


def exact_errors(interval: Interval, rows: int, limit: float, gained: float) -> tuple[float, float]:
    """Return the chances that the interval lies wholly below, and wholly above, the true drop."""
    lost = limit + gained
    below = above = 0.0
    gains = np.arange(rows + 1) if gained else np.array([0])
    for gain, chance in zip(gains, binom.pmf(gains, rows, gained), strict=True):
        if chance < 1e-9:
            continue
        for loss in range(rows - gain + 1):
            both = chance * binom.pmf(loss, rows - gain, lost / (1 - gained))
            if both < 1e-9:
                continue
            values = np.zeros(rows)
            values[:loss], values[rows - gain :] = 1.0, -1.0
            low, high = interval(paired_mean([Stratum.from_rows(values)]))
            below += both * (high < limit)
            above += both * (low > limit)
    return below, above


def few_tasks(rng: np.random.Generator, rows: int, limit: float) -> list[np.ndarray]:
    """Whole losses in three of the tasks only."""
    rates = np.where(np.arange(TASKS) % 5 == 0, limit * TASKS / 3, 0.0)
    return [(rng.random(rows) < rate).astype(float) for rate in rates]


def partial_credit(rng: np.random.Generator, rows: int, limit: float) -> list[np.ndarray]:
    """Four references a row, of which B loses one rarely, and A too."""
    lost = rng.binomial(4, limit + 0.01, (TASKS, rows)) / 4
    return list(lost - rng.binomial(4, 0.01, (TASKS, rows)) / 4)


def three_lengths(rng: np.random.Generator, rows: int, limit: float) -> list[np.ndarray]:
    """A row is the mean over three lengths, which lose it together in half of the cases."""
    common = rng.random((TASKS, rows)) < limit
    each = rng.random((3, TASKS, rows)) < limit
    together = rng.random((TASKS, rows)) < 0.5
    return list(np.where(together, common, each).mean(axis=0))


def simulated_errors(
    draw: Callable[[np.random.Generator, int, float], list[np.ndarray]], rows: int, limit: float
) -> list[float]:
    """Return the errors at both ends of the two intervals."""
    rng = np.random.default_rng(5)
    errors = np.zeros(4)
    for _ in range(RUNS):
        found = paired_mean([Stratum.from_rows(drops) for drops in draw(rng, rows, limit)])
        for place, interval in enumerate((paired_interval, noninferiority_interval)):
            low, high = interval(found)
            errors[2 * place : 2 * place + 2] += high < limit, low > limit
    return [*(100 * errors / RUNS)]


def main() -> None:
    """Print all errors; code 1 if one is above its limit."""
    good = True
    print("exact, worst over the limits   rows   plain below/above   with added rows below/above")
    for gained, sizes in ((0.0, (20, 50, 100, 200, 500)), (0.02, (50, 100))):
        for rows in sizes:
            worst = []
            for interval in (paired_interval, noninferiority_interval):
                both = np.array([exact_errors(interval, rows, d, gained) for d in GRID])
                worst += [*(100 * both.max(axis=0))]
            print(
                f"only B right in {100 * gained:.0f} %          {rows:5}   {worst[0]:6.2f} "
                f"{worst[1]:6.2f}       {worst[2]:6.2f} {worst[3]:6.2f}",
                flush=True,
            )
            good &= max(worst[2:]) <= 2.5
    print(f"simulated, {RUNS} runs      rows limit")
    for draw in (few_tasks, partial_credit, three_lengths):
        for rows in (10, 50, 200):
            for limit in (0.005, 0.02, 0.05):
                errors = simulated_errors(draw, rows, limit)
                shown = " ".join(f"{error:6.2f}" for error in errors)
                print(f"{draw.__name__:20} {rows:5} {100 * limit:5.1f}   {shown}", flush=True)
                good &= max(errors[2:]) <= 3.2
    sys.exit(not good)


if __name__ == "__main__":
    main()
