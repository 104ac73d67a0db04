"""What the answers of a run have in common: one sentence for each sign that a setting is wrong.

They are shown at the end of a run, because no single answer shows them: reasoning that was not
asked for, empty or equal answers, and answers that all end at their token limit.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from ruler_common.text import number_of, shortened
from ruler_eval.run.records import Record
from ruler_score.oneruler_rules import NONE_WORDS

MAX_EMPTY_SHARE = 0.1
"""The share of empty answers from which they are reported."""
MIN_EQUAL, MIN_EQUAL_SHARE = 5, 0.2
"""How many answers, and which share, have the same text before that is reported."""
MIN_CHARACTERS = 30
"""Characters of such a text: a shorter one may be right for many rows."""
MAX_SHOWN = 80
"""Characters of it that are shown."""
_NONES = {word.casefold() for words in NONE_WORDS.values() for word in words}
_TAG = re.compile(r"<[^<>]*>")


def is_none(text: str) -> bool:
    """Return whether an answer is a word for "none", in ONERULER's tags or without.

    It is right for many rows, and some models give it to many others.
    """
    return _TAG.sub(" ", text).strip(" .").casefold() in _NONES


@dataclass
class AnswerCounts:
    """How many answers of a run are empty, hold reasoning, or end at their token limit."""

    thinks: bool = False
    """Whether reasoning was asked for."""
    mode: str = ""
    """The prompt mode; a raw prompt is always continued up to the limit."""
    answers: int = 0
    with_reasoning: int = 0
    """Answers with reasoning, whether it was asked for or not."""
    in_reasoning: int = 0
    """Complete answers that a server's parser took for reasoning, without --thinking."""
    unasked: int = 0
    """Other rows with reasoning, without --thinking."""
    empty: int = 0
    """Other empty answers; reasoning that did not end is reported by itself."""
    texts: Counter[int] = field(default_factory=Counter)
    """How many rows were answered with each text, by its hash."""
    repeated: dict[int, str] = field(default_factory=dict)
    """The texts of several answers."""
    at_limit: int = 0
    """Answers that used all their tokens, whatever the server says of their end."""

    def add(self, record: Record) -> None:
        """Count a recorded row."""
        state = record["finish_reason"]
        if state not in ("stop", "length"):
            return
        self.answers += 1
        self.at_limit += state == "length" or record.get("at_limit", False)
        if not record.get("sample"):  # a greedy model gives several samples of a row
            self._add_text(record["prediction"].strip())
        usage = record["usage"]
        is_empty = not record["prediction"].strip()
        has_reasoning = bool(record["thinking"]) or bool(usage and usage["thinking_tokens"])
        self.with_reasoning += has_reasoning or record.get("thinking_ended") is False
        if has_reasoning and not self.thinks:
            ended = record.get("thinking_ended") is not False
            if is_empty and state == "stop" and record["thinking"] and ended:
                self.in_reasoning += 1
            else:
                self.unasked += 1
        elif is_empty and record.get("thinking_ended") is not False:
            self.empty += 1

    def _add_text(self, text: str) -> None:
        if len(text) < MIN_CHARACTERS or is_none(text):
            return
        key = hash(text)
        self.texts[key] += 1
        if self.texts[key] > 1:
            self.repeated[key] = text

    def lines(self) -> list[str]:
        """Return a sentence for each sign that a setting is wrong."""
        rows = number_of(self.answers, "answer")
        lines = []
        if self.in_reasoning:
            lines.append(
                f"{self.in_reasoning:,} of {rows} came as reasoning, with no text besides it: the "
                "server's --reasoning-parser takes an answer for reasoning. Start the server "
                "without it, or run with --thinking."
            )
        if self.unasked:
            lines.append(
                f"{self.unasked:,} of {rows} had reasoning although --thinking is off, which uses "
                "up the tokens of the answer: give it tokens (--thinking 8192), or turn it off on "
                "the server."
            )
        if self.thinks and self.answers and not self.with_reasoning:
            lines.append(
                f"None of {rows} had reasoning, although --thinking asks for it: the model does "
                "not reason, its reasoning has no marks, or the server leaves it out and does not "
                "count it. Look at some with `ruler show`."
            )
        if self.empty > MAX_EMPTY_SHARE * self.answers:
            lines.append(
                f"{self.empty:,} of {rows} {'is' if self.empty == 1 else 'are'} empty: the model "
                "ended at once, or only reasoned. Check --mode, the template and --thinking "
                "(ruler doctor)."
            )
        for key, text in self.repeated.items():
            if self.texts[key] >= max(MIN_EQUAL, MIN_EQUAL_SHARE * self.answers):
                lines.append(
                    f"{self.texts[key]:,} of {rows} are word for word the same, "
                    f"'{shortened(text, MAX_SHOWN)}': the model or a gateway says this in place of "
                    "an answer. Look at some with `ruler show`."
                )
        if self.answers and self.at_limit >= self.answers and self.mode != "completion":
            lines.append(
                f"Every answer ended at its token limit ({rows}): the model does not end its turn, "
                "or reasons. Look at some with `ruler show`, and check --mode and the template."
            )
        return lines
