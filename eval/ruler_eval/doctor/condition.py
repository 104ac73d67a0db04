"""The parts of a condition of `ruler doctor`: sides, findings, and the test of two sides.

A `Side` is a way to send requests; its fields say how they differ from ordinary ones. The answers
of each side have a folder, so `ruler compare DIR/cold DIR/cached` reads two of them. Every request
has a different cache salt, so nothing is read from a prefix cache unless a side asks for it.

conditions.py has the nine conditions, paired_test.py the statistics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from ruler_common.text import number_of
from ruler_eval.doctor.answers import AllAnswers, Pairs
from ruler_eval.doctor.paired_test import pair_p, smallest_loss
from ruler_eval.score.intervals import mcnemar

DOCS = "docs/doctor.md"
MIN_ROWS = 10
"""Minimum rows for a pattern: on either side of a cliff, or with a second BOS."""
State = Literal["engine", "same", "unchecked"]


@dataclass(frozen=True, kw_only=True)
class Side:
    """A way to send rows; by default one at a time, cold, in the form that `ruler run` uses."""

    name: str
    """The folder of its answers."""
    words: str
    """How a sentence refers to it."""
    after: str = ""
    """The side whose request with the same salt is sent just before, so the prompt is cached."""
    together: int = 1
    """Maximum rows that are sent at once; 0: all rows of a wave."""
    short_neighbours: int = 0
    """Short prompts that are sent together with each row."""
    margin: int | None = None
    """Tokens from the next boundary at which the prompt ends, below (negative) or above it."""
    form: Literal["usual", "text", "server"] = "usual"
    """`text`: as text instead of token ids; `server`: the server renders the chat template."""


COLD = Side(name="cold", words="cold")
"""The side that most conditions are compared with."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one condition; losses are in points."""

    name: str
    title: str
    state: State
    sentence: str
    remedy: str = ""
    rows: int = 0
    only_a: int = 0
    only_b: int = 0
    exact_p: float | None = None
    """The two-sided p of McNemar's test, as in `ruler compare` of the two sides."""
    p: float = 1.0
    holm_p: float = 1.0
    smallest_loss: float | None = None
    flips: float = 0.0
    """Repeats: the share of pairs of identical requests whose scores differ."""
    fault: str = ""
    """The sentence, without its full stop, to use if p is small enough over all conditions."""
    note: str = ""
    """A sentence about rows that were left out."""

    @property
    def docs(self) -> str:
        """The section that explains it."""
        return f"{DOCS}#{self.name}"

    def to_json(self) -> dict[str, Any]:
        """Return the finding for doctor.json and --json; its note is part of the sentence."""
        fields = {
            name: value for name, value in asdict(self).items() if name not in ("fault", "note")
        }
        return {**fields, "sentence": self.sentence + self.note, "docs": self.docs}


@dataclass(frozen=True, kw_only=True)
class Condition(ABC):
    """A difference between requests that must not change an answer, and the test for it."""

    name: str
    """Also the anchor in docs/doctor.md."""
    title: str
    sides: tuple[Side, ...]
    """The sides that it needs."""
    remedy: str
    quick: bool = True
    """Whether `--quick` tests it."""
    explained_by: str = ""
    """A condition that names the cause more precisely, if it changes answers too."""

    @abstractmethod
    def judge(self, answers: AllAnswers) -> Finding:
        """Return the finding from the answers, before Holm's adjustment over all conditions."""

    def finding(self, state: State, sentence: str, rows: int = 0) -> Finding:
        """Return a finding about this condition."""
        return Finding(
            name=self.name,
            title=self.title,
            state=state,
            sentence=sentence,
            remedy=self.remedy,
            rows=rows,
        )

    def unchecked(self, reason: str, rows: int = 0) -> Finding:
        """Return the finding that the condition could not be checked."""
        return self.finding("unchecked", f"Not checked: {reason}.", rows)


# ---- pairs of sides ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Pair(Condition):
    """Two sides whose answers have to be equally good."""

    if_worse: str
    """What is wrong if B's answers are worse than A's."""
    if_not_sent: str = "no row was sent"

    @property
    def a(self) -> Side:
        """The reference side."""
        return self.sides[0]

    @property
    def b(self) -> Side:
        """The suspected side."""
        return self.sides[1]

    def usable(self, pairs: Pairs) -> tuple[Pairs, str]:
        """Return the pairs in which the condition occurred; if it never did, also why.

        The choice depends on token counts, never on the scores.
        """
        return pairs, ""

    def judge(self, answers: AllAnswers) -> Finding:
        """Test whether one side is better than the other."""
        answered = answers.pairs(self.a.name, self.b.name)
        if not answered:
            return self.unchecked(self.if_not_sent)
        failures = [a.failure or b.failure for _, a, b in answered if a.failure or b.failure]
        pairs: Pairs = [(row, a, b) for row, a, b in answered if a.counts and b.counts]
        if not pairs and failures:
            return self.unchecked(f"every request failed ({failures[0]})")
        if not pairs:
            return self.unchecked("the rows do not fit the model's context length")
        pairs, reason = self.usable(pairs)
        if not pairs:
            return self.unchecked(reason)
        signs = [float(np.sign(a.score - b.score)) for _, a, b in pairs]
        only_a, only_b = signs.count(1.0), signs.count(-1.0)
        note = ""
        if failures:
            note = f" {number_of(len(failures), 'row')} failed and do not count ({failures[0]})."
        finding = replace(
            self.finding("unchecked", "Not decided when it stopped.", len(pairs)),
            only_a=only_a,
            only_b=only_b,
            exact_p=mcnemar(only_a, only_b),
            p=pair_p(signs, answers.complete),
            fault=self._fault(pairs, only_a, only_b),
            note=note,
        )
        if not answers.complete:
            return finding
        loss = smallest_loss(len(pairs), only_a + only_b, answers.tests)
        loss = min(100.0, loss + 100 * len(failures) / len(answered))
        sentence = (
            f"No change: {only_a} of {number_of(len(pairs), 'row')} have a better answer "
            f"{self.a.words}, {only_b} {self.b.words}; a loss of {loss:.0f} points would have been "
            "detected."
        )
        return replace(finding, state="same", sentence=sentence, smallest_loss=loss)

    def _fault(self, pairs: Pairs, only_a: int, only_b: int) -> str:
        a, b = self.a.words, self.b.words
        b_is_worse = only_a >= only_b
        if b_is_worse:
            summary, better, worse = self.if_worse, a, b
        else:
            summary, better, worse = f"Answers are worse {a} than {b}", b, a
        fault = (
            f"{summary}: {max(only_a, only_b)} of {number_of(len(pairs), 'row')} have a better "
            f"answer {better}, {min(only_a, only_b)} {worse}"
        )
        start = first_loss(pairs, b_is_worse)
        if start is not None:
            fault += f", from {start:,} tokens on"
        return fault


def first_loss(pairs: Pairs, b_is_worse: bool) -> int | None:
    """Return the tokens of the shortest prompt with a worse answer, if many are shorter."""
    sizes, losing = [], []
    for _, a, b in pairs:
        size = (b if b_is_worse else a).prompt_tokens
        if size is None:
            return None
        sizes.append(size)
        if a.score != b.score and (a.score > b.score) == b_is_worse:
            losing.append(size)
    if not losing:
        return None
    first = min(losing)
    shorter = sum(size < first for size in sizes)
    return first if shorter >= MIN_ROWS and shorter >= len(sizes) / 10 else None
