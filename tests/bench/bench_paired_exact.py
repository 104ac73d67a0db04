"""How often intervals hold the difference of rows right or wrong: `… bench_paired_exact [PLACE …]`.

Exactly, over every outcome there can be: of ours and of others' intervals, where shares from 0 to
0.9 of the rows differ each way, and, where places are given that run_scores.py reads, where so many
do as in each task of all pairs of runs. A cell is "possible" where some set of outcomes has a
probability of 94 to 96 %: elsewhere no interval covers so much, whatever its rule. In most of these
others one outcome has more than 96 % ("one outcome"). Printed are percent, the width in points.
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import combinations

import numpy as np
from scipy.special import ndtri
from scipy.stats import multinomial

from ruler_eval.score.intervals import paired_interval, paired_mean
from tests.bench.run_scores import run_scores, same_rows

ROWS = (10, 15, 20, 25, 30, 50)
Z = float(ndtri(0.975))
Bounds = tuple[np.ndarray, np.ndarray]
SHARES = (0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)


def our_bounds(rows: int, up: np.ndarray, down: np.ndarray) -> Bounds:
    """Ours, where `up` of the rows are 1 and `down` are −1; one outcome an element."""
    whole = (
        np.repeat([1.0, -1.0, 0.0], [a, b, rows - a - b]) for a, b in zip(up, down, strict=True)
    )
    found = np.array([paired_interval(paired_mean([one])) for one in whole])
    return found[:, 0], found[:, 1]


def tango(rows: int, up: np.ndarray, down: np.ndarray) -> Bounds:
    """Tango's score interval (1998), by bisection."""

    def score(drop: np.ndarray) -> np.ndarray:
        half = -up - down + (2 * rows - up + down) * drop
        root = np.sqrt(np.maximum(half**2 + 8 * rows * down * drop * (1 - drop), 0))
        spread = rows * ((root - half) / (2 * rows) + drop * (1 - drop))
        return (up - down - rows * drop) / np.sqrt(np.maximum(spread, 1e-300))

    found = []
    for target in (Z, -Z):
        low, high = np.full(len(up), -1.0), np.full(len(up), 1.0)
        for _ in range(50):
            middle = (low + high) / 2
            above = score(middle) > target
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        found.append((low + high) / 2)
    return found[0], found[1]


def newcombe(rows: int, up: np.ndarray, down: np.ndarray) -> Bounds:
    """Wilson's intervals of the two shares, squared and added."""
    a, b = up / rows, down / rows
    low, high = [], []
    for share in (a, b):
        middle = (share + Z * Z / 2 / rows) / (1 + Z * Z / rows)
        half = (share * (1 - share) / rows + Z * Z / 4 / rows**2) ** 0.5 * Z / (1 + Z * Z / rows)
        low.append(middle - half)
        high.append(middle + half)
    spread = np.sqrt(a * (1 - a) * b * (1 - b))
    phi = np.where(spread > 0, -a * b / np.maximum(spread, 1e-12), 0)

    def distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(x**2 + y**2 - 2 * phi * x * y, 0))

    return a - b - distance(a - low[0], high[1] - b), a - b + distance(high[0] - a, b - low[1])


def dirichlet(rows: int, up: np.ndarray, down: np.ndarray) -> Bounds:
    """The equal-tailed interval of Jeffreys' prior, from 2,000 draws."""
    drawn, found = np.random.default_rng(0), []
    for a, b in zip(up, down, strict=True):
        shares = drawn.dirichlet((a + 0.5, b + 0.5, rows - a - b + 0.5), 2000)
        found.append(np.quantile(shares[:, 0] - shares[:, 1], (0.025, 0.975)))
    return np.array(found)[:, 0], np.array(found)[:, 1]


def possible(chances: np.ndarray) -> bool:
    """Whether some set of outcomes with these chances is left out with 4 to 6 %, exactly."""
    few = chances[chances <= 0.06]
    large, rest = few[few > 0.02], float(few[few <= 0.02].sum())  # `rest` in steps of 0.02 at most
    sums = [0.0, *large, *(a + b for a, b in combinations(large, 2))]  # three are above 0.06
    return any(one <= 0.06 and one + rest >= 0.04 for one in sums)


def exact(name: str, cells: Counter[tuple[float, float]]) -> None:
    """Coverage of each method at cells: shares of the rows that differ each way, and how often."""
    weights = np.array([*cells.values()]) / cells.total()
    print(f"\n{name}\n{'of all cells':>42}   {'of the possible ones':>24}")
    print(
        "rows  one outcome  possible  interval    covered  below 94  width   covered  within 95 ± 1"
    )
    for rows in ROWS:
        up, down = (each.ravel() for each in np.indices((rows + 1, rows + 1)))
        up, down = up[up + down <= rows], down[up + down <= rows]
        counts = np.stack([up, down, rows - up - down], axis=1)
        chances = [multinomial.pmf(counts, rows, (a, b, max(0, 1 - a - b))) for a, b in cells]
        one = 100 * weights[[bool(of.max() > 0.96) for of in chances]].sum()
        can = np.array([possible(of) for of in chances])
        share = 100 * weights[can].sum()
        there = weights[can] / weights[can].sum()
        for method in (our_bounds, tango, newcombe, dirichlet):
            low, high = method(rows, up, down)
            held = np.array(
                [
                    100 * of @ ((low <= a - b + 1e-9) & (a - b - 1e-9 <= high))
                    for (a, b), of in zip(cells, chances, strict=True)
                ]
            )
            width = 100 * weights @ [of @ (high - low) for of in chances]
            below, near = weights[held < 94].sum(), there[abs(held[can] - 95) <= 1].sum()
            print(
                f"{rows:4} {one:12.0f} {share:9.0f}  {method.__name__:10} {weights @ held:8.1f}"
                f"{100 * below:10.1f} {width:6.1f} {there @ held[can]:9.1f} {100 * near:14.0f}",
                flush=True,
            )


def real_cells(places: list[str]) -> Counter[tuple[float, float]]:
    """The shares of rows that differ each way, of every task whose rows are right or wrong."""
    runs, found = run_scores(places), Counter[tuple[float, float]]()
    for a, b in combinations(runs, 2):
        for task in runs[a] if same_rows(a, b) and runs[a].keys() == runs[b].keys() else ():
            if all(np.isin(runs[run][task], (0, 1)).all() for run in (a, b)):
                drop = runs[a][task] - runs[b][task]
                found[float((drop > 0).mean()), float((drop < 0).mean())] += 1
    return found


def main() -> None:
    """Print coverage and width of each interval."""
    grid = Counter((a, b) for a in SHARES for b in SHARES if b <= a and 0 < a + b <= 1)
    exact("shares from 0 to 0.9 of the rows differ each way", grid)
    if sys.argv[1:]:
        exact("tasks of pairs of runs", real_cells(sys.argv[1:]))


if __name__ == "__main__":
    main()
