"""Two models on the same rows: paired differences, and what so many rows can show at all.

    compare(load(Path("a/results.json")), load(Path("b/results.json")))["all"]["difference"]

Differences are A − B in points (−100 … 100). Intervals are those of analysis/paired.py. p counts
all ways to sign the differences (analysis/exact_test.py: McNemar's exact one, if all scores are 0
or 1); `p_holm` is adjusted for all tests of the comparison by Holm's method. `better` names the
model that so many rows tell to be it: the interval excludes 0, p is below 0.05, and there are ten
independent rows or more. `detectable` is the difference found with 95 % confidence in 80 % of
repetitions, given the rows' observed variance; `least` the smallest 0/1 difference that can be
significant at all: six rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np
from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError
from ruler_eval.analysis.decide import Decision
from ruler_eval.analysis.exact_test import holm, mcnemar, signed_p
from ruler_eval.analysis.paired import PairedMean, paired_mean, percent
from ruler_eval.score.evidence_alone import is_alone
from ruler_eval.score.intervals import (
    CONFIDENCE,
    FEWEST_ROWS,
    NO_SPREAD,
    POWER,
    SMALLEST_MCNEMAR,
    units,
)
from ruler_eval.score.results_file import (
    Interval,
    Results,
    answered_rows,
    rows_of,
    scores_in,
    warnings_of,
)
from ruler_eval.score.trust.stopped import refuse_stopped

_UPPER = (1 + CONFIDENCE) / 2
ASKED: tuple[Literal["references", "question", "prompt"], ...] = (
    *("references", "question", "prompt"),
)
"""The columns of digests that say what a row asks."""
Side = Literal["a", "b"]
Pairs = Mapping[str, Mapping[str, np.ndarray]]
"""By configuration: the `index` of its rows, and their scores `a` and `b`, 0 … 1."""


class RowCounts(TypedDict):
    """How many rows of a model failed, do not fit its window, were truncated, or are missing."""

    failed: int
    does_not_fit: int
    truncated: int
    missing: int


class ComparedModel(TypedDict):
    """Whose results they are, and on which rows; `whole`: every row of them has an answer.

    `doubts` are what keeps them from being sure, in words. `counts` are those of the configurations
    that are compared.
    """

    model: str | None
    mode: str | None
    partial: bool
    rows: str
    doubts: list[str]
    whole: bool
    counts: RowCounts


class Difference(TypedDict):
    """Two means (0 … 100) and their difference, in points; see the module's docstring.

    `spread` is the standard error of the difference.
    """

    a: float
    b: float
    difference: float
    interval: Interval
    detectable: float
    spread: float
    independent_rows: float
    better: Side | None


class ExactTest(TypedDict):
    """p, raw and by Holm; rows only one of the two got right and the least difference, of 0/1."""

    only_a: int | None
    only_b: int | None
    p: float | None
    p_holm: float | None
    least: float | None


class CellDifference(Difference, ExactTest):
    """Of one configuration, over n rows."""

    n: int


class MeanDifference(Difference):
    """Of the mean over so many configurations."""

    configurations: int


class AnsweredRows(MeanDifference):
    """The mean difference over the rows that neither model lacks; `unanswered` rows are left out.

    A row is unanswered if it failed or is missing; in `all` it counts as wrong.
    """

    unanswered: int


class Comparison(TypedDict):
    """What `ruler compare` found; `decision` if a limit was given.

    `answered` is there if rows are unanswered; None if no row was answered by both.
    """

    format: int
    a: ComparedModel
    b: ComparedModel
    configurations: dict[str, CellDifference]
    lengths: dict[str, MeanDifference]
    all: MeanDifference
    answered: NotRequired[AnsweredRows | None]
    decision: NotRequired[Decision]


def compare(a: Results, b: Results) -> Comparison:
    """The paired comparison of two results: by configuration, by length, and over all.

    Raises RulerError if they share no rows, if a row does not ask the same in both, or if they were
    scored on different data or by different rules.
    """
    for results in (a, b):
        refuse_stopped(results)
    cells = paired_cells(a, b)
    tests = {name: p for name, pair in cells.items() if (p := _tested(pair)["p"]) is not None}
    adjusted = dict(zip(tests, holm([*tests.values()]), strict=True))
    lengths, counted = averaged(a, [*cells])
    found: Comparison = {
        "format": 1,
        "a": model_of(a, [*cells]),
        "b": model_of(b, [*cells]),
        "configurations": {name: _cell(name, cells, a, adjusted.get(name)) for name in cells},
        "lengths": {
            length: {"configurations": len(names), **mean_difference(names, cells, a)}
            for length, names in lengths.items()
        },
        "all": {"configurations": len(counted), **mean_difference(counted, cells, a)},
    }
    if unanswered := _unanswered(a, b, counted):
        found["answered"] = _over_answered(cells, unanswered, a)
    return found


def _unanswered(a: Results, b: Results, names: Sequence[str]) -> dict[str, set[int]]:
    """Return the rows that failed or are missing in either run, of configurations that have any."""
    found = {}
    for name in names:
        cells = (a["configurations"][name], b["configurations"][name])
        if rows := {index for cell in cells for index in cell["rows"].get("unanswered", ())}:
            found[name] = rows
    return found


def _over_answered(
    cells: Pairs, unanswered: Mapping[str, set[int]], a: Results
) -> AnsweredRows | None:
    """Compare over the rows that both models answered."""
    answered = {}
    for name, pair in cells.items():
        kept = ~np.isin(pair["index"], [*unanswered.get(name, ())])
        if kept.any():
            answered[name] = {column: values[kept] for column, values in pair.items()}
    names = averaged(a, [*answered])[1] if answered else []
    if not names:
        return None
    return {
        "configurations": len(names),
        "unanswered": sum(map(len, unanswered.values())),
        **mean_difference(names, answered, a),
    }


def averaged(results: Results, names: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The configurations of each length, and those of the mean over all: without the control 0k."""
    cells, lengths = results["configurations"], dict[str, list[str]]()
    for name in names:
        lengths.setdefault(cells[name]["length"], []).append(name)
    return lengths, [name for name in names if not is_alone(cells[name])] or [*names]


