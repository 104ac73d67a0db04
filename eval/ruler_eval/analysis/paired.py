"""The interval of a mean of paired differences: two models, or two settings, on the same rows.

    bounds(paired_mean([np.array([0, 1, 0, -1, …])]))      # (low, high), −1 … 1

A row is added each way, in which only one of the two is right, and the normal interval of all is
taken: Bonett and Price's (2012) for the difference of paired proportions. The plain interval, with
quantiles of Student's t or by the bootstrap, covers 40 to 90 % where few of 10 to 50 rows differ,
because nothing that was observed tells of the rows that were not (tests/bench/bench_paired.py);
this one 95 % or more: of 20 to 30 rows 94.6 to 96.3 % where 40 to 80 % of them differ, up to 100 %
where a tenth does. So few rows can differ in few ways: in seven to nine of ten tasks of real pairs
no set of outcomes has a probability of 94 to 96 %, so that no interval, whatever its rule, covers
so much. Elsewhere Tango's, Newcombe's and Jeffreys' come nearer to 95 % on average, but fall below
94 % in more cells (tests/bench/bench_paired_exact.py). With partial credit, and where a row is
averaged over lengths, the rows added are of the size of those that do differ. A mean over tasks is
stratified, a row keeps its lengths and languages together, rows of one document count for fewer:
ruler_eval/score/intervals.py. Where no row differs from its task's others, the interval is what so
many equal rows rule out: that a larger share is otherwise, by all it can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ruler_eval.score.intervals import CONFIDENCE, NO_SPREAD, Uneven, moments

_ADDED = 2
"""Rows added: one each way."""
_DOUBT = 0.5
"""Rows of full size by which the size of the rows that differ is doubted."""


class PairedMean(NamedTuple):
    """A mean difference (−1 … 1), its standard error, rows, and the size of rows that differ.

    `rows` are independent ones; `size` is the root mean square of differences that are not 0;
    `least` and `most` are the extreme rows.
    """

    mean: float
    error: float
    rows: float
    size: float
    least: float
    most: float


def paired_mean(
    strata: Sequence[np.ndarray],
    weights: Sequence[float] | None = None,
    clusters: Sequence[np.ndarray | None] | None = None,
    uneven: Sequence[Uneven | None] | None = None,
) -> PairedMean:
    """The weighted mean of independent strata of differences; see intervals.Units."""
    mean, error2, rows = moments(strata, weights, clusters, uneven)
    every = np.concatenate(strata)
    differ = int((abs(every) > NO_SPREAD).sum())
    size2 = (float(every @ every) + _DOUBT) / (differ + _DOUBT)
    return PairedMean(mean, error2**0.5, rows, size2**0.5, float(every.min()), float(every.max()))


def bounds(found: PairedMean, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval of a mean."""
    from scipy.special import ndtri

    upper, rows = (1 + confidence) / 2, found.rows
    if found.error < NO_SPREAD:
        share = float(1 - (1 - upper) ** (1 / rows))
        low, high = found.mean - share * (1 + found.most), found.mean + share * (1 - found.least)
        return max(-1.0, low), min(1.0, high)
    every = rows + _ADDED
    centre = found.mean * rows / every
    squares = rows * (found.error**2 * (rows - 1) + found.mean**2) + _ADDED * found.size**2
    half = float(ndtri(upper)) * ((squares / every - centre**2) / every) ** 0.5
    return max(-1.0, centre - half), min(1.0, centre + half)


def percent(found: PairedMean) -> list[float]:
    """The interval in points."""
    return [100 * bound for bound in bounds(found)]
