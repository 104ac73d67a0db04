"""Compares models: two on the same rows, one on the rows of two seeds, three or more by ranks.

    compare(load(Path("a/results.json")), load(Path("b/results.json")))["all"]["difference"]
    compare_seeds(published, fresh)["all"]["interval"]
    ranks({"qwen": …, "llama": …, "phi": …})["average"][0]

Two models are paired by row. Differences are A − B in points (−100 … 100); intervals and p values
are those of score/intervals.py. `p_holm` is adjusted for all tests of the comparison by Holm's
method. `better` names the model that these rows show to be better: the interval excludes 0,
`p_holm` is below 0.05, and there are ten independent rows or more. `detectable` is the difference
found with 95 % confidence in 80 % of repetitions, given the observed variance of the rows; `least`
the smallest 0/1 difference that can be significant at all: six rows.

The rows of two seeds ask something else, so no row has a partner. The interval of such a difference
is made of the two scores' own intervals by the method of variance estimates recovery (Zou and
Donner, 2008): it has a width at scores of 0 and 100 too. Rows that ask the same under both seeds,
as the questions of a corpus do, are shown and counted in no mean: a model may know them in either.

A model's rank lies, with 95 % confidence, between 1 + the models that are surely better and the
number of models less those surely worse, by paired intervals of all its pairs together: 1 - 0.05 /
pairs each (Mogstad, Romano, Shaikh and Wilhelm, 2024). Averages are over the rows that all models
share: the mean at each length, then over lengths, weighted alike, rising (inc) or falling (dec)
with the length, as in RULER's tables.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError
from ruler_eval.score.effective_length import weights
from ruler_eval.score.intervals import (
    CONFIDENCE,
    FEWEST_ROWS,
    NO_SPREAD,
    SMALLEST_MCNEMAR,
    PairedMean,
    detectable,
    holm,
    interval,
    mcnemar,
    moments,
    noninferiority_interval,
    paired_interval,
    paired_mean,
    signed_p,
    units,
)
from ruler_eval.score.results_file import (
    Cell,
    Interval,
    Results,
    answered_rows,
    is_alone,
    lengths_of,
    rows_of,
    scores_in,
    scores_of,
    warnings_of,
)
from ruler_eval.score.stopped import refuse_stopped

ASKED_COLUMNS: tuple[Literal["references", "question", "prompt"], ...] = (
    "references",
    "question",
    "prompt",
)
"""The columns of digests that say what a row asks."""
SAME_QUESTIONS = 0.5
"""Two seeds ask the same if more than this share of the rows does."""
Side = Literal["a", "b"]
Verdict = Literal["smaller", "larger", "unknown"]
EXIT_CODES: dict[Verdict, int] = {"smaller": 0, "larger": 1, "unknown": 3}
"""What `ruler compare --max-drop` and `ruler decide` end with; 2 is a mistake in what was given."""
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

    `spread` is the standard error of the difference; `noninferiority` is the 95 % interval that is
    compared with a limit (intervals.noninferiority_interval).
    """

    a: float
    b: float
    difference: float
    interval: Interval
    noninferiority: Interval
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
    """The difference of one configuration, over n rows."""

    n: int


class MeanDifference(Difference):
    """The difference of the means over a number of configurations."""

    configurations: int


class AnsweredRows(MeanDifference):
    """The mean difference over the rows that neither model lacks; `unanswered` rows are left out.

    A row is unanswered if it failed or is missing; in `all` it counts as wrong.
    """

    unanswered: int


class Decision(TypedDict):
    """Whether B lost less than `max_drop` points against A.

    `rows` are the rows of a configuration on average; `whole` says whether they are all.
    `answered` is what the verdict would be over the rows that both models answered, if some failed
    or are missing.
    """

    max_drop: float
    drop: float
    interval: Interval
    verdict: Verdict
    rows: int
    whole: bool
    answered: NotRequired[Verdict]


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


class SeedComparison(TypedDict):
    """What `ruler compare` found of the results of two seeds; `all` is None if no row is fresh."""

    format: int
    seeds: dict[Side, int]
    a: ComparedModel
    b: ComparedModel
    configurations: dict[str, SeedCell]
    lengths: dict[str, SeedMean]
    all: SeedMean | None


class Ranked(TypedDict):
    """A model's average (0 … 100), its rank, 1 for the best, and its first and last possible."""

    model: str
    score: float
    rank: int
    ranks: list[int]


class Ranking(TypedDict):
    """The models by each average, the best first, and whose results they are, as given."""

    average: list[Ranked]
    weighted_inc: list[Ranked]
    weighted_dec: list[Ranked]
    models: list[ComparedModel]


