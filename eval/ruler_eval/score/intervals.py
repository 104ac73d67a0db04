"""Compute intervals and p values of scores, and of the paired differences of two models.

    rows = Stratum.from_rows(np.array([1, 1, 0.4, …]))
    interval([rows])                                # 95 % interval of a cell's mean, 0 … 1
    difference_interval(paired_mean([differences])) # of two models' mean difference, −1 … 1
    mcnemar(6, 0)                                           # 0.03125: 2 of 64 ways
    signed_p(np.array([0.2, 0.2, -0.1, 0.0]))               # partial credit

Intervals of scores. The method is that of Korn and Graubard (1998) for proportions in complex
samples: the exact Clopper–Pearson interval at an effective number of rows. For 0/1 scores of one
cell it is the Clopper–Pearson interval, so coverage is never below 95 %, even at 0 and 100, where
the normal interval has no width and Wilson's covers as little as 83 %. Partial credit varies less
than 0/1 scores with the same mean, so its rows count for more: n / dispersion, where dispersion is
the observed variance over p(1 − p), shrunk towards 1 with the weight of PRIOR expected squared
deviations, because at 0 and 100 no variance is observed. Means over cells are stratified: each
cell's variance counts by its squared weight, and the effective number of rows is Kish's.

Rows with the same index ask the same thing at every length and in every language, so they are not
independent: `strata_of` averages them first, even if some are missing. (If they were treated as
independent, the interval of six lengths of 200 rows, each without one of them, would cover 62 % for
rows that mostly agree over lengths.) Rows that ask about the same document are a cluster: `moments`
reduces their number by the design effect.

Rows of a mean do not all weigh the same: a row of a task of 20 rows weighs 25 times as much as one
of a task of 500, and a document of five rows five times as much as one row. If no row differs, or
none is wrong, the rows that were not seen may be the heaviest, so the intervals are then those of
as many rows as would all weigh as much as the heaviest row or document (`units`). A few heavy rows
show their variance badly, or not at all if all are right, while the others hide it. So tasks whose
rows weigh alike have one interval, and those of unlike tasks are joined by the distances of their
ends from the mean (Zou and Donner, 2008). With one pooled variance, the interval of 12 tasks of 500
rows and one of 5 to 20 missed in up to 35 % of repetitions; joined, in at most 5 %. If a task has
a single row, its deviation is that from the mean of all tasks.

Intervals of the difference of two models (`difference_interval`, used by compare and decide). Rare
losses are skewed, so at each end rows with the maximal difference in that direction are added:
each end then misses in at most 2.5 % of repetitions, and in at most 1 % if few rows differ
(bench/compare.py). It is wider than necessary for 10 to 50 rows.

Intervals of the loss of one model from one length to another (`paired_interval`). Two rows are
added, one each way, and the normal interval of all rows is used: that of Bonett and Price (2012)
for the difference of paired proportions. Without them, the interval by Student's t or by the
bootstrap covers 40 to 90 % if few of 10 to 50 rows differ (measured); this one covers 93 to 100 %
of losses of rows that are right or wrong. With partial credit, and if a row is averaged over
lengths, the added rows have the size of the rows that differ. If all rows of a task have the same
difference, the interval covers the shares of maximally different rows that are not ruled out by
that many equal rows. It is not for the question whether one model leads: rare whole losses beside
frequent small gains may be missing in a sample. The interval then covers as little as 73 %, and
equal models would lead in up to 24 % of repetitions.

p values. Under the hypothesis of equal models, each row's difference could as well have the
opposite sign: p is the share of all assignments of signs whose sum is at least as far from 0 as the
observed one. All assignments are counted, not sampled (differences are multiples of a unit, such as
a tenth for ten words). For rows that are right or wrong this is McNemar's exact test. With partial
credit two rows with the maximal difference are added, one each way: if one model often misses a
little and the other rarely misses a lot, a small sample may have none of the latter rows, and
without the added ones equal models differ significantly in up to 39 % of repetitions; with them in
at most 5.5 %, for 10 to 500 rows (measured). This costs power for few rows: a difference of 2.5
points in ten words is found in 2 instead of 11 % of repetitions of 50 rows, and in 76 instead of
79 % of repetitions of 500.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ruler_eval.score.results import Cell

CONFIDENCE = 0.95
PRIOR = 2.0
"""The weight of dispersion 1, in expected squared deviations; see the module's docstring."""
NO_SPREAD = 1e-9
"""A standard error (0 … 1) below this is a rounding error: no two rows differ."""
MIN_INDEPENDENT_ROWS = 10
"""With fewer independent rows two models are not compared, because no interval is reliable."""
POWER = 0.8
SMALLEST_MCNEMAR = 6
"""Rows that must differ, all one way, before the exact McNemar test gives p < 0.05."""
_MAX_RATIO = 2.0
"""Of the weights of rows whose variance is pooled in the interval of a score."""
_ADDED = 2
"""Rows that are added to paired differences: one each way."""
MIN_ADDED = 2
"""Rows that are added at each end of the interval of a difference of two models, at least."""
_MAX_Z = 40.0  # its two-sided p is 0 in floating point
_SIZE_PRIOR = 0.5
"""The weight of size 1, in rows, when the size of the rows that differ is estimated."""
_MAX_UNITS = 2520
"""Of a whole row's score: the least common multiple of 1 to 10 references."""
_ROUNDING = 1e-6


