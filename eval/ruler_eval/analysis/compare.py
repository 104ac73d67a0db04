"""Compare two models on the same rows, row by row.

    compare(load(Path("a/results.json")), load(Path("b/results.json")))["all"]["difference"]

Differences are A − B in points (−100 … 100); intervals and p values are those of
score/intervals.py. `p_holm` is adjusted for all tests of the comparison by Holm's method. `better`
is the model that these rows show to be better: the interval excludes 0, `p_holm` is below 0.05, and
there are at least ten independent rows; of the means at several lengths, also after Holm's
adjustment for their number. `detectable` is the difference that is significant in 80 %
of repetitions, given the observed variance of the rows; `smallest` is the smallest difference that
this number of right or wrong rows can show (that of six rows).

seeds.py compares one model on the rows of two seeds, ranks.py three models or more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from typing_extensions import NotRequired, TypedDict, final

from ruler_common.errors import RulerError
from ruler_eval.score.intervals import (
    CONFIDENCE,
    MIN_INDEPENDENT_ROWS,
    SMALLEST_MCNEMAR,
    PairedMean,
    detectable,
    difference_interval,
    difference_p,
    holm,
    mcnemar,
    paired_mean,
    signed_p,
    strata_of,
)
from ruler_eval.score.own_run import stopped_at
from ruler_eval.score.results import (
    UNANSWERED,
    Cell,
    Interval,
    Results,
    answered_rows,
    describe_rows,
    documents_of,
    is_control,
    warnings_of,
)
from ruler_eval.score.troubles import Trouble, count_troubles

ASKED_COLUMNS: tuple[Literal["references", "question", "prompt"], ...] = (
    "references",
    "question",
    "prompt",
)
"""The columns of digests that say what a row asks."""
Side = Literal["a", "b"]
Verdict = Literal["smaller", "larger", "unknown"]
EXIT_CODES: dict[Verdict, int] = {"smaller": 0, "larger": 1, "unknown": 3}
"""What `ruler compare --max-drop` and `ruler decide` end with; 2 is a mistake in the arguments."""
NOT_SETTINGS = {
    "format",
    "model",
    "dataset",
    "data_version",
    "data_revision",
    "rows",
    "limit",
    "sessions",
    "decide",
    "decision",
    "estimate",
}
"""Fields of run.json that are not settings of the model or backend, or are reported elsewhere."""
NOT_RECORDED = "not recorded"


class ComparedModel(TypedDict):
    """The model of one of the results, and its rows."""

    model: str | None
    mode: str | None
    partial: bool
    rows: str  # which rows were scored, in words
    warnings: list[str]  # about the results
    whole: bool  # whether every row has an answer
    counts: dict[Trouble, int]  # of the configurations that are compared, without zeros


class Difference(TypedDict):
    """The means (0 … 100) over a number of configurations and their difference, in points.

    See the module's docstring. `spread` is the standard error of the difference.
    """

    configurations: int
    a: float
    b: float
    difference: float
    interval: Interval
    detectable: float
    spread: float
    independent_rows: float
    better: Side | None


class CellDifference(Difference):
    """The difference of one configuration, and its exact test."""

    n: int  # rows
    task_interval: Interval  # one of intervals that hold for all configurations together, 95 %
    only_a: int | None  # rows that only A got right, if all rows are right or wrong
    only_b: int | None
    p: float | None
    p_holm: float | None
    smallest: float | None


class AnsweredRows(Difference):
    """The difference over the rows that both models answered.

    The `unanswered` rows, which failed or are missing, are left out; in `all` they count as wrong.
    """

    unanswered: int


class Decision(TypedDict):
    """Whether B lost less than `max_drop` points against A."""

    max_drop: float
    drop: float
    interval: Interval
    verdict: Verdict
    mean: Verdict  # about the mean; the verdict, unless there is `max_task_drop`
    rows: int  # of a configuration, on average
    whole: bool  # whether these are all rows
    answered: NotRequired[Verdict]  # by the rows that both answered, if some failed or are missing
    max_task_drop: NotRequired[float]
    tasks: NotRequired[Verdict]  # whether every configuration lost less than `max_task_drop`


@final
class Comparison(TypedDict):
    """The result of `ruler compare` for two models."""

    format: int
    a: ComparedModel
    b: ComparedModel
    settings: dict[str, list[str]]  # the settings of run.json that differ, as [A's, B's]
    unpaired: dict[Side, int]  # the rows of each that the other does not have
    unpaired_configurations: dict[Side, list[str]]  # those without a row of the other
    configurations: dict[str, CellDifference]
    lengths: dict[str, Difference]
    all: Difference
    answered: NotRequired[AnsweredRows | None]
    """Only if some rows are unanswered; None if both models answered none of the rows."""
    decision: NotRequired[Decision]  # with --max-drop


@dataclass(frozen=True)
class PairedRows:
    """The rows of a configuration that two results share, by index."""

    index: np.ndarray
    a: np.ndarray
    """Scores, 0 … 1."""
    b: np.ndarray
    is_answered: np.ndarray
    """Whether both models answered the row."""


@dataclass(frozen=True)
class Pairs:
    """The rows that two results share, by configuration; `cells` and `documents` are those of A."""

    rows: Mapping[str, PairedRows]
    cells: Mapping[str, Cell]
    documents: Mapping[str, Mapping[int, str]]


def compare(a: Results, b: Results) -> Comparison:
    """Compare two results row by row: by configuration, by length, and over all.

    Raises RulerError if they share no rows, if a row does not ask the same in both, or if they were
    scored on different data or by different rules.
    """
    refuse_stopped(a)
    refuse_stopped(b)
    pairs = paired_cells(a, b)
    names = [*pairs.rows]
    paired = sum(len(rows.index) for rows in pairs.rows.values())
    lengths, counted = averaged(a, names)
    comparison: Comparison = {
        "format": 1,
        "a": model_of(a, names),
        "b": model_of(b, names),
        "settings": different_settings(a, b),
        "unpaired": {
            "a": len(a["rows"]["index"]) - paired,
            "b": len(b["rows"]["index"]) - paired,
        },
        "unpaired_configurations": {
            "a": [name for name in a["configurations"] if name not in pairs.rows],
            "b": [name for name in b["configurations"] if name not in pairs.rows],
        },
        "configurations": _cell_differences(pairs),
        "lengths": _length_differences(lengths, pairs),
        "all": mean_difference(counted, pairs),
    }
    unanswered = sum(int((~pairs.rows[name].is_answered).sum()) for name in counted)
    if unanswered:
        comparison["answered"] = None
        answered = _answered_pairs(pairs)
        names = averaged(a, [*answered.rows])[1]
        if names:
            comparison["answered"] = {**mean_difference(names, answered), "unanswered": unanswered}
    return comparison


def _length_differences(
    lengths: Mapping[str, Sequence[str]], pairs: Pairs
) -> dict[str, Difference]:
    """Compare the mean at each length; `better` is adjusted for the number of lengths by Holm."""
    p_values = [difference_p(paired_over(pairs, names)) for names in lengths.values()]
    differences = {}
    for (length, names), p in zip(lengths.items(), holm(p_values), strict=True):
        difference = mean_difference(names, pairs)
        better = difference["better"] if p < 1 - CONFIDENCE else None
        differences[length] = Difference(**{**difference, "better": better})
    return differences


def decision(
    comparison: Comparison, max_drop: float, max_task_drop: float | None = None
) -> Decision:
    """Compare the drop from A to B over all configurations with the margin `max_drop`.

    The question is about other rows like these: the verdict is `smaller` if the whole interval of
    the mean difference lies below `max_drop` (points), `larger` if it lies above, and unknown
    otherwise, or with fewer than MIN_INDEPENDENT_ROWS. With `max_task_drop`, every configuration is
    compared with that margin too: the verdict is `smaller` only if the drop of each is below it,
    and `larger` if the drop of one is above it, by intervals that hold for all of them together
    with 95 %. It is valid for one look at a number of rows chosen in advance; gate/ has the rule
    for several looks. Raises RulerError for a margin that is not a number.
    """
    for flag, margin in (("--max-drop", max_drop), ("--max-task-drop", max_task_drop)):
        if margin is not None and not math.isfinite(margin):
            raise RulerError(f"{flag} {margin} is not a number of points, such as 1.5.")
    overall = comparison["all"]
    sizes = [cell["n"] for cell in comparison["configurations"].values()]
    decided = Decision(
        max_drop=max_drop,
        drop=overall["difference"],
        interval=[*overall["interval"]],
        verdict=_verdict(overall, max_drop),
        mean=_verdict(overall, max_drop),
        rows=round(sum(sizes) / len(sizes)),
        whole=comparison["a"]["whole"] and comparison["b"]["whole"],
    )
    if max_task_drop is not None:
        bounds = [cell["task_interval"] for cell in comparison["configurations"].values()]
        decided["max_task_drop"] = max_task_drop
        decided["tasks"] = task_verdict(bounds, max_task_drop)
        decided["verdict"] = joint_verdict(decided["mean"], decided["tasks"])
    if "answered" in comparison:
        over_answered = comparison["answered"]
        decided["answered"] = _verdict(over_answered, max_drop) if over_answered else "unknown"
    return decided


def _verdict(difference: Difference, max_drop: float) -> Verdict:
    """Return whether a difference of two means is below the margin."""
    low, high = difference["interval"]
    if difference["independent_rows"] < MIN_INDEPENDENT_ROWS:
        return "unknown"
    return "smaller" if high < max_drop else "larger" if low > max_drop else "unknown"


def task_verdict(bounds: Sequence[Interval], max_task_drop: float) -> Verdict:
    """Return whether the drops of all configurations are below a margin, or one is above it."""
    if any(low > max_task_drop for low, _ in bounds):
        return "larger"
    return "smaller" if all(high < max_task_drop for _, high in bounds) else "unknown"


def joint_verdict(mean: Verdict, tasks: Verdict) -> Verdict:
    """Return the verdict of two margins: below both, above one of them, or unknown."""
    if "larger" in (mean, tasks):
        return "larger"
    return "smaller" if (mean, tasks) == ("smaller", "smaller") else "unknown"


def averaged(results: Results, names: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the configurations of each length, and of the mean over all but the control."""
    lengths: dict[str, list[str]] = {}
    counted = []
    for name in names:
        cell = results["configurations"][name]
        lengths.setdefault(cell["length"], []).append(name)
        if not is_control(cell):
            counted.append(name)
    return lengths, counted or [*names]