# Two models on the same rows


def compare(a: Results, b: Results) -> Comparison:
    """Compare two results row by row: by configuration, by length, and over all.

    Raises RulerError if they share no rows, if a row does not ask the same in both, or if they were
    scored on different data or by different rules.
    """
    for results in (a, b):
        refuse_stopped(results)
    cells = paired_cells(a, b)
    tests = {name: _test(pair) for name, pair in cells.items()}
    p_values = {name: test["p"] for name, test in tests.items() if test["p"] is not None}
    for name, p_holm in zip(p_values, holm([*p_values.values()]), strict=True):
        tests[name] = {**tests[name], "p_holm": p_holm}
    lengths, counted = averaged(a, [*cells])
    found: Comparison = {
        "format": 1,
        "a": model_of(a, [*cells]),
        "b": model_of(b, [*cells]),
        "configurations": {
            name: _cell_difference(name, cells, a, test) for name, test in tests.items()
        },
        "lengths": {
            length: {"configurations": len(names), **mean_difference(names, cells, a)}
            for length, names in lengths.items()
        },
        "all": {"configurations": len(counted), **mean_difference(counted, cells, a)},
    }
    if unanswered := unanswered_rows(a, b, counted):
        found["answered"] = _over_answered(cells, unanswered, a)
    return found


def decision(found: Comparison, max_drop: float) -> Decision:
    """Compare the drop from A to B over all configurations with the largest that is allowed.

    The question is about other rows like these: the verdict is `smaller` if the whole
    noninferiority interval lies below `max_drop` (points), `larger` if it lies above, and unknown
    otherwise, or with fewer than FEWEST_ROWS independent rows. It holds for one look at a number
    of rows chosen in advance; gate/ has the rule for several looks. Raises RulerError for a limit
    that is not a number.
    """
    if not math.isfinite(max_drop):
        raise RulerError(f"--max-drop {max_drop} is not a number of points, such as 1.5.")
    every = found["all"]
    sizes = [cell["n"] for cell in found["configurations"].values()]
    decided = Decision(
        max_drop=max_drop,
        drop=every["difference"],
        interval=[*every["noninferiority"]],
        verdict=_verdict(every, max_drop),
        rows=round(sum(sizes) / len(sizes)),
        whole=found["a"]["whole"] and found["b"]["whole"],
    )
    if "answered" in found:
        answered = found["answered"]
        decided["answered"] = _verdict(answered, max_drop) if answered else "unknown"
    return decided


def _verdict(difference: Difference, max_drop: float) -> Verdict:
    """Compare one difference of two means with the limit."""
    low, high = difference["noninferiority"]
    if difference["independent_rows"] < FEWEST_ROWS:
        return "unknown"
    return "smaller" if high < max_drop else "larger" if low > max_drop else "unknown"


