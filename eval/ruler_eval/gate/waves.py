"""A run that goes on wave by wave, each row scored when it is answered.

with open_waves(options, {"until": …}, max_rows=10) as run:
run.answer(20)                     # 20 rows of each task and length have their score
run.rows.scores["vt_4k"]           # {17: 1.0, 3: 0.8, …}
run.finish({"estimate": …})        # run.json and results.json
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.frozen_release import Release
from ruler_eval.gate.plan import plan_of_run
from ruler_eval.prediction import Prediction, digest
from ruler_eval.run.checked_run import RowOrder
from ruler_eval.run.options import RunOptions
from ruler_eval.run.plan import Part
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.records import Record
from ruler_eval.run.runner import OpenRun
from ruler_eval.score import scoring
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.predictions import open_predictions
from ruler_eval.score.results import UNANSWERED, Results, row_values
from ruler_eval.score.results import write as write_results
from ruler_eval.score.row_score import ScoringRules, row_score
from ruler_eval.tasks import scoring_task
from ruler_score.ruler_score import SCORE_VERSION

COLUMNS = ("index", "outputs", "none_word")
"""What a row's score depends on."""


@dataclass(frozen=True)
class ScoredRows:
    """Scores (0 … 1) by configuration and index; the rows without an answer, and the truncated.

    A row is unanswered if it failed or is missing.
    """

    scores: dict[str, dict[int, float]] = field(default_factory=dict)
    unanswered: dict[str, set[int]] = field(default_factory=dict)
    truncated: dict[str, set[int]] = field(default_factory=dict)

    @classmethod
    def from_results(cls, results: Results) -> ScoredRows:
        """Take the rows of results."""
        unanswered: dict[str, set[int]] = {}
        truncated: dict[str, set[int]] = {}
        for name, states in row_values(results, "state").items():
            unanswered[name] = {index for index, state in states.items() if state in UNANSWERED}
            truncated[name] = {index for index, state in states.items() if state == "truncated"}
        scores = row_values(results, "score")
        return cls(scores=scores, unanswered=unanswered, truncated=truncated)


@contextmanager
def open_waves(
    options: RunOptions,
    fixed: Mapping[str, Any],
    max_rows: int,
    base: Results | None = None,
    order_rows: RowOrder | None = None,
) -> Iterator[RunInWaves]:
    """Open a run in waves of at most `max_rows` rows of each configuration.

    What is `fixed` is written to run.json before the first row. Rows are scored by the rules of the
    base, if there is one, and sent in the order of `order_rows`; by default the frozen order.
    Raises RulerError as OpenRun does, if there are too many configurations for waves, and if the
    base has other rows or some are missing.
    """
    if options.shard is not None:
        raise RulerError("A run that scores stop needs every task at each look: leave --shard out.")
    if options.repeats > 1:
        raise RulerError("A run that scores stop has one sample of each row: leave --repeats out.")
    with OpenRun(options, fixed, max_rows, order_rows) as work:
        yield RunInWaves(work, base)


