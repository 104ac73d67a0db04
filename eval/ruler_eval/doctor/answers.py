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
from ruler_eval.score.rows import ScoringRules, row_score
from ruler_eval.tasks import scoring_task

SCORE_COLUMNS = ("index", "outputs", "none_word")
"""The columns that a row's score depends on."""
Key = tuple[str, int]
"""A configuration and a row index."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """The facts about a row that a verdict needs."""

    key: Key
    length: str
    row_tokens: int
    """Tokens of the prompt, as counted by the release's tokenizer."""
    depth: float | None
    """Position of the evidence as a share of the prompt; None unless there is one piece of it."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a row on one side of a condition."""

    score: float
    failure: str = ""
    """The error, if the request failed."""
    fits: bool = True
    """False if the prompt was too long to be sent, or the server shortened prompt or answer."""
    shortened: bool = False
    """Whether the token counts show that the server shortened the prompt."""
    prompt_tokens: int | None = None
    """Tokens of the prompt, as the server counts them."""
    cached_tokens: int | None = None
    counted_tokens: int | None = None
    """Tokens of the prompt, as counted before it was sent."""

    @property
    def counts(self) -> bool:
        """Whether the score is valid: the request did not fail, and the prompt fit."""
        return self.fits and not self.failure

    @property
    def tokens(self) -> int | None:
        """Tokens of the prompt, as counted by the server, else before it was sent."""
        return self.counted_tokens if self.prompt_tokens is None else self.prompt_tokens


Pairs = Sequence[tuple[Row, Answer, Answer]]
"""Rows with their answers on two sides."""


@dataclass(frozen=True, kw_only=True)
class AllAnswers:
    """All answers so far, from which each condition makes its finding."""

    rows: Sequence[Row]
    """The rows that were sent, in this order."""
    by_side: Mapping[str, Mapping[Key, Answer]]
    """The answers of each side, by its name."""
    complete: bool
    """Whether all planned rows were sent."""
    tests: int
    """How many conditions are tested."""
    has_bos: bool = False
    """Whether the prompts begin with a BOS, as tokenized before they are sent."""
    cache_hits: float | None = None
    """Tokens read from the prefix cache, from the server's /metrics; None without them."""

    def answered(self, side: str) -> list[tuple[Row, Answer]]:
        """Return the rows that have an answer on a side, with their answers."""
        answers = self.by_side.get(side, {})
        return [(row, answers[row.key]) for row in self.rows if row.key in answers]

    def pairs(self, a: str, b: str) -> Pairs:
        """Return the rows that have an answer on both sides, with their answers."""
        answers = self.by_side.get(b, {})
        return [
            (row, first, answers[row.key]) for row, first in self.answered(a) if row.key in answers
        ]


class Scorer:
    """Scores the records of runs on one release."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self._rules = ScoringRules().for_release(release)

    def score(self, record: Record, row: PartialRow) -> Answer:
        """Score a record."""
        prediction = Prediction.from_record(record)
        config = self.release.parse(record["config"])
        task = scoring_task(config.task, self.release.dataset, self.release)
        language = config.instruction_language if config.dataset == "oneruler" else None
        usage, error = record["usage"], record["error"] or ""
        failed = record["finish_reason"] == "error"
        return Answer(
            score=row_score(row, prediction, task, language, self._rules).score,
            failure=(error or "the request failed") if failed else "",
            fits=record["finish_reason"] != "does_not_fit",
            shortened=record.get("failure") == "truncated",
            prompt_tokens=usage["prompt_tokens"] if usage else None,
            cached_tokens=usage["cached_tokens"] if usage else None,
            counted_tokens=cast("int | None", record.get("counted_tokens")),
        )
