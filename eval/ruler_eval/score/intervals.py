"""Intervals and p values: of scores, and of the paired differences of two models.

    rows = Stratum.from_rows(np.array([1, 1, 0.4, …]))
    interval([rows])                                # 95 % interval of a cell's mean, 0 … 1
    paired_interval(paired_mean([differences]))     # of a mean difference, −1 … 1
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
independent: `strata_of` averages them first, also if some are missing (taken as independent,
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


class Stratum(NamedTuple):
    """The rows of a task, which are independent of those of other strata.

    If not all rows are in each of the task's cells, they count differently: by linearisation a row
    pulls at the mean of cells by its deviation from each cell's own mean, over that cell's rows.
    """

    values: np.ndarray
    """Each row's score or difference: its average over the cells that have it."""
    weight: float
    mean: float
    pulls: np.ndarray
    """How far each row pulls from the mean; on average 0."""
    rows: float
    """How many rows that count alike are worth them."""
    clusters: np.ndarray | None
    """A label for each row, which rows that share a document have in common; None without any."""

    @classmethod
    def from_rows(
        cls, values: np.ndarray, weight: float = 1.0, clusters: np.ndarray | None = None
    ) -> Stratum:
        """Return the stratum of rows that count alike."""
        mean = float(values.mean()) if len(values) else 0.0
        return cls(values, weight, mean, values - mean, len(values), clusters)


class Moments(NamedTuple):
    """A mean of strata, the squared standard error of it, and its number of independent rows."""

    mean: float
    error2: float
    rows: float


def moments(strata: Sequence[Stratum]) -> Moments:
    """Return the weighted mean of the strata's means.

    The rows are Kish's, by the design effect fewer.
    """
    total = mean = error2 = inverse_rows = 0.0
    for stratum in strata:
        weight, n = stratum.weight, len(stratum.values)
        design = 1.0
        if stratum.clusters is not None:
            design = design_effect(stratum.pulls, stratum.clusters)
        total += weight
        mean += weight * stratum.mean
        squares = float(stratum.pulls @ stratum.pulls)
        error2 += weight**2 * design * squares / (n * max(n - 1, 1))
        inverse_rows += weight**2 * design / stratum.rows
    return Moments(mean / total, error2 / total**2, total**2 / inverse_rows)


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
    effect = (
        float(sums @ sums) * count / (count - 1) * (rows - 1) / rows / squares if squares else 1
    )
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
    estimate = moments(strata)
    mean, rows = min(max(estimate.mean, 0.0), 1.0), estimate.rows
    observed = rows * max(rows - 1, 0) * estimate.error2
    dispersion = (observed + PRIOR) / (rows * mean * (1 - mean) + PRIOR)
    return clopper_pearson(mean, rows / dispersion)


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


def percent(strata: Sequence[Stratum]) -> list[float] | None:
    """Return the interval as a results.json has it: [low, high], 0 … 100."""
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
    """Return the stratum of a table with a row for each cell, NaN for rows that the cell lacks.

    `portions` are the weights of the cells; they sum to 1.
    """
    is_in = ~np.isnan(table)
    scores = np.where(is_in, table, 0.0)
    counts = is_in.sum(axis=1)
    row_weights = portions / counts  # what a row weighs in the mean of each cell
    means, totals = scores.sum(axis=1) / counts, row_weights @ is_in
    pulls = len(totals) * (row_weights @ np.where(is_in, scores - means[:, None], 0.0))
    rows = 1 / float(totals @ totals)
    values = row_weights @ scores / totals
    return Stratum(values, weight, float(portions @ means), pulls, rows, clusters)


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


def paired_mean(strata: Sequence[Stratum]) -> PairedMean:
    """Return the weighted mean of independent strata of differences."""
    mean, error2, rows = moments(strata)
    every = np.concatenate([stratum.values for stratum in strata])
    differ = int((abs(every) > NO_SPREAD).sum())
    size2 = (float(every @ every) + _DOUBT) / (differ + _DOUBT)
    return PairedMean(mean, error2**0.5, rows, size2**0.5, float(every.min()), float(every.max()))


def paired_interval(estimate: PairedMean, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the interval of a mean difference, −1 … 1."""
    from scipy.special import ndtri

    upper, rows = (1 + confidence) / 2, estimate.rows
    if estimate.error < NO_SPREAD:
        share = float(1 - (1 - upper) ** (1 / rows))
        low = estimate.mean - share * (1 + estimate.largest)
        high = estimate.mean + share * (1 - estimate.smallest)
        return max(-1.0, low), min(1.0, high)
    every = rows + _ADDED
    centre = estimate.mean * rows / every
    squares = rows * (estimate.error**2 * (rows - 1) + estimate.mean**2) + _ADDED * estimate.size**2
    half = float(ndtri(upper)) * ((squares / every - centre**2) / every) ** 0.5
    return max(-1.0, centre - half), min(1.0, centre + half)


def noninferiority_interval(estimate: PairedMean) -> tuple[float, float]:
    """Return the 95 % interval of a mean difference that is compared with a limit, −1 … 1.

    Rare losses are skewed: few rows hold none or few of them, and the normal interval then ends
    below a limit that is not met in up to 6.6 instead of 2.5 % of repetitions. So at each end
    ADDED_AT_A_LIMIT rows are added that differ by all in that direction. For rows that are whole
    or lost, 50 to 6,500 of them, each end then misses in at most 2.5 %.
    """
    from scipy.special import ndtri

    rows, every = estimate.rows, estimate.rows + ADDED_AT_A_LIMIT
    squares = rows * (estimate.error**2 * (rows - 1) + estimate.mean**2) + ADDED_AT_A_LIMIT
    ends = []
    for side in (-1, 1):
        centre = (estimate.mean * rows + side * ADDED_AT_A_LIMIT) / every
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
    units = _smallest_units(np.unique(abs(differences)))
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


def _smallest_units(sizes: np.ndarray) -> int | None:
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
    return list(adjusted.tolist())
