"""Decide with as few rows as possible whether a model loses less than a margin against another.

    decide_stored(DecideOptions("runs/base", "runs/quantised", max_drop=2))["verdict"]  # "smaller"
    decide_run(DecideOptions("runs/base", max_drop=2, run={"backend": …}), on_look=print)

There are two questions. The verdict is about *these rows*: is the drop over all rows of the plan
below the margin? Before the last row it is wrong with a probability of at most ALPHA on each side,
however often the rows are looked at (betting.py has the rule and its proof); after the last row it
is exact, computed in fractions. With `max_task_drop` every task at every length has a margin too,
because a task that is lost at one length moves the mean over 13 tasks and 6 lengths by 1.3 points
only. The second question is about *other rows like these*: `other_rows_interval` is the 95 %
interval of the drop on another sample of the benchmark.

Rows are looked at in the order of plan.py until there is a verdict. Later rows are in flight while
it looks; those answered by the end are stored, but neither the decision nor results.json has them.
A row without an answer counts as wrong. The margin and the rule are written to run.json before the
first row, the verdict and all looks to decision.json after the last one. If the process is killed,
the same call looks at the same rows in the same order and reaches the same verdict.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError
from ruler_eval.analysis.compare import Verdict, joint_verdict, paired_cells
from ruler_eval.gate.betting import (
    ALPHA,
    THRESHOLD,
    anytime_bounds,
    evidence,
    independence_of_rows,
)
from ruler_eval.gate.options import DecideOptions, options_of_model_b
from ruler_eval.gate.plan import LookPlan, plan_of_results
from ruler_eval.gate.waves import ScoredRows, open_waves
from ruler_eval.run.look_order import look_order_of_file
from ruler_eval.run.options import RunOptions
from ruler_eval.run.progress import RunSummary
from ruler_eval.score.intervals import (
    MIN_INDEPENDENT_ROWS,
    difference_interval,
    paired_mean,
    strata_of,
)
from ruler_eval.score.results import Results, documents_of, row_values
from ruler_eval.score.stored import check_different_places, open_different_results, open_results

RULE = "bets 5"
"""The version of the rule and of the order of rows; a change of either needs a new number."""


_MAX_DENOMINATOR = 100_000
"""Of a row's difference: more than the references of a row times its samples and languages."""


class Look(TypedDict):
    """A look at the rows so far."""

    rows: int  # of each stratum
    drop: float  # in points
    smaller: float  # the highest evidence so far for a smaller, and for a larger drop
    larger: float


class LookedAtModel(TypedDict):
    """A model, and how many rows are unanswered (failed or missing) or truncated up to a look."""

    model: str | None
    unanswered: int
    truncated: int


class AnsweredDrop(TypedDict):
    """The drop over the rows that both models answered, and the verdict from those rows."""

    unanswered: int
    drop: float | None
    verdict: Verdict


class WorstCell(TypedDict):
    """The task and length with the largest loss so far.

    The interval of its drop over all its rows is one of intervals that hold for all tasks and
    lengths together, with 95 %, at every look.
    """

    task: str
    length: str
    drop: float
    interval: list[float]


class SequentialDecision(TypedDict):
    """Whether B loses less than `max_drop` points against A over all tasks, and all looks."""

    rule: str
    alpha: float
    """The maximum probability of a wrong verdict about these rows, on each side."""
    max_drop: float
    max_task_drop: float | None
    """The margin for every task and length; None if they are not tested one by one."""
    verdict: Verdict
    """`unknown` until a verdict is reached; never after the last row. With `max_task_drop`:
    `smaller` if both verdicts below are, `larger` if one of them is."""
    mean_verdict: Verdict
    """Of the mean over all tasks and lengths."""
    task_verdict: Verdict | None
    """Whether every task at every length loses less than `max_task_drop`; None without it."""
    worst: WorstCell
    drop: float
    """Points that B lost on the rows up to the last look."""
    interval: list[float]
    """95 % interval of the drop over all rows of the plan, valid at every look."""
    other_rows_interval: list[float]
    """95 % interval of the drop over other rows like these."""
    rows: int
    of: int
    """The rows of each task and length that were looked at, and all of them."""
    tasks: dict[str, float]
    """Points that B lost in each task, over its lengths, the largest loss first."""
    looks: list[Look]
    a: LookedAtModel
    b: LookedAtModel
    answered: NotRequired[AnsweredDrop]
    """Only if some rows are unanswered."""


class Margins(NamedTuple):
    """The margins of a decision, in points, fixed before the first row."""

    max_drop: float  # of the mean
    max_task_drop: float | None = None  # of every task and length