class Stratum(NamedTuple):
    """The rows of a task, which are independent of those of other strata.

    If some cells of the task lack rows, rows have different weights. By linearisation, the pull of
    a row on the mean of the cells is its deviation from each cell's mean, over that cell's rows.
    """

    values: np.ndarray
    """Each row's score or difference: its average over the cells that have it."""
    weight: float
    mean: float
    pulls: np.ndarray
    """How far each row pulls from the mean; on average 0."""
    rows: float
    """The effective number of rows: of how many equally weighted rows this is worth."""
    heaviest: float
    """The share of the mean that depends on one row, or on all rows of one document, at most."""
    clusters: np.ndarray | None
    """A label for each row, equal for rows that share a document; None if no rows do."""

    @classmethod
    def from_rows(
        cls, values: np.ndarray, weight: float = 1.0, clusters: np.ndarray | None = None
    ) -> Stratum:
        """Return the stratum of rows with equal weights."""
        n = len(values)
        mean = float(values.mean()) if n else 0.0
        heaviest = _heaviest(np.full(n, 1 / max(n, 1)), clusters)
        return cls(values, weight, mean, values - mean, n, heaviest, clusters)


def _heaviest(row_weights: np.ndarray, clusters: np.ndarray | None) -> float:
    """Return the largest weight of a row, or of a document; the weights of the rows add up to 1."""
    if not len(row_weights):
        return 1.0
    if clusters is None:
        return float(row_weights.max())
    _, numbers = np.unique(clusters, return_inverse=True)
    return float(np.bincount(numbers, row_weights).max())


class Moments(NamedTuple):
    """A mean of strata, its squared standard error, and its number of independent rows.

    `units` is the number of rows of which each would weigh as much as the heaviest row or document.
    """

    mean: float
    error2: float
    rows: float
    units: float


def moments(strata: Sequence[Stratum]) -> Moments:
    """Return the weighted mean of the strata's means.

    The number of rows is Kish's, divided by the design effect.
    """
    error2 = inverse_rows = heaviest = 0.0
    total = sum(stratum.weight for stratum in strata)
    mean = sum(stratum.weight * stratum.mean for stratum in strata)
    for stratum in strata:
        weight, n = stratum.weight, len(stratum.values)
        design = 1.0
        if stratum.clusters is not None:
            design = design_effect(stratum.pulls, stratum.clusters)
        squares = float(stratum.pulls @ stratum.pulls)
        if n == 1:
            squares = (stratum.mean - mean / total) ** 2
        error2 += weight**2 * design * squares / (n * max(n - 1, 1))
        inverse_rows += weight**2 * design / stratum.rows
        heaviest = max(heaviest, weight * stratum.heaviest)
    rows = total**2 / inverse_rows
    return Moments(mean / total, error2 / total**2, rows, min(rows, total / heaviest))