class RunInWaves:
    """An open run with its plan, and the scores of the rows that were answered so far."""

    def __init__(self, work: OpenRun, base: Results | None) -> None:
        self.work, self.options = work, work.options
        self.plan, self._waves, self._done = plan_of_run(work), work.waves(), 0
        release = Release.open(self.options.release, self.options.data_revision)
        configs = [part.config for part in work.parts]
        self._rows = {
            name: {row["index"]: row for row in release.rows(name, COLUMNS)} for name in configs
        }
        self._configs = {name: release.parse(name) for name in configs}
        self._tasks = {
            name: scoring_task(config.task, release.dataset, release)
            for name, config in self._configs.items()
        }
        if base is not None:
            self._check_base(base)
        rules = base["rules"] if base else {"compat": None, "cut": "protocol"}
        self.model = model = self.options.model
        self._rules = ScoringRules(rules["compat"], rules["cut"], model=model).for_release(release)
        self._errors: dict[str, dict[int, str]] = {name: {} for name in configs}
        self.rows = ScoredRows(
            scores={name: {} for name in configs},
            unanswered={name: set() for name in configs},
            truncated={name: set() for name in configs},
        )
        for name in configs:
            for record in work.records.read(name).values():
                self._score(record)
        work.on_record = self._score

    def _score(self, record: Record) -> None:
        """Score a row that is answered."""
        name, index = record["config"], record["index"]
        row = self._rows[name][index]
        prediction = Prediction(
            name,
            index,
            record["prediction"],
            finish_reason=record["finish_reason"],
            thinking=record.get("thinking"),
            thinking_ended=record.get("thinking_ended"),
            error=record.get("error"),
        )
        config = self._configs[name]
        language = config.instruction_language if config.dataset == "oneruler" else None
        result = row_score(row, prediction, self._tasks[name], language, self._rules)
        self.rows.scores[name][index] = result.score
        if result.state == "truncated":
            self.rows.truncated[name].add(index)
        if record["finish_reason"] == "error":
            self.rows.unanswered[name].add(index)
            self._errors[name][index] = record.get("error") or "an error"

    def _check_base(self, base: Results) -> None:
        """Raise RulerError before a row is run if the base cannot be compared with this run.

        It may have been scored by another version, on other rows, or without some that are needed.
        """
        if base["score_version"] != SCORE_VERSION:
            raise RulerError(
                f"The base was scored by the rules {base['score_version']}, these are "
                f"{SCORE_VERSION}: score it again."
            )
        digests = base["dataset"].get("rows", {})
        references = row_values(base, "references")
        for name, rows in self._rows.items():
            same = (
                digests.get(name, self.work.checked.digests[name])
                == self.work.checked.digests[name]
            )
            if name in references and name not in digests:  # files scored by themselves
                same = all(
                    index in rows and digest("\n".join(rows[index]["outputs"])) == known
                    for index, known in references[name].items()
                )
            if not same:
                raise RulerError(f"'{name}' was scored on different rows: run both on one release.")
        if missing := self.plan.missing_row(row_values(base, "score"), self.plan.rows):
            raise RulerError(
                f"The base run has no {missing}, which the test may need: finish it and score it "
                "again, or give the --limit that it was run with."
            )

    def answer(self, rows: int) -> None:
        """Answer the first `rows` rows of each task and length, as far as they have no answer yet.

        Raises RulerError if all rows of a wave failed: failed rows count as wrong, but a server
        that is gone says nothing about a model.
        """
        answered = sum(len(wave[0].indices) for wave in self._waves[: self._done])
        while answered < rows:
            wave = self._waves[self._done]
            self.work.answer(wave)
            errors = [
                self._errors[part.config].get(index) for part in wave for index in part.indices
            ]
            if all(errors):
                raise RulerError(
                    f"Every row of a wave failed, the first with: {errors[0]}. Repair the server, "
                    "then give the same command with --retry-failed."
                )
            self._done += 1
            answered += len(wave[0].indices)

    def finish(self, found: Mapping[str, Any]) -> RunSummary:
        """Add what was found to run.json, write results.json, and return how the rows ended."""
        self.work.record(found)
        parts: dict[str, Part] = {}
        for part in (part for wave in self._waves[: self._done] for part in wave):
            before = parts[part.config].indices if part.config in parts else ()
            parts[part.config] = Part(part.config, before + part.indices, ())
        summary = self.work.finish([*parts.values()])
        run = PredictionOptions(
            self.options.folder,
            dataset=self.options.release,
            revision=self.options.data_revision,
        )
        predictions, release = open_predictions(run)
        rules = ScoringRules(self._rules.compat, self._rules.cut)
        results = scoring.score(predictions, release, rules)
        write_results(results, self.options.folder / "results.json")
        return summary

    @property
    def remaining_tokens(self) -> int:
        """The prompt tokens of the rows that were not run."""
        return sum(sum(part.tokens) for wave in self._waves[self._done :] for part in wave)
