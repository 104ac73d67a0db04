"""The evidence that a mean drop is below or above a limit, looked at as often as one likes.

    smaller, larger = evidence(rows, 0.02, of=6500)   # a limit of 2 points, 6,500 rows in all
    smaller[-1] >= THRESHOLD                          # surely less, by the rows so far

`rows` are differences A − B, −1 … 1: steps in the first axis, each a row of every task.

The rule. Let D be the difference A − B of a row, d the limit. Against "the mean drop is d or more"
one bets a share λ on every row, against "d or less" likewise:

    smaller:  the mean over λ of  Π (1 + λ/(1 − m) · (m − D))
    larger:   the mean over λ of  Π (1 + λ/(1 + m) · (D − m))        over all rows so far

A verdict is given if one of them has reached THRESHOLD = 1/ALPHA after some step. After the last
row an interval at ALPHA_LAST a side decides instead (decide.py). m is what the rows of a step drop
by on average if all N rows (`of`) drop by d: (N·d − the sum of D before) / (N − the rows before),
not beyond −1 … 1. The verdict is then about these N rows. Without `of` m is d itself, and the
verdict is about rows of which these are a sample. The bets are BET_FRACTIONS, their mean is
weighted by WEIGHTS: a smaller share than 0.05 gains too little within any number of rows that are
run, and the more shares, the more evidence is lost to those that do not fit.

The proof. Factors are 1 − λ > 0 at least, as D <= 1 and D >= −1. In a step one row of each of T
tasks is drawn from those that are left, each task's independently of the others'; what is left of
them has the means μ_1 … μ_T. With q = λ/(1 − m) the expected product of the step's "smaller"
factors, given all that was seen, is Π_t (1 + q(m − μ_t)), which is (1 + q(m − μ))^T at most by the
inequality of arithmetic and geometric means, μ the mean of μ_t. Where the N rows drop by d or more,
μ >= m, and it is 1 at most. So the product, and the weighted mean over λ of such products, is a
supermartingale that begins at 1, and by Ville's inequality the chance that it ever reaches 1/ALPHA
is ALPHA at most, however often one looks: a look between two waves sees the highest evidence of
all steps before it. "Larger" is the same with signs changed. For m = d and independent rows the
same proof holds. The last interval adds no error about these N rows, since it holds their mean for
sure; about other rows like them it adds ALPHA_LAST, as far as it holds (see
tests/bench/bench_paired.py).

What it needs: complete steps, in which every task has a row, in a random order. With `of` a task
must stand at one length: of an index that was seen at another length something is known already.
About other rows than these N, of which these are a sample, a verdict with `of` is not proved, and
wrong too often if one looks until nearly all rows are seen. The looks end at LOOKED_AT of them,
where both errors stay at 3 % at the exact limit (tests/bench/bench_decide.py). Nothing is said of
one task, or of one length.

What was tried and left, replayed on 584 pairs of runs at a limit of 1 point: a mean m for each task
from its rows so far saves nothing; eight shares from 0.01 on take a tenth more rows, ten new rows
of a task between two looks instead of five 5 to 8 % more. The best single share of each pair,
chosen with hindsight, would take a quarter less.

Sources: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (JRSS B
2024; arXiv:2010.09686), with fixed bets, and Confidence sequences for sampling without replacement
(arXiv:2006.04347); the mean over bets is the method of mixtures.
"""

from __future__ import annotations

import numpy as np

ALPHA, ALPHA_LAST = 0.0175, 0.0075
"""Error a side of all looks together, and of the interval after the last row."""
THRESHOLD = 1 / ALPHA
"""The evidence that is enough for a verdict."""
BET_FRACTIONS = np.array([0.05, 0.2, 0.5, 0.95])
"""What is bet, as shares of the most that cannot lose everything."""
WEIGHTS = np.array([0.1, 0.3, 0.3, 0.3])
LOOKED_AT = 0.4
"""The share of all rows up to which is looked, before the last look at all."""
LOOK_EVERY = 5
"""New rows of each task and length between two looks, at most."""
_END = 1 - 1e-9
_MAX_LOG = 690.0  # e^690 is a finite number


def evidence(
    rows: np.ndarray, limit: float, of: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The highest evidence so far after each step that the drop is smaller, and that it is larger.

    `rows` is (steps, tasks), or (pairs, steps, tasks) for many pairs of runs at once; what is
    returned lacks the last axis. `limit` is −1 … 1, `of` the rows that are drawn from, each once.
    """
    rows = np.asarray(rows, dtype=float)
    mean = np.full(rows.shape[:-1], limit)
    if of is not None:
        sums = rows.sum(-1)
        before = np.arange(rows.shape[-2]) * rows.shape[-1]
        left = (of * limit - (np.cumsum(sums, axis=-1) - sums)) / (of - before)
        mean = np.clip(left, -_END, _END)
    gains, found = mean[..., None] - rows, []
    for most in (1 / (1 - mean), -1 / (1 + mean)):
        bets = [
            np.log(weight) + np.log1p(share * most[..., None] * gains).sum(-1).cumsum(-1)
            for share, weight in zip(BET_FRACTIONS, WEIGHTS, strict=True)
        ]
        logs = np.minimum(np.logaddexp.reduce(bets), _MAX_LOG)
        found.append(np.exp(np.maximum.accumulate(logs, axis=-1)))
    return found[0], found[1]


def anytime_bounds(rows: np.ndarray, of: int | None = None) -> tuple[float, float]:
    """The limits that the rows so far leave open: at each side but ALPHA, ever.

    Evidence grows with the distance of the limit, so the bounds are found by bisection.
    """
    from scipy.optimize import brentq

    def against(limit: float, side: int) -> float:
        return float(np.log(evidence(rows, limit, of)[side][-1] / THRESHOLD))

    def bound(side: int, end: float) -> float:
        beyond = against(end * _END, side) > 0
        return float(brentq(against, -_END, _END, args=(side,))) if beyond else end

    return bound(1, -1.0), bound(0, 1.0)