def design_effect(values: np.ndarray, clusters: np.ndarray) -> float:
    """Return the variance of a mean relative to that of independent rows; at least 1.

    It is computed from the sums of the clusters' deviations, with Korn and Graubard's (1998) factor
    for the uncertainty of few clusters, and shrunk with the weight of PRIOR squared deviations
    towards that of clusters whose rows are all alike: if no row differs, nothing shows that rows
    of a cluster are independent. `clusters` labels each row.
    """
    from scipy.special import stdtrit

    _, numbers = np.unique(clusters, return_inverse=True)
    deviations, rows, count = values - values.mean(), len(values), int(numbers.max()) + 1
    if count == rows:
        return 1.0
    if count == 1:
        return float(rows)
    squares = float(deviations @ deviations)
    sums = np.bincount(numbers, deviations)
    sizes = np.bincount(numbers)
    all_alike = float(sizes @ sizes) / rows
    between = float(sums @ sums) * count / (count - 1) * (rows - 1) / rows
    effect = (between + PRIOR * all_alike) / (squares + PRIOR)
    upper = (1 + CONFIDENCE) / 2
    few = float((stdtrit(count - 1, upper) / stdtrit(rows - 1, upper)) ** 2)
    return max(1.0, effect) * few


def interval(strata: Sequence[Stratum]) -> tuple[float, float] | None:
    """Return the interval of the weighted mean of the strata; scores and bounds are 0 … 1.

    None without rows.
    """
    if not strata:
        return None
    for stratum in strata:
        if not len(stratum.values):
            return None
    groups = _of_equal_rows(strata)
    if len(groups) == 1:
        return _pooled_interval(strata)
    total = sum(stratum.weight for stratum in strata)
    mean = below = above = 0.0
    for group in groups:
        share = sum(stratum.weight for stratum in group) / total
        low, high = _pooled_interval(group)
        mean_of_group = moments(group).mean
        mean += share * mean_of_group
        below += (share * (mean_of_group - low)) ** 2
        above += (share * (high - mean_of_group)) ** 2
    return max(0.0, mean - below**0.5), min(1.0, mean + above**0.5)


def _of_equal_rows(strata: Sequence[Stratum]) -> list[list[Stratum]]:
    """Group strata whose rows weigh about the same in the mean, at most twice as much."""
    groups: list[list[Stratum]] = []
    lightest = 0.0
    for stratum in sorted(strata, key=lambda stratum: stratum.weight / stratum.rows):
        row_weight = stratum.weight / stratum.rows
        if not groups or row_weight > _MAX_RATIO * lightest:
            groups.append([])
            lightest = row_weight
        groups[-1].append(stratum)
    return groups


def _pooled_interval(strata: Sequence[Stratum]) -> tuple[float, float]:
    """Return the interval of strata whose rows weigh about the same, by their common variance."""
    estimate = moments(strata)
    mean, rows = min(max(estimate.mean, 0.0), 1.0), estimate.rows
    if estimate.error2 < NO_SPREAD**2:  # nothing varies, even if one task is 0 and the others 1
        share = 1 - ((1 - CONFIDENCE) / 2) ** (1 / estimate.units)
        return max(0.0, mean - share), min(1.0, mean + share)
    observed = rows * max(rows - 1, 0) * estimate.error2
    prior = PRIOR * rows / estimate.units  # if nothing varies, the interval is that of the units
    dispersion = (observed + prior) / (rows * mean * (1 - mean) + PRIOR)
    return clopper_pearson(mean, rows / dispersion)


def clopper_pearson(mean: float, rows: float) -> tuple[float, float]:
    """Return the exact interval of a proportion; `rows` may be a fraction (an effective number)."""
    from scipy.special import betaincinv

    tail = (1 - CONFIDENCE) / 2
    right, wrong = mean * rows, (1 - mean) * rows
    low = float(betaincinv(right, wrong + 1, tail)) if right > 1e-9 else 0.0
    high = float(betaincinv(right + 1, wrong, 1 - tail)) if wrong > 1e-9 else 1.0
    return low, high


def percent(strata: Sequence[Stratum]) -> list[float] | None:
    """Return the interval in the form of results.json: [low, high], 0 … 100."""
    bounds = interval(strata)
    return None if bounds is None else [100 * bounds[0], 100 * bounds[1]]


