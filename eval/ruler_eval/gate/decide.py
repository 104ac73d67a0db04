"""Decides with as few rows as it takes whether a model lost less than a limit against another.

    stored = StoredRows(base, open_results(Path("runs/quantised")), 2.0)
    decide(base, stored, 2.0, on_look=print)["verdict"]               # "smaller"
    decide_run(base, options, 2.0, on_look=print).decision["verdict"]   # rows that lack are run

Rows are looked at wave after wave, in one order, until the verdict; plan.py has the looks,
betting.py the rule and its proof. The last row decides by the interval of all rows at
1 − 2 ALPHA_LAST = 98.5 % (score/intervals.py). A row without an answer is wrong on its side. The
limit and the rule are in run.json before the first row of a run, the verdict and every look after
the last: killed in the middle, the same call looks at the waves that exist in the same order, and
comes to the same verdict.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError
from ruler_eval.analysis.compare import Verdict, paired_cells
from ruler_eval.gate.betting import (
    ALPHA,
    ALPHA_LAST,
    LOOK_EVERY,
    THRESHOLD,
    anytime_bounds,
    evidence,
)
from ruler_eval.gate.plan import LookPlan, plan_of_results
from ruler_eval.gate.waves import ScoredRows, open_waves
from ruler_eval.run.options import RunOptions
from ruler_eval.run.progress import RunSummary
from ruler_eval.score.intervals import FEWEST_ROWS, paired_interval, paired_mean, units
from ruler_eval.score.results_file import Results, scores_of

RULE = "bets 3"
"""The name of rule and order of rows together; another number for another rule."""


class Look(TypedDict):
    """What was seen: rows of each task and length, the drop in points, the highest evidence."""

    rows: int
    drop: float
    smaller: float
    larger: float


class LookedAtRows(TypedDict):
    """Of the rows of one model that were looked at: how many lack an answer or are truncated.

    A row is unanswered if it failed or is missing.
    """

    unanswered: int
    truncated: int


class AnsweredDrop(TypedDict):
    """The drop over the rows that both models answered, and what the verdict would be by those."""

    unanswered: int
    drop: float | None
    verdict: Verdict


class SequentialDecision(TypedDict):
    """Whether B lost less than `max_drop` points against A over all, and every look at it.

    `alpha` is the error a side of all looks, `alpha_last` that of the interval after the last row.
    `rows` of `of` rows of each configuration were looked at. `interval` (points) holds the drop in
    95 % of repetitions, wherever it stopped. `answered` is there if rows are unanswered.
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
    a: LookedAtRows
    b: LookedAtRows
    answered: NotRequired[AnsweredDrop]


class Candidate(Protocol):
    """Model B: rows that exist (StoredRows) or are run when they are looked at (RunInWaves)."""

    plan: LookPlan
    rows: ScoredRows

    def answer(self, rows: int) -> None:
        """Make sure that `rows` has the first rows of each task and length."""


class StoredRows:
    """Model B was run before: its rows are in its results."""

    def __init__(self, base: Results, other: Results, max_drop: float) -> None:
        """Raise RulerError if the two cannot be paired, or if another limit was fixed for B."""
        paired_cells(base, other)
        check_same_limit(other, max_drop)
        self.plan = plan_of_results(base, other)
        self.rows = ScoredRows.from_results(other)

    def answer(self, rows: int) -> None:
        """Raise RulerError if a row is missing that a look needs."""
        if missing := self.plan.missing_row(self.rows.scores, rows):
            raise RulerError(
                f"B has no {missing}, which the test needs: name --model and --backend to run "
                "it, or finish that run and score it without --partial."
            )