def model_of(results: Results, names: Collection[str]) -> ComparedModel:
    """Whose results these are, on how many of the rows, and what became of those compared."""
    answered, total = answered_rows(results)
    cells = [cell for name, cell in results["configurations"].items() if name in names]
    does_not_fit = sum(cell["does_not_fit"] for cell in cells)
    return {
        "model": results["model"],
        "mode": results["mode"],
        "partial": results["partial"],
        "rows": rows_of(results),
        "doubts": warnings_of(results),
        "whole": answered == total,
        "counts": {
            "failed": sum(cell["failed"] for cell in cells) - does_not_fit,
            "does_not_fit": does_not_fit,
            "truncated": sum(cell["cut"] for cell in cells),
            "missing": sum(cell["missing"] for cell in cells),
        },
    }


def paired_cells(a: Results, b: Results) -> Pairs:
    """The rows of two results that are the same ones; RulerError as `compare`."""
    _same(a, b)
    common = [name for name in a["configurations"] if name in b["configurations"]]
    for name in common:
        _ask_the_same(a, b, name)
    cells = {name: pair for name in common if len((pair := _paired(a, b, name))["index"])}
    if not cells:
        raise RulerError("The two results share no rows: score them on the same configurations.")
    return cells


def _same(a: Results, b: Results) -> None:
    if a["dataset"]["name"] != b["dataset"]["name"]:
        raise RulerError(f"'{a['dataset']['name']}' and '{b['dataset']['name']}' share no rows.")
    for name in ("score_version", "rules"):
        if a[name] != b[name]:
            raise RulerError(f"The results differ in {name}: score both runs again, the same way.")
    ours, theirs = a["dataset"].get("rows", {}), b["dataset"].get("rows", {})
    for config in ours:
        if config in theirs and ours[config] != theirs[config]:
            raise RulerError(f"'{config}' was scored on different rows: run both on one release.")