def strata_of(
    values: Mapping[str, Mapping[int, float]],
    cells: Mapping[str, Cell],
    weights: Mapping[str, float] | None = None,
    documents: Mapping[str, Mapping[int, str]] | None = None,
) -> list[Stratum]:
    """Return the strata of a weighted mean over configurations, one for each task.

    Args:
        values: the scores or differences of each configuration's rows, by index.
        cells: the cells of the configurations.
        weights: the weights of the configurations; by default they are equal.
        documents: the documents of rows, for configurations whose rows share some.
    """
    weights = weights or dict.fromkeys(values, 1.0)
    tasks: dict[str, list[str]] = {}
    for name, rows in values.items():
        if rows and weights[name]:
            tasks.setdefault(cells[name]["task"], []).append(name)
    strata = []
    for names in tasks.values():
        first = values[names[0]]
        order, shares, columns, shared = list(first), [], [], dict[int, str]()
        has_gaps = False
        for name in names:
            shares.append(weights[name])
            shared.update((documents or {}).get(name, {}))
            columns.append(list(values[name].values()))
            has_gaps = has_gaps or list(values[name]) != order
        weight = float(sum(shares))
        if has_gaps:
            order = sorted(set().union(*(values[name] for name in names)))
            columns = [[values[name].get(index, np.nan) for index in order] for name in names]
        clusters = None
        if shared and shared.keys() >= set(order):
            clusters = np.array([shared[index] for index in order])
        table, portions = np.array(columns, dtype=float), np.array(shares) / weight
        if has_gaps:
            strata.append(_uneven_stratum(table, portions, weight, clusters))
        else:
            strata.append(Stratum.from_rows(portions @ table, weight, clusters))
    return strata


def _uneven_stratum(
    table: np.ndarray, portions: np.ndarray, weight: float, clusters: np.ndarray | None
) -> Stratum:
    """Return the stratum of a table with one line per cell, and NaN for rows that a cell lacks.

    `portions` are the weights of the cells; they sum to 1.
    """
    is_in = ~np.isnan(table)
    scores = np.where(is_in, table, 0.0)
    counts = is_in.sum(axis=1)
    row_weights = portions / counts  # the weight of a row in the mean of each cell
    means, totals = scores.sum(axis=1) / counts, row_weights @ is_in
    pulls = len(totals) * (row_weights @ np.where(is_in, scores - means[:, None], 0.0))
    rows, heaviest = 1 / float(totals @ totals), _heaviest(totals, clusters)
    values = row_weights @ scores / totals
    return Stratum(values, weight, float(portions @ means), pulls, rows, heaviest, clusters)


class PairedMean(NamedTuple):
    """A mean difference, −1 … 1."""

    mean: float
    error: float  # the standard error
    rows: float  # the number of independent rows
    units: float  # the number of rows that would weigh as much as the heaviest row or document
    size: float  # the root mean square of differences that are not 0
    smallest: float  # of the differences
    largest: float


def paired_mean(strata: Sequence[Stratum]) -> PairedMean:
    """Return the weighted mean of independent strata of differences."""
    mean, error2, rows, units = moments(strata)
    values = np.concatenate([stratum.values for stratum in strata])
    differing = int((abs(values) > NO_SPREAD).sum())
    size2 = (float(values @ values) + _SIZE_PRIOR) / (differing + _SIZE_PRIOR)
    smallest, largest = float(values.min()), float(values.max())
    return PairedMean(mean, error2**0.5, rows, units, size2**0.5, smallest, largest)


def paired_interval(estimate: PairedMean) -> tuple[float, float]:
    """Return the interval of a mean difference, −1 … 1."""
    from scipy.special import ndtri

    upper, rows = (1 + CONFIDENCE) / 2, estimate.rows
    if estimate.error < NO_SPREAD:
        share = float(1 - (1 - upper) ** (1 / estimate.units))
        low = estimate.mean - share * (1 + estimate.largest)
        high = estimate.mean + share * (1 - estimate.smallest)
        return max(-1.0, low), min(1.0, high)
    total = rows + _ADDED
    centre = estimate.mean * rows / total
    squares = rows * (estimate.error**2 * (rows - 1) + estimate.mean**2) + _ADDED * estimate.size**2
    half = float(ndtri(upper)) * ((squares / total - centre**2) / total) ** 0.5
    return max(-1.0, centre - half), min(1.0, centre + half)


