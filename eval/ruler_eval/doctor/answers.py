"""The score of an answer as a run's file has it, by the rules of `ruler score`."""

from __future__ import annotations

from typing import cast

from ruler_eval.doctor.findings import Answer
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.prediction import Prediction
from ruler_eval.run.records import Record
from ruler_eval.score.row_score import ScoringRules, row_score
from ruler_eval.tasks import scoring_task

SCORE_COLUMNS = ("index", "outputs", "none_word")
"""What a row's score depends on."""


class Scorer:
    """Scores the records of runs on one release."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self._rules = ScoringRules().for_release(release)

    def score(self, record: Record, row: PartialRow) -> Answer:
        """Score a record: a failed row is wrong, one that does not fit counts nowhere."""
        prediction = Prediction(
            record["config"],
            record["index"],
            record["prediction"],
            finish_reason=record["finish_reason"],
            thinking=record.get("thinking"),
            thinking_ended=record.get("thinking_ended"),
            error=record.get("error"),
        )
        config = self.release.parse(record["config"])
        task = scoring_task(config.task, self.release.dataset, self.release)
        language = config.instruction_language if config.dataset == "oneruler" else None
        usage = record["usage"]
        return Answer(
            score=row_score(row, prediction, task, language, self._rules).score,
            fits=record["finish_reason"] != "does_not_fit",
            shortened="shortened the prompt" in (record["error"] or ""),
            prompt_tokens=usage["prompt_tokens"] if usage else None,
            cached_tokens=usage["cached_tokens"] if usage else None,
            counted_tokens=cast("int | None", record.get("counted_tokens")),
        )