class Candidate(Protocol):
    """Model B, whose rows exist (StoredRows) or are run before each look (RunInWaves)."""

    plan: LookPlan
    rows: ScoredRows  # those answered so far

    @property
    def model(self) -> str | None:
        """The model's name, if it is known."""

    def answer(self, rows: int) -> None:
        """Make sure that the first `rows` rows of each task and length have scores."""


class StoredRows:
    """Model B, whose rows are in the results of a finished run."""

    def __init__(self, base: Results, results: Results, margins: Margins) -> None:
        """Raise RulerError if the models cannot be paired, or if a different margin was fixed."""
        paired_cells(base, results)
        check_same_margins(results, margins)
        self.plan = plan_of_results(base, results)
        self.rows = ScoredRows.from_results(results)
        self.model: str | None = results["model"]

    def answer(self, rows: int) -> None:
        """Raise RulerError if a row of the next look is missing."""
        if missing := self.plan.missing_row(self.rows.scores, rows):
            raise RulerError(
                f"B has no {missing}, which the test needs: name --model and --backend to run "
                "it, or finish that run and score it without --partial."
            )


def decide(
    base: Results,
    candidate: Candidate,
    margins: Margins,
    on_look: Callable[[SequentialDecision], None],
) -> SequentialDecision:
    """Look at the rows of two models until there is a verdict, and return the last look."""
    check_same_margins(base, margins)
    test = SequentialTest(base, candidate, margins)
    for rows in candidate.plan.looks():
        if missing := candidate.plan.missing_row(test.rows_a.scores, rows):
            raise RulerError(
                f"A has no {missing}, which the test needs: finish that run, and score it without "
                "--partial."
            )
        candidate.answer(rows)
        decision = test.look(rows)
        on_look(decision)
        if decision["verdict"] != "unknown":
            break
    return decision


class DecidedRun(NamedTuple):
    """The last look, the states of model B's rows, and the prompt tokens of the other rows."""

    decision: SequentialDecision
    summary: RunSummary
    remaining_tokens: int


def decide_stored(options: DecideOptions) -> SequentialDecision:
    """Decide from rows that both models have answered. Raises RulerError."""
    if options.run:
        raise RulerError("To run B's missing rows, name --backend and --model too.")
    base, candidate = open_different_results([Path(options.base), Path(str(options.candidate))])
    margins = Margins(options.max_drop, options.max_task_drop)
    stored = StoredRows(base, candidate, margins)
    return decide(base, stored, margins, on_look=lambda look: None)


def decide_run(options: DecideOptions, on_look: Callable[[SequentialDecision], None]) -> DecidedRun:
    """Run model B until there is a verdict, and write its decision.json and results.json.

    Raises RulerError if the models have different rows, or if a different margin was fixed.
    """
    run_options = run_of_model_b(options)
    base = open_results(Path(options.base))
    margins = Margins(options.max_drop, options.max_task_drop)
    fixed = fixed_settings(base, margins)
    with open_waves(run_options, fixed, base, look_order_of_file) as run:
        decision = decide(base, run, margins, on_look)
        summary = run.store_results("decision", decision)
        return DecidedRun(decision, summary, run.remaining_tokens)


def run_of_model_b(options: DecideOptions) -> RunOptions:
    """Return the options of model B's run. Raises RulerError if they are incomplete."""
    base = open_results(Path(options.base))
    missing = [] if "backend" in options.run else ["--backend"]
    if not options.candidate and "out" not in options.run:
        missing.append("--out")
    if missing:
        raise RulerError(f"To run model B, add {' and '.join(missing)}, or name its RUN folder.")
    run_options = options_of_model_b(options, base)
    check_different_places([Path(options.base), run_options.folder])
    return run_options


def fixed_settings(base: Results, margins: Margins) -> dict[str, Any]:
    """Return the settings that are fixed before the first row, with a digest of A's scores."""
    scores = {name: [*rows.items()] for name, rows in row_values(base, "score").items()}
    digest = hashlib.blake2b(json.dumps(scores).encode(), digest_size=8).hexdigest()
    fixed = {"max_drop": float(margins.max_drop), "rule": RULE, "alpha": ALPHA}
    if margins.max_task_drop is not None:
        fixed["max_task_drop"] = float(margins.max_task_drop)
    return {"decide": {**fixed, "base": base["model"], "base_scores": digest}}