def model_of(results: Results, names: Collection[str]) -> ComparedModel:
    """Return the model and rows of results, and how the rows of these configurations ended."""
    answered, total = answered_rows(results)
    compared = [cell for name, cell in results["configurations"].items() if name in names]
    return {
        "model": results["model"],
        "mode": results["mode"],
        "partial": results["partial"],
        "rows": describe_rows(results),
        "warnings": warnings_of(results),
        "whole": answered == total,
        "counts": count_troubles(compared),
    }


def seeds_of(a: Results, b: Results) -> dict[Side, int] | None:
    """Return the seeds of two results, if both are known and differ."""
    seed_a, seed_b = a["dataset"].get("seed"), b["dataset"].get("seed")
    if seed_a is None or seed_b is None or seed_a == seed_b:
        return None
    return {"a": seed_a, "b": seed_b}


def different_settings(a: Results, b: Results) -> dict[str, list[str]]:
    """Return the settings of run.json in which two runs differ, as [A's, B's].

    A field that only one of them has is "not recorded" in the other. Runs without a run.json have
    no settings to compare.
    """
    if "backend" not in a["run"] or "backend" not in b["run"]:
        return {}
    settings_a, settings_b = dict(_settings(a["run"])), dict(_settings(b["run"]))
    differences = {}
    for name in dict.fromkeys([*settings_a, *settings_b]):
        values = [settings_a.get(name, NOT_RECORDED), settings_b.get(name, NOT_RECORDED)]
        if values[0] != values[1]:
            differences[name] = values
    return differences