def difference_interval(
    estimate: PairedMean, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Return the interval of the mean difference of two models, −1 … 1.

    Rare losses are skewed: a small sample has few of them or none, and the normal interval then
    ends below a true drop in up to 43 instead of 2.5 % of repetitions (bench/compare.py). So at
    each end rows with the maximal difference in that direction are added, each as heavy as the
    heaviest row or document of the mean: two, or z²/2 at a higher confidence, z being the normal
    quantile.
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    return max(-1.0, _end(estimate, z, -1)), min(1.0, _end(estimate, z, 1))


def difference_p(estimate: PairedMean) -> float:
    """Return the two-sided p of a mean difference: 0.05 if its 95 % interval ends at 0."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    side = -1 if estimate.mean > 0 else 1
    if side * _end(estimate, 0.0, side) >= 0:
        return 1.0
    z = brentq(lambda z: _end(estimate, z, side), 0.0, _MAX_Z)
    return 2 * float(ndtr(-z))


def _end(estimate: PairedMean, z: float, side: int) -> float:
    """Return the lower (side −1) or upper (side 1) end of the interval of a difference."""
    added = max(MIN_ADDED, z * z / 2)
    units, total = estimate.units, estimate.units + added
    squares = units * (estimate.error**2 * (units - 1) + estimate.mean**2) + added
    centre = (estimate.mean * units + side * added) / total
    variance = max(squares / total - centre**2, 0.0) / (total - 1)
    return float(centre + side * z * variance**0.5)


def detectable(half_width: float, standard_error: float) -> float:
    """Return the difference, at most 1, whose interval excludes 0 in a share POWER of repetitions.

    `half_width` is that of the interval.
    """
    from scipy.special import ndtri

    return min(1.0, half_width + float(ndtri(POWER)) * standard_error)


def standard_error(low: float, high: float) -> float:
    """Return the standard error of a normal interval with these ends."""
    from scipy.special import ndtri

    return (high - low) / 2 / float(ndtri((1 + CONFIDENCE) / 2))


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the two-sided exact p of McNemar's test, by the rows that only one model got right."""
    from scipy.special import bdtr

    total = only_a + only_b
    return min(1.0, 2 * float(bdtr(min(only_a, only_b), total, 0.5))) if total else 1.0


def signed_p(differences: np.ndarray) -> float | None:
    """Return the two-sided p of paired differences; None if they have no common unit."""
    units = _smallest_units(np.unique(abs(differences)))
    if units is None:
        return None
    whole = np.rint(differences * units).astype(int)
    added = np.full(_ADDED, units)
    sizes, counts = np.unique(np.concatenate([abs(whole), added]), return_counts=True)
    largest, observed = int(sizes @ counts), abs(int(whole.sum()))
    if not observed:
        return 1.0
    # the probabilities of all sums are the inverse Fourier transform of a product of cosines
    angles = 2 * np.pi * np.arange(2 * largest + 1) / (2 * largest + 1)
    product = np.ones(2 * largest + 1)
    for size, count in zip(sizes, counts, strict=True):
        product *= np.cos(angles * size) ** count
    p = 2 * float(np.fft.ifft(product).real[observed : largest + 1].sum())
    return min(1.0, max(p, 2.0 ** (1 - _ADDED - np.count_nonzero(whole))))


def _smallest_units(sizes: np.ndarray) -> int | None:
    """Return the smallest number of units in a score of 1 that makes all sizes multiples."""
    for units in range(1, _MAX_UNITS + 1):
        if (abs(sizes * units - np.rint(sizes * units)) < _ROUNDING).all():
            return units
    return None


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values adjusted by Holm's method (1979), in the same order."""
    order = np.argsort(p_values)
    scaled = np.array(p_values)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(scaled))
    return list(adjusted.tolist())
