"""The evidence that a mean drop is below or above a limit, looked at after every wave of rows.

    bets = Bets(0.02)                        # a limit of 2 points
    bets.add(wave)                           # differences A − B, −1 … 1, the same number a task
    bets.evidence()                          # (e that the drop is smaller, e that it is larger)

The rule. Let D be the difference A − B of a row, d the limit, both −1 … 1. Against "the mean drop
is d or more" one bets a share λ on every row, against "d or less" likewise:

    smaller:  the mean over λ of  Π (1 + λ/(1 − d) · (d − D))
    larger:   the mean over λ of  Π (1 + λ/(1 + d) · (D − d))        over all rows so far

A verdict is given where one of them reaches LEAST = 1/ALPHA. After the last row an interval at
ALPHA a side decides instead (sequential_test.py).

The proof. Factors are 1 − λ > 0 at least, as D <= 1 and D >= −1. Let a wave hold one row of each of
T tasks, with means μ_1 … μ_T given all rows before (a wave of more is so many in a row). For q > 0
the expected product of its "smaller" factors is Π (1 + q(d − μ_t)), which by the inequality of
arithmetic and geometric means is (1 + q(d − μ))^T at most, μ the mean of μ_t; where μ >= d that is
1 at most. So the product, and the mean over λ of such products, is a supermartingale that begins
at 1, and by Ville's inequality the chance that it ever reaches 1/ALPHA is ALPHA at most, however
often one looks. "Larger" is the same with signs changed. With the last look a side errs in ALPHA +
ALPHA = 2.5 % at most as far as that interval holds, whose coverage tests/bench/bench_paired.py
shows.

What it needs: complete waves with as many rows of every task (in the middle of one it does not
hold), and rows that are independent draws: an index twice, at two lengths, is not, and rows of qa
that ask about one document are so only nearly. Nothing is said of one task, or of one length.

Sources: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (JRSS B
2024; arXiv:2010.09686), with fixed bets; the mean over bets is the method of mixtures.
"""

from __future__ import annotations

import numpy as np

ALPHA = 0.0125
"""Error a side of all looks together, and of the interval after the last row."""
LEAST = 1 / ALPHA
"""The evidence that is enough for a verdict."""
SHARES = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.95])
"""What is bet, as shares of the most that cannot lose everything."""


class Bets:
    """The evidence against a drop of `limit` (−1 … 1) or more, and against one of it or less.

    Of one pair of runs, or of many at once (first axis).
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._smaller, self._larger = np.zeros(len(SHARES)), np.zeros(len(SHARES))

    def add(self, differences: np.ndarray) -> None:
        """Bet on the rows of one wave, (rows,) or (pairs, rows)."""
        gains = self.limit - np.asarray(differences, dtype=float)[..., None]
        self._smaller = self._smaller + np.log1p(SHARES / (1 - self.limit) * gains).sum(-2)
        self._larger = self._larger + np.log1p(-SHARES / (1 + self.limit) * gains).sum(-2)

    def evidence(self) -> tuple[np.ndarray, np.ndarray]:
        """(smaller, larger); where there is no row yet, 1 and 1. Capped at e^690."""
        logs = [np.logaddexp.reduce(side, axis=-1) for side in (self._smaller, self._larger)]
        smaller, larger = (np.exp(np.minimum(log - np.log(len(SHARES)), 690)) for log in logs)
        return smaller, larger


def anytime_bounds(differences: np.ndarray) -> tuple[float, float]:
    """The limits that so many rows of complete waves leave open: at each side but ALPHA, ever.

    Evidence grows with the distance of the limit, so the bounds are found by bisection.
    """
    from scipy.optimize import brentq

    def against(limit: float, side: int) -> float:
        bets = Bets(limit)
        bets.add(differences)
        return float(np.log(bets.evidence()[side])) - float(np.log(LEAST))

    mean, end = float(np.mean(differences)), 1 - 1e-9
    mean = min(max(mean, -end), end)
    low = brentq(against, -end, mean, args=(1,)) if against(-end, 1) > 0 else -1.0
    high = brentq(against, mean, end, args=(0,)) if against(end, 0) > 0 else 1.0
    return float(low), float(high)
