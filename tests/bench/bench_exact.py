"""How often p tells models apart, equal ones too: `python -m tests.bench.bench_exact [TRIALS]`.

Partial credit by score/intervals.py. Two models that are equal on average answer the same rows;
the table has the percent of TRIALS in which p is below 0.05: first of differences that are as
likely one way as the other, then, "uneven", of a model that misses a little often and one that
misses much but rarely. Last, what is seen of a true difference. Ends with code 1 where equal models
seem to differ more often than 5 % by more than chance. 4,000 trials if left out.
"""

from __future__ import annotations

import sys

import numpy as np

from ruler_eval.score.intervals import signed_p
from tests.bench.bench_paired import TRIALS, Draw, chains, words

ROWS = (10, 20, 30, 50, 200, 500)
MOST = 0.05 + 3 * (0.05 * 0.95 / TRIALS) ** 0.5


def uneven(often: float, rarely: float) -> Draw:
    """A misses one word of ten so often; B all ten so rarely that it loses as much."""

    def draw(rng: np.random.Generator, rows: int) -> np.ndarray:
        a = np.where(rng.random((TRIALS, rows)) < often, 0.1, 0.0)
        return np.where(rng.random((TRIALS, rows)) < rarely, 1.0, 0.0) - a

    return draw


EQUAL: dict[str, Draw] = {
    "chains 2, 2 %": chains(0.02, 0.02),
    "chains 20, 20 %": chains(0.2, 0.2),
    "chains 60, 60 %": chains(0.6, 0.6),
    "ten words": words(0.0),
    "uneven 20, 2 %": uneven(0.2, 0.02),
    "uneven 50, 5 %": uneven(0.5, 0.05),
    "uneven 90, 9 %": uneven(0.9, 0.09),
}
DIFFERENT: dict[str, Draw] = {
    "chains 10, 20 %": chains(0.1, 0.2),
    "ten words +5 %": words(0.05),
}


def seen(draw: Draw, rows: int) -> float:
    """How often p is below 0.05."""
    drawn = draw(np.random.default_rng([11, rows]), rows)
    return float(np.mean([(p := signed_p(one)) is not None and p < 0.05 for one in drawn]))


def main() -> None:
    """Print the table; code 1 where equal models seem to differ too often."""
    print(f"{TRIALS} trials; % with p < 0.05")
    print(f"{'rows that differ':20}" + "".join(f"{rows:>7}" for rows in ROWS))
    good = True
    for name, draw in {**EQUAL, **DIFFERENT}.items():
        found = [seen(draw, rows) for rows in ROWS]
        print(f"{name:20}" + "".join(f"{100 * share:7.1f}" for share in found), flush=True)
        good &= name in DIFFERENT or max(found) <= MOST
    sys.exit(not good)


if __name__ == "__main__":
    main()
