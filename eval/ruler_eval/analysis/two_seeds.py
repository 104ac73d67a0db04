"""A model on the rows of two seeds: did it know the published ones? Unpaired differences.

    compare_seeds(published, fresh)["all"]         # {"difference": 0.4, "interval": [-0.9, 1.7], …}

Rows of another seed ask something else, so no row has a partner. The interval of a difference is
made of the two scores' own (ruler_eval/score/intervals.py) by the method of variance estimates
recovery (Zou and Donner, 2008): it has a width at scores of 0 and 100 too. Where rows ask the same
under both seeds, as the questions of a corpus do, they are shown and counted in no mean: a model
may know them in either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_eval.analysis.compare import (
    ComparedModel,
    Side,
    averaged,
    detectable,
    model_of,
)
from ruler_eval.score.intervals import CONFIDENCE, FEWEST_ROWS, Units, interval, moments, units
from ruler_eval.score.results_file import Cell, Interval, Results, scores_in

_SAME = 0.5
"""The share of rows that ask the same from which on a configuration is not fresh."""


class SeedDifference(TypedDict):
    """Two means (0 … 100), A − B in points with its interval, and which of the two is higher.

    `higher` is None where the interval holds 0 or there are too few rows; `detectable` is the
    difference found with 95 % confidence in 80 % of repetitions.
    """

    a: float
    b: float
    difference: float
    interval: Interval
    detectable: float
    higher: Side | None


class SeedCell(SeedDifference):
    """Of one configuration: its rows of each side, and whether both seeds ask the same."""

    n_a: int
    n_b: int
    same_questions: bool


class SeedMean(SeedDifference):
    """Of the mean over so many configurations."""

    configurations: int


class SeedComparison(TypedDict):
    """What `ruler compare` found of the results of two seeds; `all` is None if no row is fresh."""

    format: int
    seeds: dict[Side, int]
    a: ComparedModel
    b: ComparedModel
    configurations: dict[str, SeedCell]
    lengths: dict[str, SeedMean]
    all: SeedMean | None


def seeds_of(a: Results, b: Results) -> dict[Side, int] | None:
    """The seeds of two results, if both are known and differ."""
    one, other = (results["dataset"].get("seed") for results in (a, b))
    if one is None or other is None or one == other:
        return None
    return {"a": one, "b": other}


def compare_seeds(a: Results, b: Results) -> SeedComparison:
    """The unpaired comparison of two results: by configuration, by length, and over all.

    Raises RulerError if the seeds are not known or the same, or if data set, data version, tasks or
    rules differ, so that a difference would not be that of the rows alone.
    """
    seeds = seeds_of(a, b)
    if seeds is None:
        raise RulerError("These are not results of two seeds: compare them row by row.")
    _alike(a, b)
    cells = {name: b["configurations"][name] for name in a["configurations"].keys() & _rows(b)}
    names = [name for name, cell in a["configurations"].items() if name in cells and cell["n"]]
    if not names:
        raise RulerError("The two results share no configuration: score both seeds on the same.")
    same = {name for name in names if _ask_the_same(a["configurations"][name], cells[name])}
    fresh = [name for name in names if name not in same]
    lengths, counted = averaged(b, fresh)
    found: dict[str, SeedCell] = {}
    for name in names:
        difference = _difference([name], a, b)
        sizes = [len(side["configurations"][name]["rows"]["index"]) for side in (a, b)]
        found[name] = {
            **difference,
            "n_a": sizes[0],
            "n_b": sizes[1],
            "same_questions": name in same,
        }
    return {
        "format": 1,
        "seeds": seeds,
        "a": model_of(a, names),
        "b": model_of(b, names),
        "configurations": found,
        "lengths": {length: _mean(some, a, b) for length, some in lengths.items()},
        "all": _mean(counted, a, b) if counted else None,
    }


def _rows(results: Results) -> set[str]:
    """The configurations that have rows."""
    return {name for name, cell in results["configurations"].items() if cell["n"]}


def _alike(a: Results, b: Results) -> None:
    """Refuse results that differ in more than the rows."""
    for name in ("name", "data_version", "parameters"):
        one, other = a["dataset"].get(name), b["dataset"].get(name)
        if one is not None and other is not None and one != other:
            shown = f": {one} and {other}" if isinstance(one, str) else ""
            raise RulerError(
                f"The results of the two seeds differ in the data set's {name}{shown}. Build both "
                "releases alike, but for --seed."
            )
    first, second = cast(Mapping[str, object], a), cast(Mapping[str, object], b)
    for name in ("score_version", "rules", "mode"):
        if first[name] != second[name]:
            raise RulerError(f"The results differ in {name}: run and score both the same way.")


def _ask_the_same(a: Cell, b: Cell) -> bool:
    """Whether most rows have the question and the references of the other seed's row."""
    ours, theirs = _asked(a), _asked(b)
    both = ours.keys() & theirs.keys()
    return sum(ours[index] == theirs[index] for index in both) > _SAME * len(both)


def _asked(cell: Cell) -> dict[int, tuple[str, str]]:
    rows = cell["rows"]
    questions = rows["question"] or [str(index) for index in rows["index"]]
    return dict(zip(rows["index"], zip(questions, rows["references"], strict=True), strict=True))


def _mean(names: Sequence[str], a: Results, b: Results) -> SeedMean:
    return {"configurations": len(names), **_difference(names, a, b)}


def _difference(names: Sequence[str], a: Results, b: Results) -> SeedDifference:
    left, right = (
        units({name: scores_in(cells[name]) for name in names}, cells)
        for cells in (a["configurations"], b["configurations"])
    )
    (one, low_a, high_a), (other, low_b, high_b) = map(_estimate, (left, right))
    difference = one - other
    low = difference - float(np.hypot(one - low_a, high_b - other))
    high = difference + float(np.hypot(high_a - one, other - low_b))
    found = [moments(*side) for side in (left, right)]
    few = min(side.rows for side in found) < FEWEST_ROWS
    higher: Side | None = "a" if low > 0 else "b" if high < 0 else None
    return {
        "a": 100 * one,
        "b": 100 * other,
        "difference": 100 * difference,
        "interval": [100 * low, 100 * high],
        "detectable": 100 * detectable(_error(low, high)),
        "higher": None if few else higher,
    }


def _error(low: float, high: float) -> float:
    """The standard error of which an interval of CONFIDENCE would be so wide."""
    from scipy.special import ndtri

    return (high - low) / 2 / float(ndtri((1 + CONFIDENCE) / 2))


def _estimate(found: Units) -> tuple[float, float, float]:
    """The mean (0 … 1) and its interval."""
    bounds = interval(*found)
    assert bounds  # there are rows
    return moments(*found).mean, *bounds
