"""Intervals and p values: of scores, and of the paired differences of two models.

    interval([np.array([1, 1, 0.4, …])])                    # 95 % interval of a cell's mean, 0 … 1
    paired_interval(paired_mean([np.array([0, 1, 0, -1])])) # of a mean difference, −1 … 1
    mcnemar(6, 0)                                           # 0.03125: 2 of 64 ways
    signed_p(np.array([0.2, 0.2, -0.1, 0.0]))               # partial credit

The method is Korn and Graubard's (1998) for proportions in samples that are not simple: the exact
Clopper–Pearson interval at an effective number of rows. For 0/1 scores of one cell it is
Clopper–Pearson itself, so coverage is never below 95 %, at 0 and 100 too, where the normal interval
has no width and Wilson's covers as little as 83 %. Partial credit varies less than 0/1 scores of
the same mean, so its rows count for more: n / dispersion, where dispersion is the observed variance
over p(1 − p), drawn towards 1 by PRIOR rows' worth of doubt, because at 0 and 100 nothing is
observed of it. Means over cells are stratified: each cell's variance by its squared weight, and
the effective number of rows of the weights is Kish's.

Rows with the same index ask the same thing at every length and in every language, so they are not
independent: `units` averages them first, also if some are missing (taken as independent,
six lengths of 200 rows of which one each lacks are covered in 62 % where rows mostly agree over
lengths). Rows that ask about one document are a cluster: `moments`
counts them as fewer by the design effect.

Paired differences. A row is added each way, in which only one of the two models is right, and the
normal interval of all is taken: Bonett and Price's (2012) for the difference of paired proportions.
The plain interval, with quantiles of Student's t or by the bootstrap, covers 40 to 90 % if few of
10 to 50 rows differ (measured), because the observed rows say nothing about the others; this one
covers 95 % or more: of 20 to 30 rows 94.6 to 96.3 % if 40 to 80 %
of them differ, up to 100 % if a tenth does. So few rows can differ in few ways: in seven to nine of
ten tasks of real pairs no set of outcomes has a probability of 94 to 96 %, so that no interval,
whatever its rule, has that coverage. Elsewhere Tango's, Newcombe's and Jeffreys' come nearer to
95 % on average, but fall below 94 % in more cells (measured over every possible outcome). With
partial credit, and if a row is averaged over lengths, the added rows are of the size of those that
differ. If no row differs from the others of its task, the interval is what that many equal rows
rule out: that a larger share is otherwise, by all it can be.

p of two models. Each row's difference might as well be the other way: p is the share of all ways to
sign the differences whose sum is as far from 0 as the one seen. All ways are counted (differences
are multiples of a unit, such as a tenth for ten words), not drawn. For rows that are right or wrong
this is McNemar's exact test. With partial credit two rows are added that differ by all, one each
way: if one model misses a little often, and the other much but rarely, few rows hold nothing of the
latter, and without the two added rows equal models seem to differ in up to 39 % of repetitions;
with them in 5.5 % at most, for 10 to 500 rows (measured). The price is paid with
few rows: 2.5 points of ten words are seen in 2 instead of 11 % of repetitions of 50 rows, in 76
instead of 79 % of those of 500.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ruler_eval.score.results import Cell

CONFIDENCE = 0.95
PRIOR = 2.0
"""Doubt about the dispersion, in expected squared deviations; see the module's docstring."""
NO_SPREAD = 1e-9
"""A standard error (0 … 1) below this is what rounding leaves where no two rows differ."""
FEWEST_ROWS = 10
"""Independent rows below which two models are not compared: no interval is known to hold."""
POWER = 0.8
SMALLEST_MCNEMAR = 6
"""Rows that must differ, all one way, before the exact McNemar test gives p < 0.05."""
_ADDED = 2
"""Rows that are added to paired differences: one each way."""
ADDED_AT_A_LIMIT = 2
"""Rows that are added at each end of an interval that is compared with a limit."""
_DOUBT = 0.5
"""Rows of full size by which the size of the rows that differ is doubted."""
_MAX_UNITS = 2520
"""Of a whole row's score: the least common multiple of 1 to 10 references."""
_ROUNDING = 1e-6