def check_same_margins(results: Results, margins: Margins) -> None:
    """Raise RulerError if a margin differs from the one fixed before the run's first row."""
    fixed = results["run"].get("decide")
    if fixed is None:
        return
    for name, flag in (("max_drop", "--max-drop"), ("max_task_drop", "--max-task-drop")):
        value = fixed.get(name)
        if value != getattr(margins, name):
            remedy = f"leave {flag} out" if value is None else f"give {flag} {value:g}"
            margin = "no margin for single tasks was" if value is None else f"{flag} {value:g} was"
            raise RulerError(
                f"For this run {margin} fixed before the first row. A margin chosen after looking "
                f"has an unknown error: {remedy}, or run all rows and compare them."
            )


class SequentialTest:
    """The looks at two models so far."""

    def __init__(self, base: Results, candidate: Candidate, margins: Margins) -> None:
        self.plan, self.margins = candidate.plan, margins
        self.rows_a, self.rows_b = ScoredRows.from_results(base), candidate.rows
        self._base, self._candidate = base, candidate
        self._drops = np.empty((0, len(self.plan.order)))
        self._answered = np.empty((0, len(self.plan.order)), dtype=bool)
        self._looks: list[Look] = []
        self._alike = self.plan.lengths * rows_of_a_document(self.plan, documents_of(base))

    def look(self, rows: int) -> SequentialDecision:
        """Look at the first `rows` rows of each stratum; each look needs more of them."""
        self._add_rows(rows)
        drop = 100 * float(self._drops.mean())
        is_last = rows == self.plan.rows
        if is_last:
            mean_verdict = _exact_verdict([*self._drops.T], self.margins.max_drop)
            interval = [drop, drop]
            other_rows_interval = self._interval_of_all()
        else:
            smaller, larger = self._evidence(self._drops, self.plan.all_rows)
            self._looks.append(Look(rows=rows, drop=drop, smaller=smaller, larger=larger))
            mean_verdict = _verdict(smaller, larger)
            interval = [100 * end for end in anytime_bounds(self._drops, self.plan.all_rows)]
            shares = independence_of_rows(rows, self._alike, self.plan.rows)
            bounds = anytime_bounds(self._drops, independence=shares)
            other_rows_interval = [100 * end for end in bounds]
        verdict, task_verdict = mean_verdict, None
        if self.margins.max_task_drop is not None:
            task_verdict = self._task_verdict(self.margins.max_task_drop, is_last)
            verdict = joint_verdict(mean_verdict, task_verdict)
        decision = SequentialDecision(
            rule=RULE,
            alpha=ALPHA,
            max_drop=self.margins.max_drop,
            max_task_drop=self.margins.max_task_drop,
            verdict=verdict,
            mean_verdict=mean_verdict,
            task_verdict=task_verdict,
            worst=self._worst(is_last),
            drop=drop,
            interval=interval,
            other_rows_interval=other_rows_interval,
            rows=rows,
            of=self.plan.rows,
            tasks=self._drops_by_task(),
            looks=[*self._looks],
            a=self._looked_at(self._base["model"], self.rows_a, rows),
            b=self._looked_at(self._candidate.model, self.rows_b, rows),
        )
        if not self._answered.all():
            decision["answered"] = self._over_answered(is_last)
        return decision

    def _task_verdict(self, margin: float, is_last: bool) -> Verdict:
        """Return whether every stratum loses less than a margin, or one of them more."""
        if is_last:
            verdicts = [_exact_verdict([column], margin) for column in self._drops.T]
        else:
            smaller, larger = evidence(self._drops.T[..., None], margin / 100, self.plan.rows)
            count = len(self.plan.order)
            verdicts = [
                _verdict(s / count, x / count)
                for s, x in zip(smaller[:, -1], larger[:, -1], strict=True)
            ]
        if "larger" in verdicts:
            return "larger"
        return "unknown" if "unknown" in verdicts else "smaller"

    def _worst(self, is_last: bool) -> WorstCell:
        """Return the stratum with the largest loss so far."""
        means = self._drops.mean(axis=0)
        column = int(means.argmax())
        task, length = [*self.plan.order][column]
        bounds = (float(means[column]), float(means[column]))
        if not is_last:
            alpha = ALPHA / len(self.plan.order)
            bounds = anytime_bounds(self._drops[:, [column]], self.plan.rows, alpha)
        return WorstCell(
            task=task,
            length=length,
            drop=100 * float(means[column]),
            interval=[100 * end for end in bounds],
        )

    def _add_rows(self, rows: int) -> None:
        """Add the rows since the last look: A − B of each, and whether both models answered."""
        drops, answered = [], []
        for stratum, names in self.plan.configs.items():
            new = self.plan.order[stratum][len(self._drops) : rows]
            drops.append([np.mean([self._drop(name, index) for name in names]) for index in new])
            answered.append(
                [all(self._is_answered(name, index) for name in names) for index in new]
            )
        self._drops = np.concatenate([self._drops, np.array(drops).T])
        self._answered = np.concatenate([self._answered, np.array(answered).T])

    def _drop(self, name: str, index: int) -> float:
        """Return A − B of a row; a missing row counts as wrong."""
        scores_a, scores_b = self.rows_a.scores.get(name, {}), self.rows_b.scores.get(name, {})
        return scores_a.get(index, 0.0) - scores_b.get(index, 0.0)

    def _is_answered(self, name: str, index: int) -> bool:
        """Return whether both models answered a row."""
        sides = (self.rows_a, self.rows_b)
        return not any(index in side.unanswered.get(name, ()) for side in sides)

    def _looked_at(self, model: str | None, side: ScoredRows, rows: int) -> LookedAtModel:
        """Count the unanswered and truncated rows of a model up to a look."""
        unanswered = truncated = 0
        for stratum, names in self.plan.configs.items():
            indices = {*self.plan.order[stratum][:rows]}
            for name in names:
                unanswered += len(indices & side.unanswered.get(name, set()))
                truncated += len(indices & side.truncated.get(name, set()))
        return LookedAtModel(model=model, unanswered=unanswered, truncated=truncated)

    def _drops_by_task(self) -> dict[str, float]:
        """Return the points lost in each task, over its lengths, the largest loss first."""
        columns: dict[str, list[int]] = {}
        for column, (task, _) in enumerate(self.plan.configs):
            columns.setdefault(task, []).append(column)
        drops = {
            task: 100 * float(self._drops[:, of_task].mean()) for task, of_task in columns.items()
        }
        return {task: drops[task] for task in sorted(drops, key=lambda task: -drops[task])}

    def _over_answered(self, is_last: bool) -> AnsweredDrop:
        """Decide from only the rows that both models answered.

        Before the last row they form complete steps with fewer rows of each stratum. They are
        treated as a sample, because it is not known in advance which rows will fail.
        """
        columns = [
            drops[answered] for drops, answered in zip(self._drops.T, self._answered.T, strict=True)
        ]
        drop = None
        verdict: Verdict = "unknown"
        if all(len(column) for column in columns):
            drop = 100 * float(np.mean([column.mean() for column in columns]))
            if is_last:
                verdict = _exact_verdict(columns, self.margins.max_drop)
            else:
                steps = min(len(column) for column in columns)
                complete = np.array([column[:steps] for column in columns]).T
                verdict = _verdict(*self._evidence(complete, None))
        return AnsweredDrop(unanswered=int((~self._answered).sum()), drop=drop, verdict=verdict)

    def _evidence(self, drops: np.ndarray, of: int | None) -> tuple[float, float]:
        smaller, larger = evidence(drops, self.margins.max_drop / 100, of)
        return float(smaller[-1]), float(larger[-1])

    def _interval_of_all(self) -> list[float]:
        """Return the 95 % interval of the drop over other rows like all those of the plan."""
        drops: dict[str, Mapping[int, float]] = {}
        for stratum, names in self.plan.configs.items():
            for name in names:
                drops[name] = {i: self._drop(name, i) for i in self.plan.order[stratum]}
        cells, documents = self._base["configurations"], documents_of(self._base)
        mean = paired_mean(strata_of(drops, cells, None, documents))
        if mean.rows < MIN_INDEPENDENT_ROWS:
            return [-100.0, 100.0]
        return [100 * end for end in difference_interval(mean)]


def rows_of_a_document(plan: LookPlan, documents: Mapping[str, Mapping[int, str]]) -> float:
    """Return how many rows of its task and length share a row's document; 1 if no rows do.

    It is the mean over the rows of the task and length where it is highest.
    """
    most = 1.0
    for stratum, names in plan.configs.items():
        for name in names:
            if name in documents:
                sizes = Counter(documents[name][index] for index in plan.order[stratum])
                most = max(most, sum(size**2 for size in sizes.values()) / plan.rows)
    return most


def _verdict(smaller: float, larger: float) -> Verdict:
    if smaller >= THRESHOLD:
        return "smaller"
    return "larger" if larger >= THRESHOLD else "unknown"


def _exact_verdict(columns: Sequence[np.ndarray], margin: float) -> Verdict:
    """Return whether the mean of the columns' means is below a margin in points, without rounding.

    The row differences are fractions with small denominators, such as 3/10 for ten words.
    """
    total = Fraction(0)
    for column in columns:
        values, counts = np.unique(column, return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            total += Fraction(value).limit_denominator(_MAX_DENOMINATOR) * count / len(column)
    is_below = 100 * total / len(columns) < Fraction(str(margin))
    return "smaller" if is_below else "larger"