def averaged(results: Results, names: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the configurations of each length, and those of the mean over all: without 0k."""
    cells, lengths = results["configurations"], dict[str, list[str]]()
    for name in names:
        lengths.setdefault(cells[name]["length"], []).append(name)
    return lengths, [name for name in names if not is_alone(cells[name])] or [*names]


def model_of(results: Results, names: Collection[str]) -> ComparedModel:
    """Return whose results these are, on how many rows, and what became of those compared."""
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
    """Return the rows that two results share. Raises RulerError as `compare` does."""
    check_same_data(a, b)
    cells = {}
    for name, ours in a["configurations"].items():
        if (theirs := b["configurations"].get(name)) is None:
            continue
        check_same_rows(name, ours, theirs)
        left, right = scores_in(ours), scores_in(theirs)
        if index := sorted(left.keys() & right.keys()):
            cells[name] = {
                "index": np.array(index),
                "a": np.array([left[i] for i in index], dtype=float),
                "b": np.array([right[i] for i in index], dtype=float),
            }
    if not cells:
        raise RulerError("The two results share no rows: score them on the same configurations.")
    return cells


def check_same_data(a: Results, b: Results) -> None:
    """Refuse results of two data sets, of other rows, or by other rules."""
    if a["dataset"]["name"] != b["dataset"]["name"]:
        raise RulerError(f"'{a['dataset']['name']}' and '{b['dataset']['name']}' share no rows.")
    for key in ("score_version", "rules"):
        if a[key] != b[key]:
            raise RulerError(f"The results differ in {key}: score both runs again, the same way.")
    ours, theirs = a["dataset"].get("rows", {}), b["dataset"].get("rows", {})
    for config in ours:
        if config in theirs and ours[config] != theirs[config]:
            raise RulerError(f"'{config}' was scored on different rows: run both on one release.")


def check_same_rows(name: str, a: Cell, b: Cell) -> None:
    """Refuse a configuration whose rows have other references, questions or prompts in A than in B.

    A column of digests that only one of the two has is passed over.
    """
    for column in ASKED_COLUMNS:
        left, right = a["rows"].get(column), b["rows"].get(column)
        if left is None or right is None:
            continue
        other = dict(zip(b["rows"]["index"], right, strict=True))
        ours = zip(a["rows"]["index"], left, strict=True)
        if differ := [index for index, digest in ours if other.get(index, digest) != digest]:
            raise RulerError(
                f"Row {differ[0]} of '{name}' has another {column.removesuffix('s')} in A than in "
                f"B ({len(differ)} rows differ): the two models were not asked the same, so their "
                "rows cannot be paired."
            )


def unanswered_rows(a: Results, b: Results, names: Sequence[str]) -> dict[str, set[int]]:
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


def _cell_difference(name: str, cells: Pairs, a: Results, test: ExactTest) -> CellDifference:
    found = mean_difference([name], cells, a)
    if test["p_holm"] is not None and test["p_holm"] >= 1 - CONFIDENCE:
        found = {**found, "better": None}
    return {"n": len(cells[name]["index"]), **found, **test}


def paired_over(cells: Pairs, a: Results, shares: Mapping[str, float] | None = None) -> PairedMean:
    """Return the mean of A − B over paired configurations, weighted alike or by `shares`."""
    drops = {n: dict(zip(c["index"], c["a"] - c["b"], strict=True)) for n, c in cells.items()}
    return paired_mean(*units(drops, a["configurations"], shares))


def mean_difference(names: Sequence[str], cells: Pairs, a: Results) -> Difference:
    """Return the difference of the means over some of the paired configurations.

    `a` are the results of A.
    """
    found = paired_over({name: cells[name] for name in names}, a)
    low, high = paired_interval(found)
    better: Side | None = "a" if low > 0 else "b" if high < 0 else None
    error = found.error if found.error >= NO_SPREAD else _standard_error(low, high)
    return {
        "a": 100 * float(np.mean([cells[name]["a"].mean() for name in names])),
        "b": 100 * float(np.mean([cells[name]["b"].mean() for name in names])),
        "difference": 100 * found.mean,
        "interval": [100 * low, 100 * high],
        "noninferiority": [100 * end for end in noninferiority_interval(found)],
        "detectable": 100 * detectable(error),
        "spread": 100 * found.error,
        "independent_rows": found.rows,
        "better": better if found.rows >= FEWEST_ROWS else None,
    }


def _standard_error(low: float, high: float) -> float:
    """Return the standard error with which an interval of CONFIDENCE would have these ends."""
    from scipy.special import ndtri

    return (high - low) / 2 / float(ndtri((1 + CONFIDENCE) / 2))


def _test(pair: Mapping[str, np.ndarray]) -> ExactTest:
    """Test whether the rows of one configuration tell the two models apart."""
    if not all(np.isin(pair[side], (0.0, 1.0)).all() for side in ("a", "b")):
        p = signed_p(pair["a"] - pair["b"])
        return {"only_a": None, "only_b": None, "p": p, "p_holm": None, "least": None}
    only_a, only_b = int((pair["a"] > pair["b"]).sum()), int((pair["b"] > pair["a"]).sum())
    rows, p = len(pair["index"]), mcnemar(only_a, only_b)
    least = 100 * SMALLEST_MCNEMAR / rows if rows >= SMALLEST_MCNEMAR else None
    return {"only_a": only_a, "only_b": only_b, "p": p, "p_holm": None, "least": least}


# One model on the rows of two seeds


def seeds_of(a: Results, b: Results) -> dict[Side, int] | None:
    """Return the seeds of two results, if both are known and differ."""
    one, other = a["dataset"].get("seed"), b["dataset"].get("seed")
    if one is None or other is None or one == other:
        return None
    return {"a": one, "b": other}


def compare_seeds(a: Results, b: Results) -> SeedComparison:
    """Compare two results without pairs: by configuration, by length, and over all.

    Raises RulerError if the seeds are not known or the same, or if data set, data version, tasks or
    rules differ, so that a difference would not be that of the rows alone.
    """
    seeds = seeds_of(a, b)
    if seeds is None:
        raise RulerError("These are not results of two seeds: compare them row by row.")
    _check_alike(a, b)
    ours, theirs = a["configurations"], b["configurations"]
    names = [n for n, cell in ours.items() if n in theirs and cell["n"] and theirs[n]["n"]]
    if not names:
        raise RulerError("The two results share no configuration: score both seeds on the same.")
    same = {name for name in names if _ask_the_same(ours[name], theirs[name])}
    lengths, counted = averaged(b, [name for name in names if name not in same])
    return {
        "format": 1,
        "seeds": seeds,
        "a": model_of(a, names),
        "b": model_of(b, names),
        "configurations": {
            name: {
                **_seed_difference([name], a, b),
                "n_a": len(ours[name]["rows"]["index"]),
                "n_b": len(theirs[name]["rows"]["index"]),
                "same_questions": name in same,
            }
            for name in names
        },
        "lengths": {
            length: {"configurations": len(some), **_seed_difference(some, a, b)}
            for length, some in lengths.items()
        },
        "all": {"configurations": len(counted), **_seed_difference(counted, a, b)}
        if counted
        else None,
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


def _ask_the_same(a: Cell, b: Cell) -> bool:
    """Whether most rows have the question and the references of the other seed's row."""
    ours, theirs = _asked(a), _asked(b)
    both = ours.keys() & theirs.keys()
    return sum(ours[index] == theirs[index] for index in both) > SAME_QUESTIONS * len(both)


def _asked(cell: Cell) -> dict[int, tuple[str, str]]:
    rows = cell["rows"]
    questions = rows["question"] or [str(index) for index in rows["index"]]
    return dict(zip(rows["index"], zip(questions, rows["references"], strict=True), strict=True))


def _seed_difference(names: Sequence[str], a: Results, b: Results) -> SeedDifference:
    estimates = []
    for results in (a, b):
        cells = results["configurations"]
        strata = units({name: scores_in(cells[name]) for name in names}, cells)
        bounds = interval(*strata)
        assert bounds  # there are rows
        estimates.append((moments(*strata), *bounds))
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
        "detectable": 100 * detectable(_standard_error(low, high)),
        "higher": None if min(one.rows, other.rows) < FEWEST_ROWS else higher,
    }