class Moments(NamedTuple):
    """A mean of strata, the squared standard error of it, and its number of independent rows."""

    mean: float
    error2: float
    rows: float


class Uneven(NamedTuple):
    """A stratum whose rows count differently, as not all of them are in each of its cells.

    Its mean, how far each row pulls from it (on average 0), and how many rows alike are worth them.
    """

    mean: float
    pulls: np.ndarray
    rows: float


class Units(NamedTuple):
    """Independent strata: their row scores, their weights, and which of their rows are a cluster.

    The labels of a stratum's clusters are by row; None where every row is one. `uneven` is None
    where every row counts alike.
    """

    strata: list[np.ndarray]
    weights: list[float]
    clusters: list[np.ndarray | None]
    uneven: list[Uneven | None]


def moments(
    strata: Sequence[np.ndarray],
    weights: Sequence[float] | None = None,
    clusters: Sequence[np.ndarray | None] | None = None,
    uneven: Sequence[Uneven | None] | None = None,
) -> Moments:
    """Return the weighted mean of the strata's means.

    The rows are Kish's, by the design effect fewer.
    """
    shares = np.ones(len(strata)) if weights is None else np.asarray(weights, dtype=float)
    shares = shares / shares.sum()
    means = [float(np.mean(values)) for values in strata]
    parts = [
        found or Uneven(mean, values - mean, len(values))
        for values, mean, found in zip(strata, means, uneven or [None] * len(means), strict=True)
    ]
    sizes = np.array([len(values) for values in strata], dtype=float)
    squares = np.array([np.square(part.pulls).sum() for part in parts])
    errors = shares**2 * squares / (sizes * np.maximum(sizes - 1, 1))
    rows = shares**2 / [part.rows for part in parts]
    if clusters is not None:
        designs = [
            1.0 if labels is None else design_effect(part.pulls, labels)
            for part, labels in zip(parts, clusters, strict=True)
        ]
        errors, rows = errors * designs, rows * designs
    mean = float(shares @ [part.mean for part in parts])
    return Moments(mean, float(errors.sum()), 1 / float(rows.sum()))


def design_effect(values: np.ndarray, clusters: np.ndarray) -> float:
    """How many times a mean's variance is that of as many independent rows; never below 1.

    From the sums of the clusters' deviations, and Korn and Graubard's (1998) factor for the
    uncertainty of few clusters. `clusters` labels each row.
    """
    from scipy.special import stdtrit

    _, place = np.unique(clusters, return_inverse=True)
    deviations, rows, count = values - values.mean(), len(values), int(place.max()) + 1
    if count == rows:
        return 1.0
    if count == 1:
        return float(rows)
    squares = float(deviations @ deviations)
    sums = np.bincount(place, deviations)
    found = float(sums @ sums) * count / (count - 1) * (rows - 1) / rows / squares if squares else 1
    upper = (1 + CONFIDENCE) / 2
    few = float((stdtrit(count - 1, upper) / stdtrit(rows - 1, upper)) ** 2)
    return max(1.0, found) * few


