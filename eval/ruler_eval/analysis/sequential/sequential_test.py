"""The sequential test of two models: wave after wave of the same rows until a verdict.

    plan = LookPlan.of(base)                          # results of a run that has all its rows
    for decision in looks(plan, base, changed, 2.0):
        print(decision["rows"], decision["verdict"])  # the last one is the verdict

`ruler decide` looks so while it runs a model, and at two finished runs to say where it would have
stopped. The rule and its proof are betting.py's. At one length looks are taken at the first
LOOKED_AT of the rows, and their verdict is about all rows of the plan; over several as long as no
index of a task comes a second time (at another length it asks the same). Then only the last row
decides, by the interval of all rows at 1 − 2 ALPHA_LAST = 98.5 % (score/intervals.py). A row
without an answer is wrong on its side. Languages and tokenizers of a task are one row: their mean
by index.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_common.rows import row_order
from ruler_eval.analysis.compare import Verdict, paired_cells
from ruler_eval.analysis.sequential.betting import (
    ALPHA,
    ALPHA_LAST,
    LEAST,
    LOOK_EVERY,
    LOOKED_AT,
    anytime_bounds,
    evidence,
)
from ruler_eval.run.work_plan import WAVE, WAVE_OVER_LENGTHS
from ruler_eval.score.evidence_alone import is_alone
from ruler_eval.score.intervals import FEWEST_ROWS, paired_interval, paired_mean, units
from ruler_eval.score.results_file import Results, Scores, scores_of
from ruler_eval.score.trust.stopped import stopped_at

RULE = "bets 3"
"""The name of rule and order of rows together; another number for another rule."""
Stratum = tuple[str, str]
"""A task and a length."""


class Look(TypedDict):
    """What was seen: rows of each task and length, the drop in points, the highest evidence."""

    rows: int
    drop: float
    smaller: float
    larger: float


class SequentialDecision(TypedDict):
    """Whether B lost less than `max_drop` points against A over all, and every look at it.

    `alpha` is the error a side of all looks, `alpha_last` that of the interval after the last row.
    `rows` of `of` rows of each configuration were looked at. `interval` (points) holds the drop in
    95 % of repetitions, wherever it stopped.
    """

    rule: str
    alpha: float
    alpha_last: float
    max_drop: float
    verdict: Verdict
    drop: float
    interval: list[float]
    rows: int
    of: int
    looks: list[Look]


@dataclass(frozen=True)
class LookPlan:
    """Which rows are looked at, in which order; made from the results of the base model.

    `order` holds the indices of each task and length, `configs` its languages and tokenizers.
    """

    order: Mapping[Stratum, Sequence[int]]
    configs: Mapping[Stratum, Sequence[str]]

    @classmethod
    def of(cls, base: Results) -> LookPlan:
        """The plan; a base that was run in step with another and stopped has its whole plan.

        Raises RulerError where the rows are not the first of the frozen order.
        """
        data, cells = base["dataset"], base["configurations"]
        stopped = stopped_at(base["run"]) if base["partial"] else None
        order: dict[Stratum, list[int]] = {}
        configs: dict[Stratum, list[str]] = {}
        for name, cell in cells.items():
            if is_alone(cell):  # the control without a haystack counts in no mean
                continue
            place = cell["task"], cell["length"]
            version = data["data_version"] or ""
            first = row_order(version, data["name"], *place, cell["rows_available"])
            mine = first[: stopped["of"] if stopped else cell["n"]]
            if {*first[: cell["n"]]} != {*cell["rows"]["index"]}:
                raise RulerError(
                    f"The rows of '{name}' are not the first ones of the frozen order: score the "
                    "whole run without --partial, or run it with --limit."
                )
            if order.setdefault(place, mine) != mine:
                raise RulerError(f"'{name}' has another number of rows than its other languages.")
            configs.setdefault(place, []).append(name)
        return cls(order, configs).checked()

    def checked(self) -> LookPlan:
        """The plan itself. Raises RulerError where tasks and lengths differ in rows or languages.

        With other weights than equal ones the proof does not hold.
        """
        rows = {len(mine) for mine in self.order.values()}
        if len(rows) != 1 or len({len(names) for names in self.configs.values()}) != 1:
            raise RulerError(
                "A sequential test needs as many rows of every task and length, in the same "
                "languages: choose such configurations with --configs."
            )
        return self

    def lacking(self, scores: Scores, rows: int) -> str | None:
        """The first of the rows up to a look that these are no scores of, `row 7 of 'vt_4k'`."""
        for place, names in self.configs.items():
            for name in names:
                if lacking := {*self.order[place][:rows]} - {*scores.get(name, {})}:
                    return f"row {min(lacking)} of '{name}'"
        return None

    def within(self, other: Results) -> LookPlan:
        """The plan without the rows that --limit left out of another run."""
        cells = other["configurations"]
        held = [cells[n]["n"] for names in self.configs.values() for n in names if n in cells]
        stopped = stopped_at(other["run"]) if other["partial"] else None
        rows = stopped["of"] if stopped else min(held, default=0)
        order = {place: mine[: rows or None] for place, mine in self.order.items()}
        return LookPlan(order, self.configs)

    @property
    def rows(self) -> int:
        """Rows of each task and length."""
        return len(next(iter(self.order.values())))

    @property
    def drawn_from(self) -> int | None:
        """Of how many rows the waves are drawn, each once; None over several lengths."""
        return self.rows * len(self.order) if self._at_one_length else None

    @property
    def wave(self) -> int:
        """Rows of each task and length in a wave of `ruler run`."""
        return WAVE if self._at_one_length else WAVE_OVER_LENGTHS

    @property
    def step(self) -> int:
        """New rows of each task and length between two looks."""
        return min(self.wave, LOOK_EVERY)

    @property
    def _at_one_length(self) -> bool:
        return len({length for _, length in self.order}) == 1

    def looks(self) -> list[int]:
        """After how many rows is looked: complete waves without an index twice, and the last."""
        distinct = int(self.rows * LOOKED_AT) if self._at_one_length else self.rows
        for task in {task for task, _ in self.order}:
            mine = [order for (of, _), order in self.order.items() if of == task]
            seen = set[int]()
            for place in range(self.rows):
                here = [order[place] for order in mine]
                if len({*here} - seen) < len(here):
                    distinct = min(distinct, place)
                    break
                seen |= {*here}
        every = [*range(self.step, min(distinct, self.rows - 1) + 1, self.step)]
        return [*every, self.rows]


def check_limit(max_drop: float) -> float:
    """The limit (points). Raises RulerError for one that no drop can be held against."""
    if not (math.isfinite(max_drop) and abs(max_drop) < 100):
        raise RulerError(f"--max-drop {max_drop:g} is not a number of points, such as 1.5.")
    return max_drop


def same_limit(results: Results, max_drop: float) -> None:
    """Refuse another limit than the one that was fixed before the run's first row."""
    fixed = results["run"].get("decide", {}).get("max_drop", max_drop)
    if fixed != max_drop:
        raise RulerError(
            f"The limit was fixed at {fixed:g} points before the first row of this run; of another "
            f"one, chosen after looking, the error is not known. Give --max-drop {fixed:g}, or run "
            "all rows and compare them."
        )


