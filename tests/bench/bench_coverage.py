"""How often intervals hold the true score: `python -m tests.bench.bench_coverage [TRIALS]`.

Scores of rows are drawn from distributions with a known mean: right or wrong; variable tracking
that fails whole (k of 5); common words, of which a beta-binomial number of 10 is found; four
values of which one is missed; means over 13 cells of different difficulty; and means over six
lengths of which rows lack. The normal interval (mean +- 1.96 standard errors) and Wilson's stand
beside ours. Paired differences: bench_paired.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from ruler_eval.score.intervals import interval, units

TRIALS = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
MEANS = (0.999, 0.995, 0.98, 0.9, 0.5, 0.05)
Draw = Callable[[np.random.Generator, float, int], np.ndarray]
Z = float(ndtri(0.975))


def right_or_wrong(rng: np.random.Generator, mean: float, rows: int) -> np.ndarray:
    """0 or 1."""
    return (rng.random(rows) < mean).astype(float)


def chain_lost(rng: np.random.Generator, mean: float, rows: int) -> np.ndarray:
    """All 5 names, or from a lost chain 0 to 4 of them."""
    lost = rng.random(rows) < (1 - mean) / 0.6
    return np.where(lost, rng.integers(0, 5, rows) / 5, 1.0)


def ten_words(rng: np.random.Generator, mean: float, rows: int) -> np.ndarray:
    """k of 10 words, rows of different difficulty."""
    return rng.binomial(10, rng.beta(4 * mean, 4 * (1 - mean), rows)) / 10


def one_of_four(rng: np.random.Generator, mean: float, rows: int) -> np.ndarray:
    """Half of the loss in rows that miss one value of four, half in rows that miss all."""
    gone = rng.random(rows) < (1 - mean) / 2
    slip = rng.random(rows) < 2 * (1 - mean) / (1 - (1 - mean) / 2)
    return np.where(gone, 0.0, np.where(slip, 0.75, 1.0))


def normal(values: np.ndarray) -> tuple[float, float]:
    """Mean +- 1.96 standard errors."""
    half = Z * values.std() / len(values) ** 0.5
    return values.mean() - half, values.mean() + half


def wilson(values: np.ndarray) -> tuple[float, float]:
    """Wilson's score interval, as if the mean were a proportion of right rows."""
    rows, mean = len(values), values.mean()
    middle = (mean + Z * Z / (2 * rows)) / (1 + Z * Z / rows)
    half = Z / (1 + Z * Z / rows) * (mean * (1 - mean) / rows + Z * Z / (4 * rows * rows)) ** 0.5
    return middle - half, middle + half


def ours(values: np.ndarray) -> tuple[float, float]:
    """The interval of results.json."""
    found = interval([values])
    assert found is not None
    return found


def cells(draw: Draw, means: tuple[float, ...]) -> None:
    """Coverage and mean width for one cell."""
    name = draw.__name__.replace("_", " ")
    for rows in (50, 500):
        for mean in means:
            rng = np.random.default_rng([rows, round(1000 * mean)])
            hits, widths = np.zeros(3), np.zeros(3)
            for _ in range(TRIALS):
                values = draw(rng, mean, rows)
                for column, method in enumerate((normal, wilson, ours)):
                    low, high = method(values)
                    hits[column] += low <= mean + 1e-12 and mean - 1e-12 <= high
                    widths[column] += high - low
            shown = (
                f"{100 * h:6.1f} {100 * w:6.2f}"
                for h, w in zip(hits / TRIALS, widths / TRIALS, strict=True)
            )
            print(f"{name:16} {rows:5} {100 * mean:7.1f}   " + "   ".join(shown))


def tables() -> None:
    """Coverage for the mean of 13 tasks, some at 100, some hard."""
    tasks = np.array([1, 1, 1, 1, 0.999, 0.998, 0.99, 0.98, 0.97, 0.9, 0.85, 0.6, 0.5])
    for rows in (50, 500):
        rng = np.random.default_rng(rows)
        for name, means in (("13 tasks", tasks), ("13 tasks near 100", 1 - (1 - tasks) / 50)):
            hits = width = 0.0
            for _ in range(TRIALS):
                found = interval([right_or_wrong(rng, mean, rows) for mean in means])
                assert found is not None
                hits += found[0] <= means.mean() <= found[1]
                width += found[1] - found[0]
            print(f"{name:18} {rows:5}   {100 * hits / TRIALS:6.1f} {100 * width / TRIALS:6.2f}")


def lacking_rows() -> None:
    """Coverage for a mean over six lengths whose 200 rows mostly agree, so many lacking at each."""
    for share in (0.0, 0.5, 0.9):
        for lacking in (0, 1, 20):
            rng, hits, width = np.random.default_rng(lacking), 0.0, 0.0
            for _ in range(TRIALS):
                base, values = right_or_wrong(rng, 0.6, 200), {}
                for length in range(6):
                    own = np.where(rng.random(200) < share, base, right_or_wrong(rng, 0.6, 200))
                    there = rng.permutation(200)[lacking:]
                    values[f"vt_{length}"] = {int(i): float(own[i]) for i in there}
                cells: Any = {name: {"task": "vt", "rows": {}} for name in values}
                low, high = interval(*units(values, cells)) or (0.0, 0.0)
                hits += low <= 0.6 <= high
                width += high - low
            print(
                f"{share:5.0%} {lacking:9}   {100 * hits / TRIALS:6.1f} {100 * width / TRIALS:6.2f}"
            )


def main() -> None:
    """Print coverage and mean width in percent: normal, Wilson, ours."""
    print(f"{TRIALS} trials; coverage % and width, in points")
    print("scores            rows    mean   normal          Wilson          ours")
    for draw, means in (
        (right_or_wrong, MEANS),
        (chain_lost, MEANS[:5]),
        (ten_words, MEANS),
        (one_of_four, MEANS[:4]),
    ):
        cells(draw, means)
    print("\nmeans over cells   rows   ours")
    tables()
    print("\nagree, lacking at each of six lengths   ours")
    lacking_rows()


if __name__ == "__main__":
    main()