# Three models or more


def ranks(results: Mapping[str, Results]) -> Ranking:
    """Rank models by their averages over the rows that all of them share.

    Raises RulerError if they share no rows, or as `compare` does for two of them.
    """
    for each in results.values():
        refuse_stopped(each)
    first = next(iter(results.values()))
    scores = {model: scores_of(each) for model, each in results.items()}
    shared = {}
    for name, cell in first["configurations"].items():
        rows = set.intersection(*({*known.get(name, ())} for known in scores.values()))
        if rows and not is_alone(cell):
            shared[name] = sorted(rows)
    if not shared:
        raise RulerError("The results share no rows: score them on the same configurations.")
    pairs = {
        (a, b): {n: c for n, c in paired_cells(results[a], results[b]).items() if n in shared}
        for a, b in combinations(results, 2)
    }
    means = {
        model: {n: float(np.mean([known[n][i] for i in rows])) for n, rows in shared.items()}
        for model, known in scores.items()
    }
    cells = {name: first["configurations"][name] for name in shared}
    lengths = lengths_of(cells.values())
    counts = Counter(cell["length"] for cell in cells.values())

    def ranked(length_weights: Sequence[int]) -> list[Ranked]:
        by_length = dict(zip(lengths, length_weights, strict=True))
        shares = {n: by_length[c["length"]] / counts[c["length"]] for n, c in cells.items()}
        return _ranked(results, means, shares, pairs)

    return {
        "average": ranked([1] * len(lengths)),
        "weighted_inc": ranked(weights(len(lengths), "inc")),
        "weighted_dec": ranked(weights(len(lengths), "dec")),
        "models": [model_of(each, shared) for each in results.values()],
    }


def _ranked(
    results: Mapping[str, Results],
    means: Mapping[str, Mapping[str, float]],
    shares: Mapping[str, float],
    pairs: Mapping[tuple[str, str], Pairs],
) -> list[Ranked]:
    """Rank the models by one weighting of the configurations."""
    total = sum(shares.values())
    scores = {
        model: sum(share * 100 * mine[name] for name, share in shares.items()) / total
        for model, mine in means.items()
    }
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(results) - 1)
    better, worse = dict.fromkeys(results, 0), dict.fromkeys(results, 0)
    for (a, b), cells in pairs.items():
        found = paired_over(cells, results[a], shares)
        low, high = paired_interval(found, confidence)
        if found.rows >= FEWEST_ROWS and not low <= 0 <= high:
            winner, loser = (a, b) if low > 0 else (b, a)
            better[loser] += 1
            worse[winner] += 1
    return [
        {
            "model": model,
            "score": scores[model],
            "rank": 1 + sum(other > scores[model] for other in scores.values()),
            "ranks": [1 + better[model], len(results) - worse[model]],
        }
        for model in sorted(scores, key=lambda model: -scores[model])
    ]