def differences(plan: LookPlan, a: Scores, b: Scores, begin: int, end: int) -> np.ndarray:
    """A − B of the rows from `begin` to `end` (rows, tasks and lengths); a missing row is wrong."""
    return np.array(
        [
            [
                np.mean([a.get(n, {}).get(i, 0.0) - b.get(n, {}).get(i, 0.0) for n in names])
                for i in plan.order[place][begin:end]
            ]
            for place, names in plan.configs.items()
        ]
    ).T


class SequentialTest:
    """The state between two looks."""

    def __init__(self, plan: LookPlan, max_drop: float) -> None:
        self.plan, self.max_drop = plan, check_limit(max_drop)
        self._seen = np.empty((0, len(plan.order)))
        self._looks: list[Look] = []

    def look(self, rows: int, base: Results, a: Scores, b: Scores) -> SequentialDecision:
        """Look at the first `rows` rows of each task and length; each time at more of them."""
        new = differences(self.plan, a, b, len(self._seen), rows)
        self._seen = np.concatenate([self._seen, new])
        drop = 100 * float(self._seen.mean())
        last = rows == self.plan.rows
        if last:
            low, high = _interval(self.plan, base, a, b)
            below, above = high < self.max_drop, low > self.max_drop
            verdict: Verdict = "smaller" if below else "larger" if above else "unknown"
        else:
            drawn = self.plan.drawn_from
            found = evidence(self._seen, self.max_drop / 100, drawn)
            smaller, larger = (float(side[-1]) for side in found)
            self._looks.append(Look(rows=rows, drop=drop, smaller=smaller, larger=larger))
            low, high = (100 * bound for bound in anytime_bounds(self._seen, drawn))
            verdict = "smaller" if smaller >= LEAST else "larger" if larger >= LEAST else "unknown"
        return SequentialDecision(
            rule=RULE,
            alpha=ALPHA,
            alpha_last=ALPHA_LAST,
            max_drop=self.max_drop,
            verdict=verdict,
            drop=drop,
            interval=[low, high],
            rows=rows,
            of=self.plan.rows,
            looks=[*self._looks],
        )


def looks(plan: LookPlan, a: Results, b: Results, max_drop: float) -> Iterator[SequentialDecision]:
    """Every look at two runs until the verdict, as if the rows came now.

    Rows that --limit left out of either run are not looked at. Raises RulerError if the two cannot
    be paired, or lack rows that a look needs.
    """
    paired_cells(a, b)
    for results in (a, b):
        same_limit(results, max_drop)
    plan = plan.within(b)
    test, ours, theirs = SequentialTest(plan, max_drop), scores_of(a), scores_of(b)
    for rows in plan.looks():
        for model, held in (("A", ours), ("B", theirs)):
            if lacking := plan.lacking(held, rows):
                raise RulerError(
                    f"{model} has no {lacking}, which the test needs: finish that run, and score "
                    "it without --partial."
                )
        found = test.look(rows, a, ours, theirs)
        yield found
        if found["verdict"] != "unknown":
            return


def _interval(plan: LookPlan, base: Results, a: Scores, b: Scores) -> tuple[float, float]:
    """The interval of the plan's rows, in points, at ALPHA_LAST a side; as `ruler compare`'s.

    The base may have more of them than the plan of a run with --limit.
    """
    order = {name: plan.order[place] for place, names in plan.configs.items() for name in names}
    cells = {name: base["configurations"][name] for name in order}
    drops = {
        name: {index: a[name].get(index, 0.0) - b.get(name, {}).get(index, 0.0) for index in mine}
        for name, mine in order.items()
    }
    found = paired_mean(*units(drops, cells))
    if found.rows < FEWEST_ROWS:
        return -100.0, 100.0
    low, high = paired_interval(found, 1 - 2 * ALPHA_LAST)
    return 100 * low, 100 * high
