"""Needle in a haystack in the 26 languages of ONERULER (section 2, Table 1; Figures 9 and 12).

    The special magic number for "apple" is: 1234567.

Needles hide between the sentences of a book. Row i asks the same noun with the same numbers at the
same relative depths in every language, and the prompt names the word to answer ("none") if
the text holds no such number. Text and instruction may be in two languages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruler_builder.tasks.base import CHECKED_ROWS, NewRow, Task, TaskParams, between_tags
from ruler_builder.tasks.draws import Draws, numbers
from ruler_builder.tasks.templates import CONTEXT, Frame
from ruler_builder.text.sources import LanguageSources
from ruler_builder.window.haystacks import DEPTHS, MAX_NEEDLES, Needle
from ruler_builder.window.prompt import PromptBuilder
from ruler_common.errors import RulerError

# ---- Parameters --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MultilingualNiahParams(TaskParams):
    """How many keys hide, with how many values each, and how many keys are asked for.

    `absent` asks for a key that hides nowhere. `none_sentence` is false for the ablation of Figure
    14, which then asks as the task `same_as` does.
    """

    keys: int = 1
    values: int = 1
    queries: int = 1
    absent: bool = False
    none_sentence: bool = True
    same_as: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(min(self.keys, self.values) >= 1, "keys and values start at 1")
        self.need(1 <= self.queries <= 2, "queries must be 1 or 2: the prompts have no other form")
        self.need(self.queries <= self.keys, "queries cannot be more than keys")
        self.need(not self.absent or self.queries == 1, "one absent key can be asked for")
        self.need(
            self.none_sentence or not self.absent,
            "an absent key needs the sentence that says what to answer: none_sentence = true",
        )
        self.need(
            self.keys * self.values <= MAX_NEEDLES,
            f"keys x values cannot be more than {MAX_NEEDLES}",
        )
        self.need(self.keys <= 8, "keys cannot be more than 8, so that they differ clearly")

    def sources(self, text: LanguageSources, instruction: LanguageSources) -> tuple[str, ...]:
        """Return the sources of the book, and of the prompts of both languages."""
        return (text.book, *text.prompts, *instruction.prompts)

    right_answers = staticmethod(between_tags)


def needle_frame(
    parts: Mapping[str, str], separator: str, none_sentence: bool, keys: Sequence[str]
) -> Frame:
    """Return the text before and after the context, and the question."""
    head, _, tail = parts["task"].partition(CONTEXT)
    names = {f"query{i}": key for i, key in enumerate(keys, 1)}
    asked = parts["question_one" if len(keys) == 1 else "question_many"].format(**names)
    end = parts["if_no"]
    if not none_sentence:  # what closes the question stays
        end = end[end.rindex("</") :]
    tail += separator.join([asked, parts["please_list"], end])
    tail += parts["answer_prefix"] + separator + parts["answer"]
    return Frame(head, tail, "", asked[asked.index(">") + 1 :].strip())


# ---- Wording -----------------------------------------------------------------------------------

# The wording is each language's own: the published prompts, read from the sources. The paper says
# how long answers may be for its reasoning models only (B.1); this leaves room for a sentence.
TEMPLATES: dict[str, Any] = {"max_new_tokens": 256}


# ---- Rows --------------------------------------------------------------------------------------

_DIGITS = 7
_NEAR = 0.05  # of the context: half of what a proof lets two languages differ


@dataclass(frozen=True)
class MultilingualQuestion:
    """What a row asks, in no language: nouns by number, with their values; needles' depths.

    The asked nouns come first; an absent one that is asked has no values.
    """

    nouns: list[int]
    values: list[list[str]]
    depths: list[float]


class MultilingualNiah(Task[MultilingualNiahParams]):
    """One niah task for one window."""

    crosses_languages = True

    same_beginning = True  # all rows hide their needles in the same book

    def prepare(self) -> None:
        """Read the book, and the prompts of both languages."""
        self._text = self.counted_sources.language(self.key.language)
        self._instruction = self.counted_sources.language(self.key.instruction_language)
        self.languages = self._text, self._instruction
        self.prompt_end = self._instruction.parts["answer"]  # shows the form of an answer
        # Whether one of two nouns is part of the other
        self._clashes = self.counted_sources.noun_clashes(
            self.key.language, self.key.instruction_language
        )
        self._book = self.counted_sources.book(self.key.language, self.key.max_length)
        # How many of the first keys carry references
        self._carrying = 0 if self.params.absent else self.params.queries

    def row(self, index: int) -> NewRow:
        """Make row `index`: the same nouns, numbers and depths in every language and length."""
        asked, book = self._asked(index), self._book
        keys = [self._text.nouns[noun] for noun in asked.nouns]
        needle = self._text.parts["needle"]
        pairs = [(n, value) for n, values in enumerate(asked.values) for value in values]
        needles = [
            Needle(depth, needle.format(key=keys[n], value=value), answer=n < self._carrying)
            for depth, (n, value) in zip(asked.depths, pairs, strict=True)
        ]
        if clashes := book.numbers & {value for _, value in pairs}:
            raise RulerError(
                f"The book contains {min(clashes)}, a value of row {index}: remove it there."
            )
        queried = [self._instruction.nouns[noun] for noun in asked.nouns[: self.params.queries]]
        instruction, none_sentence = self._instruction, self.params.none_sentence
        frame = needle_frame(instruction.parts, instruction.separator, none_sentence, queried)

        def draft(units: int) -> PromptBuilder:
            return book.lay(PromptBuilder(self.counter).add(frame.head), units, needles, frame.tail)

        fitted = self.fit(draft, book.step, book.max_units)
        custom = self._text.facts.is_custom and self.fills
        if custom and book.farthest(fitted.units, asked.depths) > _NEAR:
            raise RulerError(
                f"The sentences of {self._text.quoted_name('book')} are too long for a window of "
                f"{self.key.max_length} tokens: each must end with a character such as a full "
                "stop and, if the script has capitals, the next must begin with one."
            )
        none_word = instruction.none_word if none_sentence else ""
        outputs, repeats = self._references(asked), book.repeats(fitted.units)
        return self.new_row(
            index, fitted.draft, frame, outputs, fitted.next_unit_tokens, repeats, none_word
        )

    def check(self, rows: int) -> None:
        """Refuse a window that cannot hold the task, or a custom book of too long sentences."""
        super().check(rows)
        if self._text.facts.is_custom:
            for index in range(min(rows, CHECKED_ROWS)):
                self.row(index)

    def references(self, index: int) -> list[str]:
        """Return the values of the asked keys, or the word for none."""
        return self._references(self._asked(index))

    def _references(self, asked: MultilingualQuestion) -> list[str]:
        values = asked.values[: self._carrying]
        return [value for several in values for value in several] or [self._instruction.none_word]

    def _asked(self, index: int) -> MultilingualQuestion:
        draws = self.key.question_draws(index, self.params.same_as or None)
        keys, absent = self.params.keys, int(self.params.absent)
        nouns = _apart(draws, self._clashes, keys + absent)
        drawn = numbers(draws, _DIGITS, keys * self.params.values)
        values: list[list[str]] = [[]] * absent
        values += [drawn[i::keys][: self.params.values] for i in range(keys)]
        depths = [DEPTHS[i] / 100 for i in draws.distinct(len(DEPTHS), len(drawn)).tolist()]
        return MultilingualQuestion(nouns, values, depths)


def _apart(draws: Draws, clashes: np.ndarray, count: int) -> list[int]:
    """Draw `count` nouns in random order, none part of another in any language."""
    chosen: list[int] = []
    for noun in draws.permutation(len(clashes)).tolist():
        if len(chosen) < count and not clashes[noun, chosen].any():
            chosen.append(noun)
    if len(chosen) < count:
        raise RulerError(
            f"A row needs {count} nouns of which none is part of another, and the list has fewer: "
            "translate with other nouns."
        )
    return chosen
