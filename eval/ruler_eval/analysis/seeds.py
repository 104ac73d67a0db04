"""Compare one model on the rows of two seeds, to see whether it knows the published rows.

    compare_seeds(published, fresh)["all"]["interval"]

The rows of two seeds ask different things, so they cannot be paired. The interval of the difference
is computed from the intervals of both scores by the method of variance estimates recovery (Zou and
Donner, 2008), so it has a width even at scores of 0 and 100. Configurations whose rows ask the same
under both seeds, such as questions of a corpus, are shown but count in no mean, because a model may
know them under either seed.
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
"""Two seeds ask the same in a configuration if more than this share of its rows does."""
_Side = tuple[Mapping[str, Cell], RowsByConfig]


class SeedDifference(TypedDict):
    """Two means over configurations, and their difference A − B in points."""

    configurations: int
    a: float  # 0 … 100
    b: float
    difference: float
    interval: Interval
    detectable: float  # the difference that is significant in 80 % of repetitions
    higher: Side | None  # None if the interval includes 0, or with too few rows


class SeedCell(SeedDifference):
    """The difference of one configuration."""

    n_a: int  # rows
    n_b: int
    same_questions: bool  # whether most rows ask the same under both seeds


@final
class SeedComparison(TypedDict):
    """The result of `ruler compare` for two seeds; `all` is None if all rows ask the same."""

    format: int
    seeds: dict[Side, int]
    a: ComparedModel
    b: ComparedModel
    settings: dict[str, list[str]]
    configurations: dict[str, SeedCell]
    lengths: dict[str, SeedDifference]
    all: SeedDifference | None


def compare_seeds(a: Results, b: Results) -> SeedComparison:
    """Compare two results without pairing rows: by configuration, by length, and over all.

    Raises RulerError if the seeds are unknown or equal, or if model, data set, data version, tasks
    or rules differ, so that the difference may have another cause than the rows.
    """
    seeds = seeds_of(a, b)
    if seeds is None:
        raise RulerError("These are not results of two seeds: compare them row by row.")
    _check_settings(a, b)
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


def _check_settings(a: Results, b: Results) -> None:
    """Raise RulerError for results that differ in more than the rows."""
    if a["model"] and b["model"] and a["model"] != b["model"]:
        raise RulerError(
            f"The results of the two seeds are of two models ({a['model']} and {b['model']}), and "
            "only rows of one seed compare models: name the runs of one model, or score both "
            "with the same --name."
        )
    for key in ("name", "data_version", "parameters"):
        value_a, value_b = a["dataset"].get(key), b["dataset"].get(key)
        if value_a is not None and value_b is not None and value_a != value_b:
            values = f" ({value_a} and {value_b})" if isinstance(value_a, str) else ""
            raise RulerError(
                f"The results of the two seeds differ in the data set's {key}{values}: build both "
                "releases with the same options, except for --seed."
            )
    texts_a, texts_b = (result["dataset"].get("sources", {}) for result in (a, b))
    for name in texts_a.keys() & texts_b.keys():
        if texts_a[name] != texts_b[name]:
            raise RulerError(
                f"The releases of the two seeds were built from different texts ({name}): build "
                "both from the same --sources."
            )
    for key in ("score_version", "rules", "mode"):
        if a[key] != b[key]:  # type: ignore[literal-required]
            raise RulerError(f"The results differ in {key}: run and score both in the same way.")


def _ask_the_same(a: Results, b: Results, names: Sequence[str]) -> set[str]:
    """Return the configurations in which most rows ask the same under both seeds.

    Such rows have the same references and the same question, if questions are known.
    """
    references_a, references_b = row_values(a, "references"), row_values(b, "references")
    questions_a, questions_b = row_values(a, "question"), row_values(b, "question")
    same = set()
    for name in names:
        indices = references_a[name].keys() & references_b[name].keys()
        equal = [
            references_a[name][index] == references_b[name][index]
            and questions_a[name][index] == questions_b[name][index]
            for index in indices
        ]
        if sum(equal) > SAME_QUESTIONS * len(indices):
            same.add(name)
    return same


def _seed_difference(names: Sequence[str], sides: Sequence[_Side]) -> SeedDifference:
    """Return the difference of the means over these configurations."""
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
        "detectable": 100 * detectable((high - low) / 2, standard_error(low, high)),
        "higher": None if min(rows) < MIN_INDEPENDENT_ROWS else higher,
    }
