"""The answers of a run folder as an examination reads them: scores, texts, tokens, cache hits.

    side = RunSide(run, Scorer(release), rows)      # `run` is an OpenRun
    side.answer([("vt_4k", 17)])                        # sends what has no answer yet
    side.answers["vt_4k", 17].score

Scores follow the rules of `ruler score`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ruler_common.files import check_type
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.run.records import FAILED_STATES, Record, Records
from ruler_eval.run.runner import OpenRun
from ruler_eval.score.rows import ScoringRules, score_record

Key = tuple[str, int]
"""A configuration and a row index."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a row."""

    score: float
    text: str = ""
    """The answer, after its reasoning if there is any, without the space around it."""
    failure: str = ""
    """The error, if the request failed."""
    fits: bool = True
    """False if the prompt was too long to be sent, or the server shortened prompt or answer."""
    unfit_reason: str = ""
    """Why it does not fit."""
    shortened: bool = False
    """Whether the token counts show that the server shortened the prompt."""
    prompt_tokens: int | None = None
    """Tokens of the prompt, as the server counts them."""
    cached_tokens: int | None = None
    counted_tokens: int | None = None
    """Tokens of the prompt as counted before it was sent, if the server counted others."""

    @property
    def counts(self) -> bool:
        """Whether the score is valid: the request did not fail, and the prompt fit."""
        return self.fits and not self.failure


Answers = Mapping[Key, Answer]


class Scorer:
    """Scores the records of runs on one release."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._rules = ScoringRules().for_release(release)

    def score(self, record: Record, row: PartialRow) -> Answer:
        """Score a record."""
        usage, error = record["usage"], record["error"] or ""
        failed = record["finish_reason"] == "error"
        fits = record["finish_reason"] != "does_not_fit"
        return Answer(
            score=score_record(record, row, self._release, self._rules).score,
            text="\n".join([record["thinking"] or "", record["prediction"]]).strip(),
            failure=(error or "the request failed") if failed else "",
            fits=fits,
            unfit_reason="" if fits else error,
            shortened=record.get("failure") == "truncated",
            prompt_tokens=usage["prompt_tokens"] if usage else None,
            cached_tokens=usage["cached_tokens"] if usage else None,
            counted_tokens=record.get("counted_tokens"),
        )


def read_run_answers(
    folder: Path, scorer: Scorer, rows: Mapping[Key, PartialRow], keep: Iterable[str] = ()
) -> dict[Key, Answer]:
    """Return the answers in a run folder to these rows.

    Rows that failed or did not fit are left out unless their state is in `keep`. Raises RulerError.
    """
    records, answers = Records(folder), {}
    for record in records.read():
        check_type(record, Record, records.path, "Name a new --out.")
        key = record["config"], record["index"]
        state = record["finish_reason"]
        if record.get("sample"):  # the first sample of a row stands for it
            continue
        if key in rows and (state not in FAILED_STATES or state in keep):
            answers[key] = scorer.score(record, rows[key])
    return answers


class Side(Protocol):
    """A way to send rows, with the answers so far."""

    answers: dict[Key, Answer]

    def answer(self, keys: Sequence[Key]) -> None:
        """Send the rows that have no answer yet. Raises RulerError."""


class RunSide:
    """A side whose answers are an ordinary run folder, made by the ordinary runner."""

    def __init__(self, run: OpenRun, scorer: Scorer, rows: Mapping[Key, PartialRow]) -> None:
        self._run, self._scorer, self._rows = run, scorer, rows
        self.answers = read_run_answers(run.options.folder, scorer, rows)
        run.on_record = self._store

    def _store(self, record: Record) -> None:
        key = record["config"], record["index"]
        self.answers[key] = self._scorer.score(record, self._rows[key])

    def answer(self, keys: Sequence[Key]) -> None:
        """Send the rows that have no answer yet. Raises RulerError."""
        missing = [key for key in keys if key not in self.answers]
        if missing:
            self._run.answer(indices_by_config(missing))


def indices_by_config(keys: Iterable[Key]) -> dict[str, list[int]]:
    """Return the indices of rows by configuration, as a run takes them."""
    indices: dict[str, list[int]] = {}
    for config, index in keys:
        indices.setdefault(config, []).append(index)
    return indices


def pairs(a: Answers, b: Answers, keys: Iterable[Key]) -> list[tuple[Key, Answer, Answer]]:
    """Return the rows that have an answer on both sides."""
    return [(key, a[key], b[key]) for key in keys if key in a and key in b]
