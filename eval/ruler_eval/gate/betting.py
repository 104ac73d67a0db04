"""Test whether a mean drop is smaller or larger than a margin, however often one looks.

    smaller, larger = evidence(drops, 0.02, of=6500)  # a margin of 2 points, 6,500 rows in all
    smaller[-1] >= THRESHOLD                          # over all 6,500 rows the drop is smaller

`drops` are row differences A − B in −1 … 1. The first axis is steps; each step holds one row of
every stratum (a task at a length).

The rule. Let D be the difference A − B of a row, d the margin, N = `of` the number of rows in all
strata together. There are two bets, each a fraction λ of the largest bet that cannot lose
everything:

    against "all N rows drop by d or more":  the mean over λ of  Π (1 + λ/(1 − m) · (m − D))
    against "all N rows drop by d or less":  the mean over λ of  Π (1 + λ/(1 + m) · (D − m))

m is the mean drop of the remaining rows if all N rows drop by exactly d:
(N·d − the sum of D before this step) / (N − the rows before this step), clipped to −1 … 1. The
verdict is reached as soon as one of the two products reaches THRESHOLD = 1/ALPHA. Without `of`, m
is d, the rows are a sample, and the verdict is about the distribution they come from. λ takes the
values BET_FRACTIONS with WEIGHTS.

The proof. No factor is below 1 − λ > 0, because −1 <= D <= 1. The rows of each stratum come in a
random order that is independent of the other strata's orders. Given everything seen so far, the
next row of stratum t is therefore drawn uniformly from its remaining rows, whose mean is μ_t, and
the strata are drawn independently. With q = λ/(1 − m), the expected product of one step's factors
is Π_t (1 + q(m − μ_t)), which is at most (1 + q(m − μ))^T by the inequality of arithmetic and
geometric means, where μ is the mean of the T values μ_t. If all N rows drop by d or more, then
μ >= m and the expectation is at most 1. So the product, and the weighted mean over λ of such
products, is a nonnegative supermartingale that begins at 1. By Ville's inequality the chance that
it ever reaches 1/ALPHA is at most ALPHA, however often the rows are looked at. The proof for the
other side is the same with signs reversed. After the last row the drop over all N rows is known,
and the verdict is exact.

In this argument the row scores are fixed numbers and only the order is random. So rows may depend
on each other in any way: the same question at several lengths, several questions about one
document, several languages averaged into one row.

Assumptions:

- The order is random and has nothing to do with how hard the rows are (plan.py: a hash).
- Every stratum has the same number of rows, and a look sees complete steps.
- Answers do not depend on when they are requested. If the server gets worse during the run, early
  rows say nothing about later ones, and the verdict can be wrong more often than ALPHA.
- The candidate was not chosen by its scores on the rows that come first. The order differs from
  that of `--limit`, so picking the best of several candidates with `--limit` does no harm.

The verdict is not about single tasks or lengths. For other rows like these (another sample of the
benchmark), use `anytime_bounds` without `of`. Its coverage is proved if rows are independent, as
they are at one length if no two are about the same document. If each row is one of k that depend
on each other (the same question at L lengths; the questions about one document), pass
`independence`: after n of N rows of each stratum, a share n/N of the others has been seen, so that
up to 1 + (k − 1)n/N rows count as one, and the logarithm of the evidence is divided by that number.
This is not proved (bench/decide.py measures it).

Single strata are tested in the same way, each with its own rows. If k of them are, THRESHOLD is k
times as high, so that the chance that any of the k verdicts is wrong is at most ALPHA on each side.

Sources: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (JRSS B
2024; arXiv:2010.09686), and Confidence sequences for sampling without replacement
(arXiv:2006.04347); averaging over bets is the method of mixtures.
"""

from __future__ import annotations

import numpy as np

ALPHA = 0.025
"""The maximum probability of a wrong verdict, on each side."""
THRESHOLD = 1 / ALPHA
"""The evidence at which a verdict is reached."""
BET_FRACTIONS = np.array([0.05, 0.2, 0.5, 0.95])
"""The bets, as fractions of the largest bet that cannot lose everything. Smaller ones gain too
little within the rows of a release, and each additional one dilutes the others."""
WEIGHTS = np.array([0.1, 0.3, 0.3, 0.3])
_END = 1 - 1e-9
_MAX_LOG = 690.0  # e^690 is a finite number


def evidence(
    drops: np.ndarray, margin: float, of: int | None = None, independence: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return, after each step, the highest evidence so far for a smaller and for a larger drop.

    Args:
        drops: Row differences A − B in −1 … 1, of shape (steps, strata), or
            (pairs, steps, strata) for many pairs of runs at once.
        margin: The margin in −1 … 1.
        of: The number of rows, over all strata, that the steps are drawn from without replacement;
            None if they are a sample.
        independence: For each step, the share of the rows so far that count as independent; None
            for all of them.

    Returns:
        Two arrays of shape (steps,) or (pairs, steps).
    """
    drops = np.asarray(drops, dtype=float)
    mean = np.full(drops.shape[:-1], margin)
    if of is not None:
        sums = drops.sum(-1)
        rows_before = np.arange(drops.shape[-2]) * drops.shape[-1]
        sum_before = np.cumsum(sums, axis=-1) - sums
        mean = np.clip((of * margin - sum_before) / (of - rows_before), -_END, _END)
    gains = mean[..., None] - drops
    share = np.ones(drops.shape[-2]) if independence is None else independence
    smaller = _best_mixture(gains, 1 / (1 - mean), share)
    larger = _best_mixture(gains, -1 / (1 + mean), share)
    return smaller, larger


def _best_mixture(
    gains: np.ndarray, largest_bet: np.ndarray, independence: np.ndarray
) -> np.ndarray:
    """Return the highest weighted mean over bets so far of the products of 1 + bet · gain."""
    log_products = []
    for fraction, weight in zip(BET_FRACTIONS, WEIGHTS, strict=True):
        bet = fraction * largest_bet[..., None]
        log_of_step = np.log1p(bet * gains).sum(axis=-1)
        log_products.append(np.log(weight) + independence * log_of_step.cumsum(axis=-1))
    mixture = np.minimum(np.logaddexp.reduce(log_products), _MAX_LOG)
    best: np.ndarray = np.exp(np.maximum.accumulate(mixture, axis=-1))
    return best


def independence_of_rows(steps: int, alike: float, rows: int) -> np.ndarray:
    """Return for each step the share of the rows so far that count as independent.

    Args:
        steps: The steps so far.
        alike: How many rows depend on each other: lengths, times the rows about a document.
        rows: The rows of each stratum.
    """
    seen = np.arange(1, steps + 1) / rows
    return 1 / (1 + (alike - 1) * seen)


def anytime_bounds(
    drops: np.ndarray,
    of: int | None = None,
    alpha: float = ALPHA,
    independence: np.ndarray | None = None,
) -> tuple[float, float]:
    """Return a confidence interval of the mean drop: the margins that are not yet decided.

    Each end misses with a probability of at most `alpha`, however often the interval is computed.
    The evidence grows with the distance of the margin, so the ends are found by root search.
    """
    from scipy.optimize import brentq

    def log_evidence(margin: float, side: int) -> float:
        smaller, larger = evidence(drops, margin, of, independence)
        last = (larger if side else smaller)[-1]
        return float(np.log(last * alpha))

    def bound(side: int, end: float) -> float:
        is_ruled_out = log_evidence(end * _END, side) > 0
        return float(brentq(log_evidence, -_END, _END, args=(side,))) if is_ruled_out else end

    return bound(1, -1.0), bound(0, 1.0)
