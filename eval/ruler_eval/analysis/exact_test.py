"""p of two models on the same rows: each row's difference might as well be the other way.

    mcnemar(6, 0)                                  # rows right or wrong: 0.03125, 2 of 64 ways
    signed_p(np.array([0.2, 0.2, -0.1, 0.0]))      # partial credit

p is the share of all ways to sign the differences whose sum is as far from 0 as the one seen. All
ways are counted (differences are multiples of a unit, such as a tenth for ten words), not drawn. Of
rows right or wrong this is McNemar's exact test. With partial credit two rows are added that differ
by all, one each way, as in the interval of paired.py: where one model misses a little often, and
the other much but rarely, few rows hold nothing of the latter, and without the two equal models are
told apart in up to 39 % of repetitions; with them in 5.5 % at most, by 10 to 500 rows
(tests/bench/bench_exact.py). The price is paid where rows are few: 2.5 points of ten words are seen
in 2 instead of 11 % of repetitions of 50 rows, in 76 instead of 79 % of those of 500.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_ADDED = 2
"""Rows added that differ by all, one each way."""
_MOST_UNITS = 2520
"""Of a whole row's score: the least common multiple of 1 to 10 references."""
_ROUNDING = 1e-6


def mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided exact p of McNemar's test, from the rows that only one of the two got right."""
    from scipy.special import bdtr

    total = only_a + only_b
    return min(1.0, 2 * float(bdtr(min(only_a, only_b), total, 0.5))) if total else 1.0


def signed_p(differences: np.ndarray) -> float | None:
    """Two-sided p of paired differences (−1 … 1); None where they are multiples of no unit."""
    units = _units(np.unique(abs(differences)))
    if units is None:
        return None
    whole = np.rint(differences * units).astype(int)
    sizes, times = np.unique([*abs(whole), *[units] * _ADDED], return_counts=True)
    most, seen = int(sizes @ times), abs(int(whole.sum()))
    if not seen:
        return 1.0
    # the chances of all sums are the inverse transform of the product of cosines
    turns = 2 * np.pi * np.arange(2 * most + 1) / (2 * most + 1)
    product = np.ones(2 * most + 1)
    for size, count in zip(sizes, times, strict=True):
        product *= np.cos(turns * size) ** count
    p = 2 * float(np.fft.ifft(product).real[seen : most + 1].sum())
    return min(1.0, max(p, 2.0 ** (1 - _ADDED - np.count_nonzero(whole))))


def _units(sizes: np.ndarray) -> int | None:
    """The fewest units of a whole row's score of which all sizes are multiples."""
    for units in range(1, _MOST_UNITS + 1):
        if (abs(sizes * units - np.rint(sizes * units)) < _ROUNDING).all():
            return units
    return None


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values adjusted for being so many (Holm, 1979), in their order."""
    order = np.argsort(p_values)
    scaled = np.array(p_values)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(scaled))
    return [float(p) for p in adjusted]
