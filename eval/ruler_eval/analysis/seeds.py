"""Compare one model on the rows of two seeds, to see whether it knows the published rows.

    compare_seeds(published, fresh)["all"]["interval"]

The rows of two seeds ask something else, so no row has a partner. The interval of such a difference
is made of the two scores' own intervals by the method of variance estimates recovery (Zou and
Donner, 2008): it has a width at scores of 0 and 100 too. Rows that ask the same under both seeds,
as the questions of a corpus do, are shown and counted in no mean: a model may know them in either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from typing_extensions import TypedDict, final

from ruler_common.errors import RulerError
from ruler_eval.analysis.compare import (
    ComparedModel,
    Side,
    averaged,
    different_settings,
    model_of,
    seeds_of,
)
from ruler_eval.score.intervals import (
    FEWEST_ROWS,
    detectable,
    interval,
    moments,
    standard_error,
    strata_of,
)
from ruler_eval.score.results import (
    Cell,
    Interval,
    Results,
    RowsByConfig,
    row_values,
    rows_by_config,
)

SAME_QUESTIONS = 0.5
"""Two seeds ask the same if more than this share of the rows does."""
_Side = tuple[Mapping[str, Cell], RowsByConfig]


class SeedDifference(TypedDict):
    """Two means (0 … 100), A − B in points with its interval, and which of the two is higher.

    `higher` is None if the interval holds 0 or there are too few rows; `detectable` is the
    difference found with 95 % confidence in 80 % of repetitions.
    """

    a: float
    b: float
    difference: float
    interval: Interval
    detectable: float
    higher: Side | None


class SeedCell(SeedDifference):
    """The difference of one configuration: rows of each side, whether both seeds ask the same."""

    n_a: int
    n_b: int
    same_questions: bool


class SeedMean(SeedDifference):
    """The difference of the means over a number of configurations."""

    configurations: int


@final
class SeedComparison(TypedDict):
    """What `ruler compare` found of the results of two seeds; `all` is None if no row is fresh."""

    format: int
    seeds: dict[Side, int]
    a: ComparedModel
    b: ComparedModel
    settings: dict[str, list[str]]
    configurations: dict[str, SeedCell]
    lengths: dict[str, SeedMean]
    all: SeedMean | None


def compare_seeds(a: Results, b: Results) -> SeedComparison:
    """Compare two results without pairs: by configuration, by length, and over all.

    Raises RulerError if the seeds are not known or the same, or if data set, data version, tasks or
    rules differ, so that a difference could have another cause than the rows.
    """
    seeds = seeds_of(a, b)
    if seeds is None:
        raise RulerError("These are not results of two seeds: compare them row by row.")
    _check_alike(a, b)
    ours, theirs = a["configurations"], b["configurations"]
    names = [n for n, cell in ours.items() if n in theirs and cell["n"] and theirs[n]["n"]]
    if not names:
        raise RulerError("The two results share no configuration: score both seeds on the same.")
    same = _ask_the_same(a, b, names)
    lengths, counted = averaged(b, [name for name in names if name not in same])
    sides = (ours, rows_by_config(a)), (theirs, rows_by_config(b))
    cells: dict[str, SeedCell] = {}
    for name in names:
        cells[name] = {
            **_seed_difference([name], sides),
            "n_a": ours[name]["n"],
            "n_b": theirs[name]["n"],
            "same_questions": name in same,
        }
    return {
        "format": 1,
        "seeds": seeds,
        "a": model_of(a, names),
        "b": model_of(b, names),
        "settings": different_settings(a, b),
        "configurations": cells,
        "lengths": {length: _mean(some, sides) for length, some in lengths.items()},
        "all": _mean(counted, sides) if counted else None,
    }


def _check_alike(a: Results, b: Results) -> None:
    """Refuse results that differ in more than the rows."""
    for key in ("name", "data_version", "parameters"):
        one, other = a["dataset"].get(key), b["dataset"].get(key)
        if one is not None and other is not None and one != other:
            shown = f": {one} and {other}" if isinstance(one, str) else ""
            raise RulerError(
                f"The results of the two seeds differ in the data set's {key}{shown}. Build both "
                "releases alike, but for --seed."
            )
    for key in ("score_version", "rules", "mode"):
        if a[key] != b[key]:  # type: ignore[literal-required]
            raise RulerError(f"The results differ in {key}: run and score both the same way.")


def _ask_the_same(a: Results, b: Results, names: Sequence[str]) -> set[str]:
    """Return the configurations in which most rows ask what the other seed's row asks.

    The same question, if questions are known, and the same references.
    """
    questions = row_values(a, "question"), row_values(b, "question")
    references = row_values(a, "references"), row_values(b, "references")
    found = set()
    for name in names:
        ours, theirs = references[0][name], references[1][name]
        both = ours.keys() & theirs.keys()
        same = 0
        for index in both:
            asked = questions[0][name][index], questions[1][name][index]
            same += ours[index] == theirs[index] and asked[0] == asked[1]
        if same > SAME_QUESTIONS * len(both):
            found.add(name)
    return found


def _mean(names: Sequence[str], sides: Sequence[_Side]) -> SeedMean:
    return {"configurations": len(names), **_seed_difference(names, sides)}


def _seed_difference(names: Sequence[str], sides: Sequence[_Side]) -> SeedDifference:
    estimates = []
    for cells, rows in sides:
        scores = {name: rows.scores[name] for name in names}
        strata = strata_of(scores, cells, None, rows.documents)
        bounds = interval(strata)
        assert bounds  # there are rows
        estimates.append((moments(strata), *bounds))
    (one, low_a, high_a), (other, low_b, high_b) = estimates
    difference = one.mean - other.mean
    low = difference - float(np.hypot(one.mean - low_a, high_b - other.mean))
    high = difference + float(np.hypot(high_a - one.mean, other.mean - low_b))
    higher: Side | None = "a" if low > 0 else "b" if high < 0 else None
    return {
        "a": 100 * one.mean,
        "b": 100 * other.mean,
        "difference": 100 * difference,
        "interval": [100 * low, 100 * high],
        "detectable": 100 * detectable(standard_error(low, high)),
        "higher": None if min(one.rows, other.rows) < FEWEST_ROWS else higher,
    }