def interval(
    strata: Sequence[np.ndarray],
    weights: Sequence[float] | None = None,
    clusters: Sequence[np.ndarray | None] | None = None,
    uneven: Sequence[Uneven | None] | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> tuple[float, float] | None:
    """Return the interval of the weighted mean of the strata's means; scores and bounds are 0 … 1.

    `strata` holds each independent cell's row scores; `weights` default to equal, `clusters` to
    rows that share nothing, `uneven` to rows that count alike. None without rows.
    """
    if not strata or any(len(values) == 0 for values in strata):
        return None
    found = moments(strata, weights, clusters, uneven)
    mean, rows = min(max(found.mean, 0.0), 1.0), found.rows
    observed = rows * max(rows - 1, 0) * found.error2
    dispersion = (observed + PRIOR) / (rows * mean * (1 - mean) + PRIOR)
    return clopper_pearson(mean, rows / dispersion, confidence)


def clopper_pearson(
    mean: float, rows: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Return the exact interval of a proportion; `rows` may be a fraction (an effective number)."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    right, wrong = mean * rows, (1 - mean) * rows
    low = float(betaincinv(right, wrong + 1, tail)) if right > 1e-9 else 0.0
    high = float(betaincinv(right + 1, wrong, 1 - tail)) if wrong > 1e-9 else 1.0
    return low, high


def percent(
    strata: Sequence[np.ndarray],
    weights: Sequence[float] | None = None,
    clusters: Sequence[np.ndarray | None] | None = None,
    uneven: Sequence[Uneven | None] | None = None,
) -> list[float] | None:
    """Return the interval as a results.json has it: [low, high], 0 … 100."""
    bounds = interval(strata, weights, clusters, uneven)
    return [100 * bound for bound in bounds] if bounds else None


def units(
    values: Mapping[str, Mapping[int, float]],
    cells: Mapping[str, Cell],
    weights: Mapping[str, float] | None = None,
    documents: Mapping[str, Mapping[int, str]] | None = None,
) -> Units:
    """Return independent strata of a weighted mean over configurations, for `moments`.

    `values` maps each to {index: score or difference}, `cells` are theirs, `weights` default to
    equal; `documents` are those of rows, for configurations whose rows share some.
    Configurations of one task become one stratum of row averages.
    """
    tasks: dict[str, list[str]] = {}
    for name, rows in values.items():
        share = 1.0 if weights is None else weights[name]
        if rows and share:
            tasks.setdefault(cells[name]["task"], []).append(name)
    found = Units([], [], [], [])
    for names in tasks.values():
        order = sorted({index for name in names for index in values[name]})
        shares = np.array([1.0 if weights is None else weights[name] for name in names])
        table = np.array([[values[n].get(i, np.nan) for i in order] for n in names], dtype=float)
        averages, uneven = _averaged(table, shares / shares.sum())
        found.strata.append(averages)
        found.weights.append(float(shares.sum()))
        found.uneven.append(uneven)
        shared: dict[int, str] = {}
        for name in names:
            shared.update((documents or {}).get(name, {}))
        clusters = np.array([shared[i] for i in order]) if shared.keys() >= {*order} else None
        found.clusters.append(clusters)
    return found


def _averaged(table: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, Uneven | None]:
    """Every row's average over the cells that have it, and how it counts if some lack it.

    Rows of the table are cells, NaN where one lacks; `shares` sum to 1. By linearisation: a row
    pulls at the mean of cells by its deviation from each cell's own mean, over that cell's rows.
    """
    there = ~np.isnan(table)
    if there.all():
        return shares @ table, None
    held = np.where(there, table, 0.0)
    each = shares / there.sum(axis=1)  # what a row weighs in the mean of each cell
    means, weights = held.sum(axis=1) / there.sum(axis=1), each @ there
    pulls = len(weights) * (each @ np.where(there, held - means[:, None], 0.0))
    return each @ held / weights, Uneven(float(shares @ means), pulls, 1 / float(weights @ weights))


class PairedMean(NamedTuple):
    """A mean difference (−1 … 1), its standard error, rows, and the size of rows that differ.

    `rows` are independent ones; `size` is the root mean square of differences that are not 0;
    `smallest` and `largest` are the extreme rows.
    """

    mean: float
    error: float
    rows: float
    size: float
    smallest: float
    largest: float


def paired_mean(
    strata: Sequence[np.ndarray],
    weights: Sequence[float] | None = None,
    clusters: Sequence[np.ndarray | None] | None = None,
    uneven: Sequence[Uneven | None] | None = None,
) -> PairedMean:
    """Return the weighted mean of independent strata of differences; see Units."""
    mean, error2, rows = moments(strata, weights, clusters, uneven)
    every = np.concatenate(strata)
    differ = int((abs(every) > NO_SPREAD).sum())
    size2 = (float(every @ every) + _DOUBT) / (differ + _DOUBT)
    return PairedMean(mean, error2**0.5, rows, size2**0.5, float(every.min()), float(every.max()))


def paired_interval(found: PairedMean, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the interval of a mean difference, −1 … 1."""
    from scipy.special import ndtri

    upper, rows = (1 + confidence) / 2, found.rows
    if found.error < NO_SPREAD:
        share = float(1 - (1 - upper) ** (1 / rows))
        low = found.mean - share * (1 + found.largest)
        high = found.mean + share * (1 - found.smallest)
        return max(-1.0, low), min(1.0, high)
    every = rows + _ADDED
    centre = found.mean * rows / every
    squares = rows * (found.error**2 * (rows - 1) + found.mean**2) + _ADDED * found.size**2
    half = float(ndtri(upper)) * ((squares / every - centre**2) / every) ** 0.5
    return max(-1.0, centre - half), min(1.0, centre + half)


def noninferiority_interval(found: PairedMean) -> tuple[float, float]:
    """Return the 95 % interval of a mean difference that is compared with a limit, −1 … 1.

    Rare losses are skewed: few rows hold none or few of them, and the normal interval then ends
    below a limit that is not met in up to 6.6 instead of 2.5 % of repetitions. So at each end
    ADDED_AT_A_LIMIT rows are added that differ by all in that direction. For rows that are whole
    or lost, 50 to 6,500 of them, each end then misses in at most 2.5 % (bench/noninferiority.py).
    """
    from scipy.special import ndtri

    rows, every = found.rows, found.rows + ADDED_AT_A_LIMIT
    squares = rows * (found.error**2 * (rows - 1) + found.mean**2) + ADDED_AT_A_LIMIT
    ends = []
    for side in (-1, 1):
        centre = (found.mean * rows + side * ADDED_AT_A_LIMIT) / every
        error = ((squares / every - centre**2) / (every - 1)) ** 0.5
        ends.append(centre + side * float(ndtri((1 + CONFIDENCE) / 2)) * error)
    return max(-1.0, ends[0]), min(1.0, ends[1])


def detectable(standard_error: float) -> float:
    """Return the difference that is found with CONFIDENCE in a share of POWER of repetitions."""
    from scipy.special import ndtri

    return float(ndtri((1 + CONFIDENCE) / 2) + ndtri(POWER)) * standard_error


def standard_error(low: float, high: float) -> float:
    """Return the standard error with which an interval of CONFIDENCE would have these ends."""
    from scipy.special import ndtri

    return (high - low) / 2 / float(ndtri((1 + CONFIDENCE) / 2))


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the two-sided exact p of McNemar's test: rows that only one of the two got right."""
    from scipy.special import bdtr

    total = only_a + only_b
    return min(1.0, 2 * float(bdtr(min(only_a, only_b), total, 0.5))) if total else 1.0


def signed_p(differences: np.ndarray) -> float | None:
    """Return the two-sided p of paired differences; None if they are multiples of no unit."""
    units = _units(np.unique(abs(differences)))
    if units is None:
        return None
    whole = np.rint(differences * units).astype(int)
    added = np.full(_ADDED, units)
    sizes, times = np.unique(np.concatenate([abs(whole), added]), return_counts=True)
    largest, seen = int(sizes @ times), abs(int(whole.sum()))
    if not seen:
        return 1.0
    # the chances of all sums are the inverse transform of the product of cosines
    turns = 2 * np.pi * np.arange(2 * largest + 1) / (2 * largest + 1)
    product = np.ones(2 * largest + 1)
    for size, count in zip(sizes, times, strict=True):
        product *= np.cos(turns * size) ** count
    p = 2 * float(np.fft.ifft(product).real[seen : largest + 1].sum())
    return min(1.0, max(p, 2.0 ** (1 - _ADDED - np.count_nonzero(whole))))


def _units(sizes: np.ndarray) -> int | None:
    """Return the smallest number of units in a whole row's score that makes all sizes multiples."""
    for units in range(1, _MAX_UNITS + 1):
        if (abs(sizes * units - np.rint(sizes * units)) < _ROUNDING).all():
            return units
    return None


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values adjusted for their number (Holm, 1979), in their order."""
    order = np.argsort(p_values)
    scaled = np.array(p_values)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(scaled))
    return [float(p) for p in adjusted]