def _ask_the_same(a: Results, b: Results, name: str) -> None:
    """Refuse a configuration whose rows have other references, questions or prompts in A than in B.

    Digests that only one of the two knows are passed over; those of the references both have.
    """
    ours, theirs = a["configurations"][name]["rows"], b["configurations"][name]["rows"]
    for kind in ASKED:
        left, right = ours.get(kind), theirs.get(kind)
        if left is None or right is None:
            continue
        known = dict(zip(theirs["index"], right, strict=True))
        if differ := [i for i, d in zip(ours["index"], left, strict=True) if known.get(i, d) != d]:
            raise RulerError(
                f"Row {differ[0]} of '{name}' has another {kind.removesuffix('s')} in A than in B "
                f"({len(differ)} rows differ): the two models were not asked the same, so their "
                "rows cannot be paired."
            )


def _paired(a: Results, b: Results, name: str) -> dict[str, np.ndarray]:
    ours, theirs = (scores_in(results["configurations"][name]) for results in (a, b))
    index = sorted(ours.keys() & theirs.keys())
    left, right = (np.array([side[i] for i in index], dtype=float) for side in (ours, theirs))
    return {"index": np.array(index), "a": left, "b": right}


def _cell(name: str, cells: Pairs, a: Results, p_holm: float | None) -> CellDifference:
    found, tested = mean_difference([name], cells, a), _tested(cells[name])
    if tested["p"] is not None and tested["p"] >= 1 - CONFIDENCE:
        found["better"] = None
    return {"n": len(cells[name]["index"]), **found, **tested, "p_holm": p_holm}


def paired_over(cells: Pairs, a: Results, weights: Mapping[str, float] | None = None) -> PairedMean:
    """The weighted mean of A − B over paired configurations; equal weights if there are none."""
    drops = {n: dict(zip(c["index"], c["a"] - c["b"], strict=True)) for n, c in cells.items()}
    return paired_mean(*units(drops, a["configurations"], weights))


def mean_difference(names: Sequence[str], cells: Pairs, a: Results) -> Difference:
    """The difference of the means over some of the paired configurations; `a` are A's results."""
    from scipy.special import ndtri

    means = {side: float(np.mean([cells[n][side].mean() for n in names])) for side in ("a", "b")}
    found = paired_over({name: cells[name] for name in names}, a)
    low, high = percent(found)
    better: Side | None = "a" if low > 0 else "b" if high < 0 else None
    known = found.error if found.error >= NO_SPREAD else (high - low) / 200 / float(ndtri(_UPPER))
    return {
        "a": 100 * means["a"],
        "b": 100 * means["b"],
        "difference": 100 * found.mean,
        "interval": [low, high],
        "detectable": 100 * detectable(known),
        "spread": 100 * found.error,
        "independent_rows": found.rows,
        "better": better if found.rows >= FEWEST_ROWS else None,
    }


def detectable(standard_error: float) -> float:
    """The difference that is found with CONFIDENCE, two-sided, in POWER of all repetitions."""
    from scipy.special import ndtri

    return float(ndtri(_UPPER) + ndtri(POWER)) * standard_error


def _tested(pair: Mapping[str, np.ndarray]) -> ExactTest:
    if not all(np.isin(pair[side], (0.0, 1.0)).all() for side in ("a", "b")):
        p = signed_p(pair["a"] - pair["b"])
        return {"only_a": None, "only_b": None, "p": p, "p_holm": None, "least": None}
    only_a, only_b = int((pair["a"] > pair["b"]).sum()), int((pair["b"] > pair["a"]).sum())
    rows, p = len(pair["index"]), mcnemar(only_a, only_b)
    least = 100 * SMALLEST_MCNEMAR / rows if rows >= SMALLEST_MCNEMAR else None
    return {"only_a": only_a, "only_b": only_b, "p": p, "p_holm": None, "least": least}
