"""Run rows that are looked at while later ones are in flight; score each as it is answered.

with open_waves(options, {"until": …}) as run:
    run.answer(20)                     # now 20 rows of each task and length have scores
    run.rows.scores["vt_4k"]           # {17: 1.0, 3: 0.8, …}, and some later rows
    run.store_results("estimate", {…})  # estimate.json and results.json

A wave is the rows between two looks. The server gets the next waves without a pause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.gate.plan import plan_of_run
from ruler_eval.prediction import digest
from ruler_eval.run.options import RunOptions
from ruler_eval.run.plan import RowOrder, estimate
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.records import FAILED_STATES, Record
from ruler_eval.run.runner import OpenRun
from ruler_eval.score import scoring
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.predictions import open_predictions
from ruler_eval.score.results import UNANSWERED, Results, row_values
from ruler_eval.score.results import write as write_results
from ruler_eval.score.rows import SCORE_COLUMNS, ScoringRules, score_record
from ruler_eval.tasks import scoring_task
from ruler_score.ruler_score import SCORE_VERSION


@dataclass(frozen=True)
class ScoredRows:
    """The scores and states of rows, by configuration and index."""

    scores: dict[str, dict[int, float]] = field(default_factory=dict)
    """0 … 1."""
    unanswered: dict[str, set[int]] = field(default_factory=dict)
    """Rows that failed or are missing."""
    truncated: dict[str, set[int]] = field(default_factory=dict)
    """Rows whose truncated answers count as wrong."""

    @classmethod
    def from_results(cls, results: Results) -> ScoredRows:
        """Return the rows of results."""
        unanswered: dict[str, set[int]] = {}
        truncated: dict[str, set[int]] = {}
        scored = row_values(results, "truncated_scored")
        for name, states in row_values(results, "state").items():
            unanswered[name] = {index for index, state in states.items() if state in UNANSWERED}
            ended = {index for index, state in states.items() if state == "truncated"}
            truncated[name] = {index for index in ended if not scored[name][index]}
        scores = row_values(results, "score")
        return cls(scores=scores, unanswered=unanswered, truncated=truncated)


@contextmanager
def open_waves(
    options: RunOptions,
    fixed: Mapping[str, Any],
    base: Results | None = None,
    order_rows: RowOrder | None = None,
) -> Iterator[RunInWaves]:
    """Open a run that answers as many rows as the caller asks for.

    Args:
        options: The options of the run.
        fixed: Settings that are written to run.json before the first row.
        base: The results of model A, whose scoring rules apply; None for the default rules.
        order_rows: Returns the rows of a file in the order of the run; None for the frozen order.

    Raises RulerError as OpenRun does, and if the base has different rows or some are missing.
    """
    if options.backend == "batch":
        raise RulerError(
            "--backend batch only writes requests, and this run needs the answers of each wave: "
            "run all rows, or name another backend."
        )
    if options.shard is not None:
        raise RulerError("--until looks at rows of every task as it goes: leave --shard out.")
    if options.repeats > 1:
        raise RulerError("--until answers each row once: leave --repeats out.")
    with OpenRun(options, fixed, order_rows) as work:
        run = RunInWaves(work, base)
        with closing(run.records):
            yield run


class RunInWaves:
    """An open run, with its plan and the scores of the rows answered so far."""

    def __init__(self, work: OpenRun, base: Results | None) -> None:
        self.work, self.options = work, work.options
        self.plan = plan_of_run(work.plan)
        self._rows_answered = 0
        self._release = release = work.plan.release
        configs = work.plan.rows
        self._rows = {}
        for name in configs:
            # an unknown family is refused before a row is sent
            scoring_task(release.parse(name).task, release.dataset, release)
            self._rows[name] = {row["index"]: row for row in release.rows(name, SCORE_COLUMNS)}
        if base is not None:
            self._check_base(base)
        rules = base["rules"] if base else {"compat": None, "truncated": "protocol"}
        self.model = model = self.options.model
        scoring_rules = ScoringRules(
            compat=rules["compat"], truncated=rules["truncated"], model=model
        )
        self._rules = scoring_rules.for_release(release)
        self._errors: dict[str, dict[int, str]] = {name: {} for name in configs}
        self.rows = ScoredRows(
            scores={name: {} for name in configs},
            unanswered={name: set() for name in configs},
            truncated={name: set() for name in configs},
        )
        again = FAILED_STATES if self.options.retry_failed else ()
        for record in work.records.read():
            if record["config"] in configs and record["finish_reason"] not in again:
                self._score(record)
        ends = pairwise([0, *self.plan.looks()])
        self.records = work.stream([self.plan.part(start, end) for start, end in ends])
        """The records of the rows that are answered now, wave by wave."""

    def _score(self, record: Record) -> None:
        """Score an answered row."""
        name, index = record["config"], record["index"]
        result = score_record(record, self._rows[name][index], self._release, self._rules)
        self.rows.scores[name][index] = result.score
        if result.state == "truncated" and not result.truncated_scored:
            self.rows.truncated[name].add(index)
        if record["finish_reason"] == "error":
            self.rows.unanswered[name].add(index)
            self._errors[name][index] = record.get("error") or "an error"

    def _check_base(self, base: Results) -> None:
        """Raise RulerError before a row is run if the base cannot be compared with this run.

        It may have been scored by another version, on other rows, or without some of the rows.
        """
        if base["score_version"] != SCORE_VERSION:
            raise RulerError(
                f"The base was scored with score version {base['score_version']}, not "
                f"{SCORE_VERSION}: score it again."
            )
        digests = base["dataset"].get("rows", {})
        references = row_values(base, "references")
        for name, rows in self._rows.items():
            digest_of_rows = self.work.plan.files[name]["rows_sha256"]
            same = digests.get(name, digest_of_rows) == digest_of_rows
            if name in references and name not in digests:  # files scored by themselves
                same = all(
                    index in rows and digest("\n".join(rows[index]["outputs"])) == reference
                    for index, reference in references[name].items()
                )
            if not same:
                raise RulerError(f"'{name}' was scored on different rows: run both on one release.")
        if missing := self.plan.missing_row(row_values(base, "score"), self.plan.rows):
            raise RulerError(
                f"The base run has no {missing}, which the test may need: finish it and score it "
                "again, or give the --limit that it was run with."
            )

    def answer(self, rows: int) -> None:
        """Wait until the first `rows` rows of each task and length have scores.

        Raises RulerError if all rows of a wave failed, or one is still missing: failed rows count
        as wrong, but a server that is down says nothing about the model.
        """
        wave = self.plan.part(self._rows_answered, rows)
        missing: set[tuple[str, int]] = set()
        for name, indices in wave.items():
            missing.update((name, index) for index in {*indices} - {*self.rows.scores[name]})
        while missing and (record := next(self.records, None)) is not None:
            self._score(record)
            missing.discard((record["config"], record["index"]))
        errors = []
        for name, indices in wave.items():
            errors += [self._errors[name].get(index) for index in indices]
        if errors and all(errors):
            raise RulerError(
                f"Every row of a wave failed, the first with: {errors[0]}. Fix the server, then "
                "run the same command with --retry-failed."
            )
        if row := self.plan.missing_row(self.rows.scores, rows):
            raise RulerError(f"The {row} has no answer: run the same command again.")
        self._rows_answered = rows

    def store_results(self, name: str, result: Mapping[str, Any]) -> RunSummary:
        """Write a result, such as `decision`, and results.json; return the states of the rows.

        Rows in flight are stored, but only the rows that were looked at count.
        """
        self.work.write_result(name, result)
        self.work.stop()
        for _ in self.records:
            pass
        rows = self.plan.part(0, self._rows_answered)
        summary = self.work.count_states(rows)
        run = PredictionOptions(
            self.options.folder,
            dataset=self.options.dataset,
            revision=self.options.data_revision,
        )
        predictions, release = open_predictions(run)
        rules = ScoringRules(compat=self._rules.compat, truncated=self._rules.truncated)
        scored = scoring.score(predictions.of_rows(rows), release, rules)
        write_results(*scored, self.options.folder / "results.json")
        return summary

    @property
    def remaining_tokens(self) -> int:
        """The prompt tokens of the rows that were not run."""
        return estimate(self.work.plan, self.work.missing(self.work.plan.rows)).prompt_tokens
