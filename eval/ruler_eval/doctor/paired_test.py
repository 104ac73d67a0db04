"""The statistical tests of a verdict: an exact test of pairs, and one valid at every look.

    pair_p([1.0] * 12 + [-1.0], complete=True)       # before Holm's adjustment

A pair counts if its two scores differ. If a condition changes nothing, A is better as often as B,
whatever the rows are and however noisy the engine is: this is McNemar's exact test. Both directions
are tested, "B is worse" with B_WORSE of the error and "A is worse" with A_WORSE. After every wave
of rows a betting test, which is valid however often it is applied (ruler_eval/gate/betting.py), may
end the examination early. A condition's p is the smaller of the betting test's p / EARLY_SHARE and,
after the last row, the exact p / LAST_SHARE. A condition that is not significant but suspect is
tested again on fresh rows alone, with FRESH_SHARE of the error; the planned rows have
PLANNED_SHARE. All these shares add up to 1, so the probability that any of the p values is <= x is
at most x.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ruler_eval.gate.betting import evidence
from ruler_eval.score.intervals import POWER

ALPHA = 0.05
"""The maximum probability that a sound engine is called broken, over all conditions."""
EARLY_SHARE, LAST_SHARE = 0.2, 0.8
"""The shares of ALPHA for looks before the last row, and for the exact test after it."""
B_WORSE, A_WORSE = 0.8, 0.2
"""The shares of ALPHA for the two directions of a condition."""
PLANNED_SHARE, FRESH_SHARE = 0.8, 0.2
"""The shares of ALPHA for the planned rows, and for fresh rows of suspect conditions."""
SUSPECT = 0.05
"""At this unadjusted one-sided p or below it, nothing is called sound."""


def anytime_p(values: Sequence[float], limit: float) -> tuple[float, float]:
    """Return two p values of "the mean is `limit`" that are valid at every look.

    The first is small if the mean is larger than the limit, the second if it is smaller.
    """
    if not values:
        return 1.0, 1.0
    smaller, larger = evidence(np.array(values, dtype=float)[:, None], limit)
    return 1 / float(larger[-1]), 1 / float(smaller[-1])


def exact_p(fewer: int, more: int) -> float:
    """Return the one-sided p of McNemar's exact test that `more` exceeds `fewer` by chance."""
    from scipy.special import bdtr

    return float(bdtr(fewer, fewer + more, 0.5)) if fewer + more else 1.0


def pair_p(signs: list[float], complete: bool) -> float:
    """Return the p of "neither side is better", in both directions and over all looks.

    Args:
        signs: 1 for a pair in which A is better, −1 if B is, else 0; in the order of the rows.
        complete: Whether these are all planned pairs, so that the exact test applies.
    """
    b_worse, a_worse = anytime_p(signs, 0.0)
    p = min(b_worse / B_WORSE, a_worse / A_WORSE) / EARLY_SHARE / PLANNED_SHARE
    if complete:
        only_a, only_b = signs.count(1.0), signs.count(-1.0)
        b_worse, a_worse = exact_p(only_b, only_a), exact_p(only_a, only_b)
        p = min(p, min(b_worse / B_WORSE, a_worse / A_WORSE) / LAST_SHARE / PLANNED_SHARE)
    return min(1.0, p)


@lru_cache(maxsize=1024)
def smallest_loss(rows: int, differing: int, tests: int) -> float:
    """Return the loss, in points, that an examination like this one detects with probability POWER.

    The test is the exact one of "B is worse" after the last row, at Holm's first step.

    Args:
        rows: Pairs of answers.
        differing: Pairs that differ by noise, half of them in each direction.
        tests: The number of conditions that are tested.
    """
    from scipy.stats import binom

    if not rows:
        return 100.0
    counts = np.arange(rows + 1)
    total = counts[:, None] + counts[None, :]
    p_values = binom.cdf(counts[None, :], np.maximum(total, 1), 0.5)
    detected = (p_values <= ALPHA * PLANNED_SHARE * LAST_SHARE * B_WORSE / tests) & (total > 0)
    noise = differing / 2 / rows
    by_noise = binom.pmf(counts, rows, noise)

    def power(loss: float) -> float:
        lost = binom.pmf(counts, rows, min(1.0, noise + loss))
        return float(lost @ detected @ by_noise)

    if power(1.0) < POWER:
        return 100.0
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        if power(middle) >= POWER:
            high = middle
        else:
            low = middle
    return 100 * high
