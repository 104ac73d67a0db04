"""The evidence that a mean drop is below or above a limit, looked at after every wave of rows.

    bets = Bets(0.02, of=6500)               # a limit of 2 points, 6,500 rows in all
    bets.add(wave)                           # differences A − B, −1 … 1, the same number a task
    bets.evidence()                          # (e that the drop is smaller, e that it is larger)

The rule. Let D be the difference A − B of a row, d the limit, both −1 … 1. Against "the mean drop
is d or more" one bets a share λ on every row, against "d or less" likewise:

    smaller:  the mean over λ of  Π (1 + λ/(1 − m) · (m − D))
    larger:   the mean over λ of  Π (1 + λ/(1 + m) · (D − m))        over all rows so far

A verdict is given where one of them reaches LEAST = 1/ALPHA. After the last row an interval at
ALPHA a side decides instead (sequential_test.py). m is what the rows of a wave drop by on average
if all N rows (`of`) drop by d: (N·d − the sum of D before the wave) / (N − the rows before it), not
beyond −1 … 1. The verdict is then about these N rows. Without `of` m is d itself, and the verdict
is about rows of which these are a sample.

The proof. Factors are 1 − λ > 0 at least, as D <= 1 and D >= −1. A wave holds k rows of each of T
tasks, drawn without replacement from those that are left, whose means are μ_1 … μ_T. Draws without
replacement are negatively associated, and the factors fall with D, so for q > 0 the expected
product of the wave's "smaller" factors is at most that of independent draws (Joag-Dev and
Proschan), Π (1 + q(m − μ_t))^k. By the inequality of arithmetic and geometric means this is (1 +
q(m − μ))^(kT) at most, μ the mean of μ_t; where the N rows drop by d or more, μ >= m, and it is 1
at most. So the product, and the mean over λ of such products, is a supermartingale that begins at
1, and by Ville's inequality the chance that it ever reaches 1/ALPHA is ALPHA at most, however often
one looks. "Larger" is the same with signs changed. For m = d and independent rows the same proof
holds without its second step. The last interval adds no error about these N rows, since it holds
their mean for sure; about other rows like them it adds ALPHA, as far as it holds
(tests/bench/bench_paired.py).

What it needs: complete waves with as many rows of every task (in the middle of one it does not
hold) in a random order. With `of` a task must stand at one length: of an index that was seen at
another length something is known already. About other rows than these N, of which these are a
sample, a verdict with `of` is not proved, and wrong too often if one looks until nearly all rows
are seen. The looks end at LOOKED_AT of them, where both errors stay below 3 % at the exact limit
(tests/bench/bench_decide.py). Nothing is said of one task, or of one length.

Sources: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (JRSS B
2024; arXiv:2010.09686), with fixed bets, and Confidence sequences for sampling without replacement
(arXiv:2006.04347); the mean over bets is the method of mixtures. Joag-Dev and Proschan, Negative
association of random variables (Annals of Statistics 1983).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ALPHA = 0.0125
"""Error a side of all looks together, and of the interval after the last row."""
LEAST = 1 / ALPHA
"""The evidence that is enough for a verdict."""
SHARES = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.95])
"""What is bet, as shares of the most that cannot lose everything."""


LOOKED_AT = 0.5
"""The share of all rows up to which is looked, before the last look at all."""
_END = 1 - 1e-9


class Bets:
    """The evidence against a drop of `limit` (−1 … 1) or more, and against one of it or less.

    Of one pair of runs, or of many at once (first axis). `of` rows are drawn from, each once.
    """

    def __init__(self, limit: float, of: int | None = None) -> None:
        self.limit, self.of = limit, of
        self._smaller, self._larger = np.zeros(len(SHARES)), np.zeros(len(SHARES))
        self._rows, self._sum = 0, np.array(0.0)

    def add(self, differences: np.ndarray) -> None:
        """Bet on the rows of one wave, (rows,) or (pairs, rows)."""
        rows = np.asarray(differences, dtype=float)
        mean = np.broadcast_to(self._mean(), rows.shape[:-1])[..., None, None]
        gains = mean - rows[..., None]
        self._smaller = self._smaller + np.log1p(SHARES / (1 - mean) * gains).sum(-2)
        self._larger = self._larger + np.log1p(-SHARES / (1 + mean) * gains).sum(-2)
        self._rows, self._sum = self._rows + rows.shape[-1], self._sum + rows.sum(-1)

    def _mean(self) -> np.ndarray:
        """The mean drop of the next wave, if the limit is the mean of all."""
        if self.of is None:
            return np.array(self.limit)
        left = (self.of * self.limit - self._sum) / (self.of - self._rows)
        return np.clip(left, -_END, _END)

    def evidence(self) -> tuple[np.ndarray, np.ndarray]:
        """(smaller, larger); where there is no row yet, 1 and 1. Capped at e^690."""
        logs = [np.logaddexp.reduce(side, axis=-1) for side in (self._smaller, self._larger)]
        smaller, larger = (np.exp(np.minimum(log - np.log(len(SHARES)), 690)) for log in logs)
        return smaller, larger


def anytime_bounds(waves: Sequence[np.ndarray], of: int | None = None) -> tuple[float, float]:
    """The limits that the waves so far leave open: at each side but ALPHA, ever.

    Evidence grows with the distance of the limit, so the bounds are found by bisection.
    """
    from scipy.optimize import brentq

    def against(limit: float, side: int) -> float:
        bets = Bets(limit, of)
        for wave in waves:
            bets.add(wave)
        return float(np.log(bets.evidence()[side])) - float(np.log(LEAST))

    def bound(side: int, end: float) -> float:
        beyond = against(end * _END, side) > 0
        return float(brentq(against, -_END, _END, args=(side,))) if beyond else end

    return bound(1, -1.0), bound(0, 1.0)