def decide(
    base: Results,
    candidate: Candidate,
    max_drop: float,
    on_look: Callable[[SequentialDecision], None],
) -> SequentialDecision:
    """Look at the rows of two models until the verdict, and return the last look."""
    check_limit(max_drop)
    check_same_limit(base, max_drop)
    test = SequentialTest(candidate.plan, base, max_drop)
    for rows in candidate.plan.looks():
        if missing := candidate.plan.missing_row(test.base.scores, rows):
            raise RulerError(
                f"A has no {missing}, which the test needs: finish that run, and score it without "
                "--partial."
            )
        candidate.answer(rows)
        found = test.look(rows, candidate.rows)
        on_look(found)
        if found["verdict"] != "unknown":
            break
    return found


class DecidedRun(NamedTuple):
    """The last look, how the rows of model B ended, and the prompt tokens that were not run."""

    decision: SequentialDecision
    summary: RunSummary
    remaining_tokens: int


def decide_run(
    base: Results,
    options: RunOptions,
    max_drop: float,
    on_look: Callable[[SequentialDecision], None],
) -> DecidedRun:
    """Run model B until the verdict, and write its run.json and results.json.

    Raises RulerError if the rows of the two are not the same, or if another limit was fixed.
    """
    check_limit(max_drop)
    with open_waves(options, fixed_settings(base, max_drop), LOOK_EVERY, base) as run:
        found = decide(base, run, max_drop, on_look)
        summary = run.finish({"decision": found})
        return DecidedRun(found, summary, run.remaining_tokens)


def fixed_settings(base: Results, max_drop: float) -> dict[str, Any]:
    """Return what is fixed before the first row: the limit, the rule, and the scores of model A."""
    scores = {name: [*rows.items()] for name, rows in scores_of(base).items()}
    digest = hashlib.blake2b(json.dumps(scores).encode(), digest_size=8).hexdigest()
    fixed = {"max_drop": float(max_drop), "rule": RULE, "alpha": ALPHA, "base": base["model"]}
    return {"decide": {**fixed, "base_scores": digest}}


def check_limit(max_drop: float) -> None:
    """Raise RulerError for a limit that no drop can be held against."""
    if not (math.isfinite(max_drop) and abs(max_drop) < 100):
        raise RulerError(f"--max-drop {max_drop:g} is not a number of points, such as 1.5.")


def check_same_limit(results: Results, max_drop: float) -> None:
    """Refuse another limit than the one that was fixed before the run's first row."""
    fixed = results["run"].get("decide", {}).get("max_drop", max_drop)
    if fixed != max_drop:
        raise RulerError(
            f"The limit was fixed at {fixed:g} points before the first row of this run; of another "
            f"one, chosen after looking, the error is not known. Give --max-drop {fixed:g}, or run "
            "all rows and compare them."
        )


