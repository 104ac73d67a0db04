"""What a condition of `ruler doctor` is: its sides, the finding about it, the test of two sides.

A way to ask is a `Side`: its fields say all that is different about its requests. Each side has a
folder for its answers, so `ruler compare DIR/cold DIR/cached` reads two of them. Every request has
its own cache salt, so nothing is read from a prefix cache unless a side asks for it.

conditions.py has the nine conditions, paired_test.py the statistics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ruler_common.text import number_of
from ruler_eval.doctor.answers import Answer, Evidence, Row
from ruler_eval.doctor.paired_test import pair_p, smallest_loss
from ruler_eval.score.intervals import mcnemar

DOCS = "docs/doctor.md"
MIN_ROWS = 10
"""Rows that a pattern needs: on either side of a cliff, or with a second BOS."""
State = Literal["engine", "same", "unchecked"]
Pairs = Sequence[tuple[Row, Answer, Answer]]


@dataclass(frozen=True, kw_only=True)
class Side:
    """One way to ask rows; by default one at a time, cold, in the form that `ruler run` uses."""

    name: str
    """The folder of its answers."""
    words: str
    """How it is named in a sentence."""
    after: str = ""
    """The side whose request is sent right before, with the same salt: its prompt is cached."""
    together: int = 1
    """Rows that are sent at once, at most; 0: all rows of a wave."""
    short_neighbours: int = 0
    """Short prompts that are sent together with each row."""
    margin: int | None = None
    """Tokens from the next border at which the prompt ends, below (negative) or above it."""
    form: Literal["usual", "text", "server"] = "usual"
    """`text`: as text instead of token ids; `server`: the server renders the chat template."""


COLD = Side(name="cold", words="cold")
"""What most conditions are compared with."""


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
    """Of McNemar's test by itself, two-sided: what `ruler compare` gives for the two sides."""
    p: float = 1.0
    holm_p: float = 1.0
    smallest_loss: float | None = None
    flips: float = 0.0
    """Repeats: the share of pairs of identical requests whose scores differ."""
    fault: str = ""
    """The sentence, without its full stop, if p is small enough over all conditions."""
    note: str = ""
    """A sentence about rows that were left out."""

    @property
    def docs(self) -> str:
        """Where it is explained."""
        return f"{DOCS}#{self.name}"


@dataclass(frozen=True, kw_only=True)
class Condition(ABC):
    """Something that must not change an answer: how to ask, how to judge, what to do about it."""

    name: str
    """Also the anchor in docs/doctor.md."""
    title: str
    sides: tuple[Side, ...]
    """The ways to ask that it needs."""
    remedy: str
    quick: bool = True
    """Whether `--quick` asks it."""
    explained_by: str = ""
    """A condition that names the cause better, if it changes answers too."""

    @abstractmethod
    def judge(self, evidence: Evidence) -> Finding:
        """Return what the answers show, before Holm's adjustment over all conditions."""

    def finding(self, state: State, sentence: str, rows: int = 0) -> Finding:
        """Return a finding under this condition."""
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
    if_not_asked: str = "no row was asked"

    @property
    def a(self) -> Side:
        """The side that is the reference."""
        return self.sides[0]

    @property
    def b(self) -> Side:
        """The side that is suspected."""
        return self.sides[1]

    def usable(self, pairs: Pairs) -> tuple[Pairs, str]:
        """Return the pairs in which the condition happened, and why there are none.

        Which pairs these are follows from token counts, never from the scores.
        """
        return pairs, ""

    def judge(self, evidence: Evidence) -> Finding:
        """Test whether one side is better than the other."""
        answers = evidence.answers.get(self.b.name, {})
        asked = [
            (row, a, answers[row.key])
            for row, a in evidence.answered(self.a.name)
            if row.key in answers
        ]
        if not asked:
            return self.unchecked(self.if_not_asked)
        failures = [a.failure or b.failure for _, a, b in asked if a.failure or b.failure]
        pairs: Pairs = [pair for pair in asked if pair[1].counts and pair[2].counts]
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
            note = f" {number_of(len(failures), 'row')} failed and count nowhere ({failures[0]})."
        finding = replace(
            self.finding("unchecked", "Not decided when it stopped.", len(pairs)),
            only_a=only_a,
            only_b=only_b,
            exact_p=mcnemar(only_a, only_b),
            p=pair_p(signs, evidence.complete),
            fault=self._fault(pairs, only_a, only_b),
            note=note,
        )
        if not evidence.complete:
            return finding
        loss = smallest_loss(len(pairs), only_a + only_b, evidence.tests)
        loss = min(100.0, loss + 100 * len(failures) / len(asked))
        sentence = (
            f"No change: {only_a} of {number_of(len(pairs), 'row')} have a better answer "
            f"{self.a.words}, {only_b} {self.b.words}; a loss of {loss:.0f} points would have been "
            "seen."
        )
        return replace(finding, state="same", sentence=sentence, smallest_loss=loss)

    def _fault(self, pairs: Pairs, only_a: int, only_b: int) -> str:
        a, b = self.a.words, self.b.words
        b_is_worse = only_a >= only_b
        what = self.if_worse if b_is_worse else f"Answers are worse {a} than {b}"
        better, worse = (a, b) if b_is_worse else (b, a)
        more, fewer = sorted((only_a, only_b), reverse=True)
        start = first_loss(pairs, b_is_worse)
        return (
            f"{what}: {more} of {number_of(len(pairs), 'row')} have a better answer {better}, "
            f"{fewer} {worse}" + (f", from {start:,} tokens on" if start else "")
        )


def first_loss(pairs: Pairs, b_is_worse: bool) -> int | None:
    """Return the tokens of the shortest prompt that lost, if there are many shorter ones."""
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
