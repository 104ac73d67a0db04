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
    MIN_INDEPENDENT_ROWS,
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
    """Two means over configurations, A − B with its interval, and which of the two is higher.

    Means are 0 … 100, differences are in points.

    `higher` is None if the interval holds 0 or there are too few rows; `detectable` is the
    difference found with 95 % confidence in 80 % of repetitions.
    """

    configurations: int
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


@final
class SeedComparison(TypedDict):
    """What `ruler compare` found of the results of two seeds; `all` is None if no row is fresh."""

    format: int
    seeds: dict[Side, int]
    a: ComparedModel
    b: ComparedModel
    settings: dict[str, list[str]]
    configurations: dict[str, SeedCell]
    lengths: dict[str, SeedDifference]
    all: SeedDifference | None


def compare_seeds(a: Results, b: Results) -> SeedComparison:
    """Compare two results without pairs: by configuration, by length, and over all.

    Raises RulerError if the seeds are not known or the same, or if data set, data version, tasks or
    rules differ, so that a difference could have another cause than the rows.
    """
    seeds = seeds_of(a, b)
    if seeds is None:
        raise RulerError("These are not results of two seeds: compare them row by row.")
    _check_alike(a, b)
    cells_a, cells_b = a["configurations"], b["configurations"]
    names = [n for n in cells_a if n in cells_b and cells_a[n]["n"] and cells_b[n]["n"]]
    if not names:
        raise RulerError("The two results share no configuration: score both seeds on the same.")
    same = _ask_the_same(a, b, names)
    lengths, counted = averaged(b, [name for name in names if name not in same])
    sides = (cells_a, rows_by_config(a)), (cells_b, rows_by_config(b))
    cells: dict[str, SeedCell] = {}
    for name in names:
        cells[name] = {
            **_seed_difference([name], sides),
            "n_a": cells_a[name]["n"],
            "n_b": cells_b[name]["n"],
            "same_questions": name in same,
        }
    return {
        "format": 1,
        "seeds": seeds,
        "a": model_of(a, names),
        "b": model_of(b, names),
        "settings": different_settings(a, b),
        "configurations": cells,
        "lengths": {length: _seed_difference(group, sides) for length, group in lengths.items()},
        "all": _seed_difference(counted, sides) if counted else None,
    }


def _check_alike(a: Results, b: Results) -> None:
    """Refuse results that differ in more than the rows."""
    for key in ("name", "data_version", "parameters"):
        value_a, value_b = a["dataset"].get(key), b["dataset"].get(key)
        if value_a is not None and value_b is not None and value_a != value_b:
            shown = f": {value_a} and {value_b}" if isinstance(value_a, str) else ""
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
    asked = []  # of each side the references and questions, by configuration and index
    for results in (a, b):
        asked.append((row_values(results, "references"), row_values(results, "question")))
    (references_a, questions_a), (references_b, questions_b) = asked
    same = set()
    for name in names:
        both = references_a[name].keys() & references_b[name].keys()
        equal = 0
        for index in both:
            equal += (
                references_a[name][index] == references_b[name][index]
                and questions_a[name][index] == questions_b[name][index]
            )
        if equal > SAME_QUESTIONS * len(both):
            same.add(name)
    return same


def _seed_difference(names: Sequence[str], sides: Sequence[_Side]) -> SeedDifference:
    means, rows, lows, highs = [], [], [], []
    for cells, by_config in sides:
        scores = {name: by_config.scores[name] for name in names}
        strata = strata_of(scores, cells, None, by_config.documents)
        bounds = interval(strata)
        assert bounds  # there are rows
        estimate = moments(strata)
        means.append(estimate.mean)
        rows.append(estimate.rows)
        lows.append(estimate.mean - bounds[0])
        highs.append(bounds[1] - estimate.mean)
    difference = means[0] - means[1]
    low = difference - float(np.hypot(lows[0], highs[1]))
    high = difference + float(np.hypot(highs[0], lows[1]))
    higher: Side | None = "a" if low > 0 else "b" if high < 0 else None
    return {
        "configurations": len(names),
        "a": 100 * means[0],
        "b": 100 * means[1],
        "difference": 100 * difference,
        "interval": [100 * low, 100 * high],
        "detectable": 100 * detectable(standard_error(low, high)),
        "higher": None if min(rows) < MIN_INDEPENDENT_ROWS else higher,
    }