class SequentialTest:
    """The looks at two models so far."""

    def __init__(self, plan: LookPlan, base: Results, max_drop: float) -> None:
        self.plan, self.max_drop = plan, max_drop
        self.base, self._cells = ScoredRows.from_results(base), base["configurations"]
        self._drops = np.empty((0, len(plan.order)))
        self._answered = np.empty((0, len(plan.order)), dtype=bool)
        self._looks: list[Look] = []

    def look(self, rows: int, other: ScoredRows) -> SequentialDecision:
        """Look at the first `rows` rows of each task and length; each time at more of them."""
        self._add_rows(rows, other)
        drop = 100 * float(self._drops.mean())
        if rows == self.plan.rows:
            low, high = self._last_interval(other)
            below, above = high < self.max_drop, low > self.max_drop
            verdict: Verdict = "smaller" if below else "larger" if above else "unknown"
        else:
            drawn = self.plan.drawn_from
            smaller, larger = self._evidence(self._drops, drawn)
            self._looks.append(Look(rows=rows, drop=drop, smaller=smaller, larger=larger))
            low, high = (100 * bound for bound in anytime_bounds(self._drops, drawn))
            verdict = _verdict(smaller, larger)
        found = SequentialDecision(
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
            a=self._looked_at(self.base, rows),
            b=self._looked_at(other, rows),
        )
        if not self._answered.all():
            found["answered"] = self._over_answered(rows, other)
        return found

    def _add_rows(self, rows: int, other: ScoredRows) -> None:
        """Add the new rows: A − B of each, and whether both models answered."""
        drops, answered = [], []
        for place, names in self.plan.configs.items():
            new = self.plan.order[place][len(self._drops) : rows]
            drops.append([np.mean([self._drop(name, i, other) for name in names]) for i in new])
            answered.append([not any(self._lacks(name, i, other) for name in names) for i in new])
        self._drops = np.concatenate([self._drops, np.array(drops).T])
        self._answered = np.concatenate([self._answered, np.array(answered).T])

    def _drop(self, name: str, index: int, other: ScoredRows) -> float:
        """Return A − B of one row; a missing row is wrong."""
        ours, theirs = self.base.scores.get(name, {}), other.scores.get(name, {})
        return ours.get(index, 0.0) - theirs.get(index, 0.0)

    def _lacks(self, name: str, index: int, other: ScoredRows) -> bool:
        """Whether a row failed or is missing in either model."""
        return any(index in side.unanswered.get(name, ()) for side in (self.base, other))

    def _looked_at(self, side: ScoredRows, rows: int) -> LookedAtRows:
        """Count the rows of one model up to a look."""
        counts = LookedAtRows(unanswered=0, truncated=0)
        for place, names in self.plan.configs.items():
            indices = {*self.plan.order[place][:rows]}
            for name in names:
                counts["unanswered"] += len(indices & side.unanswered.get(name, set()))
                counts["truncated"] += len(indices & side.truncated.get(name, set()))
        return counts

    def _over_answered(self, rows: int, other: ScoredRows) -> AnsweredDrop:
        """Decide by the rows that both models answered.

        Before the last row these are complete steps again, with fewer rows of each task, taken as a
        sample: which rows fail is not known before.
        """
        columns = [
            drops[answered] for drops, answered in zip(self._drops.T, self._answered.T, strict=True)
        ]
        drop = None
        verdict: Verdict = "unknown"
        if all(len(column) for column in columns):
            drop = 100 * float(np.mean([column.mean() for column in columns]))
            if rows == self.plan.rows:
                low, high = self._last_interval(other, self._lacks)
                below, above = high < self.max_drop, low > self.max_drop
                verdict = "smaller" if below else "larger" if above else "unknown"
            else:
                steps = min(map(len, columns))
                complete = np.array([column[:steps] for column in columns]).T
                verdict = _verdict(*self._evidence(complete, None))
        return AnsweredDrop(unanswered=int((~self._answered).sum()), drop=drop, verdict=verdict)

    def _evidence(self, drops: np.ndarray, of: int | None) -> tuple[float, float]:
        smaller, larger = evidence(drops, self.max_drop / 100, of)
        return float(smaller[-1]), float(larger[-1])

    def _last_interval(
        self,
        other: ScoredRows,
        is_left_out: Callable[[str, int, ScoredRows], bool] | None = None,
    ) -> tuple[float, float]:
        """Return the interval of the plan's rows, in points, at ALPHA_LAST a side."""
        drops: dict[str, Mapping[int, float]] = {}
        for place, names in self.plan.configs.items():
            for name in names:
                drops[name] = {
                    index: self._drop(name, index, other)
                    for index in self.plan.order[place]
                    if is_left_out is None or not is_left_out(name, index, other)
                }
        found = paired_mean(*units(drops, {name: self._cells[name] for name in drops}))
        if found.rows < FEWEST_ROWS:
            return -100.0, 100.0
        low, high = paired_interval(found, 1 - 2 * ALPHA_LAST)
        return 100 * low, 100 * high


def _verdict(smaller: float, larger: float) -> Verdict:
    return "smaller" if smaller >= THRESHOLD else "larger" if larger >= THRESHOLD else "unknown"