def _settings(run: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the settings of a run; nested ones by their path, such as `sampling.temperature`."""
    for name, value in run.items():
        if prefix == "" and name in NOT_SETTINGS:
            continue
        if isinstance(value, dict):
            yield from _settings(value, f"{prefix}{name}.")
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield f"{prefix}{name}", text


def refuse_stopped(results: Results) -> None:
    """Raise RulerError for a run that was stopped by its scores: its intervals are not valid."""
    stop = stopped_at(results["run"])
    if stop is not None and results["partial"]:
        raise RulerError(
            f"The run of '{results['model']}' was stopped by its own scores after {stop['rows']} "
            f"of {stop['of']} rows of each task, so no interval of a comparison is valid. Its "
            "valid result is that of the command that stopped it. To compare, run the other rows "
            "with `ruler run`."
        )


def paired_cells(a: Results, b: Results) -> Pairs:
    """Return the rows that two results share. Raises RulerError as `compare` does."""
    check_same_data(a, b)
    rows_a, rows_b = a["rows"], b["rows"]
    places_a: dict[tuple[str, int], int] = {}
    for place, key in enumerate(zip(rows_a["config"], rows_a["index"], strict=True)):
        places_a[key] = place
    shared: dict[str, list[tuple[int, int, int]]] = {}  # index, place in A, place in B
    for place, key in enumerate(zip(rows_b["config"], rows_b["index"], strict=True)):
        if key in places_a:
            shared.setdefault(key[0], []).append((key[1], places_a[key], place))
    if not shared:
        raise RulerError("The two results share no rows: score them on the same configurations.")
    _check_same_rows(a, b, shared)
    rows = {}
    for name in a["configurations"]:
        if name in shared:
            places = sorted(shared[name])
            unanswered = [
                rows_a["state"][i] in UNANSWERED or rows_b["state"][j] in UNANSWERED
                for _, i, j in places
            ]
            rows[name] = PairedRows(
                index=np.array([index for index, _, _ in places]),
                a=np.array([rows_a["score"][i] for _, i, _ in places], dtype=float),
                b=np.array([rows_b["score"][j] for _, _, j in places], dtype=float),
                is_answered=~np.array(unanswered),
            )
    return Pairs(rows, a["configurations"], documents_of(a))


def check_same_data(a: Results, b: Results) -> None:
    """Raise RulerError for results of two data sets, different rows or different rules."""
    if a["dataset"]["name"] != b["dataset"]["name"]:
        raise RulerError(f"'{a['dataset']['name']}' and '{b['dataset']['name']}' share no rows.")
    for key in ("score_version", "rules"):
        if a[key] != b[key]:
            raise RulerError(f"The results differ in {key}: score both runs in the same way.")
    digests_a, digests_b = a["dataset"].get("rows", {}), b["dataset"].get("rows", {})
    for config in digests_a:
        if config in digests_b and digests_a[config] != digests_b[config]:
            raise RulerError(f"'{config}' was scored on different rows: run both on one release.")


def _check_same_rows(
    a: Results, b: Results, shared: Mapping[str, Sequence[tuple[int, int, int]]]
) -> None:
    """Raise RulerError for rows whose references, question or prompt differ between A and B.

    Digests that only one of them has are not compared.
    """
    for column in ASKED_COLUMNS:
        digests_a, digests_b = a["rows"][column], b["rows"][column]
        for name, places in shared.items():
            differ = []
            for index, i, j in places:
                if digests_a[i] != digests_b[j] and digests_a[i] and digests_b[j]:
                    differ.append(index)
            if differ:
                raise RulerError(
                    f"Row {differ[0]} of '{name}' has another {column.removesuffix('s')} in A than "
                    f"in B ({len(differ)} rows differ), so the rows cannot be paired: run both "
                    "models on the same rows."
                )


def _answered_pairs(pairs: Pairs) -> Pairs:
    """Return the rows that both models answered."""
    answered = {}
    for name, rows in pairs.rows.items():
        both = rows.is_answered
        if both.any():
            answered[name] = PairedRows(rows.index[both], rows.a[both], rows.b[both], both[both])
    return Pairs(answered, pairs.cells, pairs.documents)


def paired_over(
    pairs: Pairs, names: Collection[str], shares: Mapping[str, float] | None = None
) -> PairedMean:
    """Return the mean of A − B over configurations, with equal weights or those of `shares`."""
    drops = {}
    for name in names:
        rows = pairs.rows[name]
        drops[name] = dict(zip(rows.index.tolist(), rows.a - rows.b, strict=True))
    return paired_mean(strata_of(drops, pairs.cells, shares, pairs.documents))


def mean_difference(names: Sequence[str], pairs: Pairs) -> Difference:
    """Return the difference of the means over some of the paired configurations."""
    estimate = paired_over(pairs, names)
    low, high = difference_interval(estimate)
    better: Side | None = "a" if low > 0 else "b" if high < 0 else None
    half_width = max(estimate.mean - low, high - estimate.mean)
    mean_a = mean_b = 0.0
    for name in names:
        mean_a += float(pairs.rows[name].a.mean()) / len(names)
        mean_b += float(pairs.rows[name].b.mean()) / len(names)
    return {
        "configurations": len(names),
        "a": 100 * mean_a,
        "b": 100 * mean_b,
        "difference": 100 * estimate.mean,
        "interval": [100 * low, 100 * high],
        "detectable": 100 * detectable(half_width, estimate.error),
        "spread": 100 * estimate.error,
        "independent_rows": estimate.rows,
        "better": better if estimate.rows >= MIN_INDEPENDENT_ROWS else None,
    }


class ExactTest(NamedTuple):
    """The exact test of one configuration; see CellDifference."""

    only_a: int | None
    only_b: int | None
    p: float | None
    smallest: float | None


def _exact_test(rows: PairedRows) -> ExactTest:
    a, b, n = rows.a, rows.b, len(rows.index)
    if not (np.isin(a, (0.0, 1.0)).all() and np.isin(b, (0.0, 1.0)).all()):
        return ExactTest(None, None, signed_p(a - b), None)
    only_a, only_b = int((a > b).sum()), int((b > a).sum())
    smallest = 100 * SMALLEST_MCNEMAR / n if n >= SMALLEST_MCNEMAR else None
    return ExactTest(only_a, only_b, mcnemar(only_a, only_b), smallest)


def _cell_differences(pairs: Pairs) -> dict[str, CellDifference]:
    """Compare each configuration, with p values adjusted for the number of tests."""
    tests, p_values = {}, {}
    for name, rows in pairs.rows.items():
        tests[name] = test = _exact_test(rows)
        if test.p is not None:
            p_values[name] = test.p
    adjusted = dict(zip(p_values, holm([*p_values.values()]), strict=True))
    cells: dict[str, CellDifference] = {}
    confidence = 1 - (1 - CONFIDENCE) / len(tests)
    for name, test in tests.items():
        difference, p_holm = mean_difference([name], pairs), adjusted.get(name)
        low, high = difference_interval(paired_over(pairs, [name]), confidence)
        is_sure = p_holm is None or p_holm < 1 - CONFIDENCE
        cells[name] = {
            "n": len(pairs.rows[name].index),
            **difference,
            "task_interval": [100 * low, 100 * high],
            "better": difference["better"] if is_sure else None,
            "only_a": test.only_a,
            "only_b": test.only_b,
            "p": test.p,
            "p_holm": p_holm,
            "smallest": test.smallest,
        }
    return cells
