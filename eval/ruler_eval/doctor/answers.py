"""The answers to the rows of an examination: their scores, tokens and cache hits.

    scorer = Scorer(release)
    scorer.score(record, row)                    # Answer(score=1.0, prompt_tokens=3902, …)

Scores follow the rules of `ruler score`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.prediction import Prediction
from ruler_eval.run.records import Record
from ruler_eval.score.join import ScoringRules, row_score
from ruler_eval.tasks import scoring_task

SCORE_COLUMNS = ("index", "outputs", "none_word")
"""The columns that a row's score depends on."""
Key = tuple[str, int]
"""A configuration and the index of a row in it."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a verdict needs to know about a row."""

    key: Key
    length: str
    row_tokens: int
    """Tokens of the prompt by the release's own tokenizer."""
    depth: float | None
    """Position of the evidence, as a share of the prompt; None unless it is in one piece."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a row that was asked in one way."""

    score: float
    failure: str = ""
    """The error, if the request failed."""
    fits: bool = True
    """False if the prompt was too long to be sent, or the server shortened prompt or answer."""
    shortened: bool = False
    """Whether the token counts show that the server shortened the prompt."""
    prompt_tokens: int | None = None
    """Tokens of the prompt by the server's count."""
    cached_tokens: int | None = None
    counted_tokens: int | None = None
    """Tokens of the prompt as they were counted before it was sent."""

    @property
    def counts(self) -> bool:
        """Whether the score says anything: the request did not fail, and the prompt fit."""
        return self.fits and not self.failure

    @property
    def tokens(self) -> int | None:
        """Tokens of the prompt: by the server's count, else by ours."""
        return self.counted_tokens if self.prompt_tokens is None else self.prompt_tokens


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All answers so far, as the conditions judge them."""

    rows: Sequence[Row]
    """The rows that were asked, in the order of asking."""
    answers: Mapping[str, Mapping[Key, Answer]]
    """The answers of each way of asking, by its name."""
    complete: bool
    """Whether every planned row was asked."""
    tests: int
    """How many conditions are tested."""
    has_bos: bool = False
    """Whether the prompts, as they are tokenized here, begin with a BOS."""
    cache_hits: float | None = None
    """Tokens read from the prefix cache by the server's /metrics; None without them."""

    def answered(self, side: str) -> list[tuple[Row, Answer]]:
        """Return the rows that were asked in one way, with their answers."""
        answers = self.answers.get(side, {})
        return [(row, answers[row.key]) for row in self.rows if row.key in answers]


class Scorer:
    """Scores the records of runs on one release."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self._rules = ScoringRules().for_release(release)

    def score(self, record: Record, row: PartialRow) -> Answer:
        """Score a record."""
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
        usage, error = record["usage"], record["error"] or ""
        failed = record["finish_reason"] == "error"
        return Answer(
            score=row_score(row, prediction, task, language, self._rules).score,
            failure=(error or "the request failed") if failed else "",
            fits=record["finish_reason"] != "does_not_fit",
            shortened="shortened the prompt" in error,
            prompt_tokens=usage["prompt_tokens"] if usage else None,
            cached_tokens=usage["cached_tokens"] if usage else None,
            counted_tokens=cast("int | None", record.get("counted_tokens")),
        )
