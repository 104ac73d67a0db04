"""Intervals for scores, paired differences, and what a number of rows can show at all.

    interval([np.array([1, 1, 0.4, …])])        # (0.95-interval of a cell's mean), on 0 … 1

The method is Korn and Graubard's (1998) for proportions in samples that are not simple: the exact
Clopper–Pearson interval at an effective number of rows. For 0/1 scores of one cell it is
Clopper–Pearson itself, so coverage is never below 95 %, at 0 and 100 too, where the normal interval
has no width and Wilson's covers as little as 83 %. Partial credit varies less than 0/1 scores of
the same mean, so its rows count for more: n / dispersion, where dispersion is the observed variance
over p(1 − p), drawn towards 1 by PRIOR rows' worth of doubt, because at 0 and 100 nothing is
observed of it. Means over cells are stratified: each cell's variance by its squared weight, and
the effective number of rows of the weights is Kish's.

Rows with the same index ask the same thing at every length and in every language, so they are not
independent: `units` averages them first. Rows that ask about one document are a cluster: `moments`
counts them as fewer by the design effect. tests/bench/bench_coverage.py shows the coverage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ruler_eval.score.results_file import Cell

CONFIDENCE = 0.95
PRIOR = 2.0
"""Doubt about the dispersion, in expected squared deviations; see the module's docstring."""
NO_SPREAD = 1e-9
"""A standard error (0 … 1) below this is what rounding leaves where no two rows differ."""
FEWEST_ROWS = 10
"""Independent rows below which nothing is said of two models: no interval is known to hold."""
POWER = 0.8
SMALLEST_MCNEMAR = 6
"""Rows that must differ, all one way, before the exact McNemar test gives p < 0.05."""


class Moments(NamedTuple):
    """A mean of strata, the squared standard error of it, and its number of independent rows."""

    mean: float
    error2: float
    rows: float


class Units(NamedTuple):
    """Independent strata: their row scores, their weights, and which of their rows are a cluster.

    The labels of a stratum's clusters are by row; None where every row is one.
    """

    strata: list[np.ndarray]
    weights: list[float]
    clusters: list[np.ndarray | None]


def moments(
    strata: Sequence[np.ndarray],
    weights: Sequence[float] | None = None,
    clusters: Sequence[np.ndarray | None] | None = None,
) -> Moments:
    """The weighted mean of the strata's means; the rows are Kish's, by the design effect fewer."""
    shares = np.ones(len(strata)) if weights is None else np.asarray(weights, dtype=float)
    shares = shares / shares.sum()
    sizes = np.array([len(values) for values in strata], dtype=float)
    mean = float(shares @ [np.mean(values) for values in strata])
    squares = np.array([np.square(values - np.mean(values)).sum() for values in strata])
    errors = shares**2 * squares / (sizes * np.maximum(sizes - 1, 1))
    rows = shares**2 / sizes
    if clusters is not None:
        designs = [
            1.0 if labels is None else design_effect(values, labels)
            for values, labels in zip(strata, clusters, strict=True)
        ]
        errors, rows = errors * designs, rows * designs
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
    confidence: float = CONFIDENCE,
) -> tuple[float, float] | None:
    """The interval of the weighted mean of the strata's means; scores and bounds are 0 … 1.

    `strata` holds each independent cell's row scores; `weights` default to equal, `clusters` to
    rows that share nothing. None without rows.
    """
    if not strata or any(len(values) == 0 for values in strata):
        return None
    found = moments(strata, weights, clusters)
    mean, rows = min(max(found.mean, 0.0), 1.0), found.rows
    observed = rows * max(rows - 1, 0) * found.error2
    dispersion = (observed + PRIOR) / (rows * mean * (1 - mean) + PRIOR)
    return clopper_pearson(mean, rows / dispersion, confidence)


def clopper_pearson(
    mean: float, rows: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """The exact interval of a proportion; `rows` may be a fraction (an effective number)."""
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
) -> list[float] | None:
    """The interval as a results.json has it: [low, high], 0 … 100."""
    bounds = interval(strata, weights, clusters)
    return [100 * bound for bound in bounds] if bounds else None


def units(
    values: Mapping[str, Mapping[int, float]],
    cells: Mapping[str, Cell],
    weights: Mapping[str, float] | None = None,
) -> Units:
    """Independent strata of a weighted mean over configurations, for `moments` and `interval`.

    `values` maps each to {index: score or difference}, `cells` are theirs, `weights` default to
    equal. Those of one task over the same indices become one stratum of row averages; where indices
    differ they stay strata of their own.
    """
    groups: dict[tuple[str, frozenset[int]], list[str]] = {}
    for name, rows in values.items():
        groups.setdefault((cells[name]["task"], frozenset(rows)), []).append(name)
    found = Units([], [], [])
    for (_, indices), names in groups.items():
        order = sorted(indices)
        shares = [1.0 if weights is None else weights[name] for name in names]
        if not order or not sum(shares):
            continue
        table = np.array([[values[name][index] for index in order] for name in names], dtype=float)
        found.strata.append(np.array(shares) @ table / sum(shares))
        found.weights.append(sum(shares))
        rows_of = (cells[name]["rows"] for name in names if "document" in cells[name]["rows"])
        found.clusters.append(None)
        if known := next(rows_of, None):
            documents = dict(zip(known["index"], known["document"], strict=True))
            found.clusters[-1] = np.array([documents[index] for index in order])
    return found
