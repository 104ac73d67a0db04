"""Needle in a haystack in the 26 languages of ONERULER (section 2, Table 1; Figures 9 and 12).

    The special magic number for "apple" is: 1234567.

Needles hide between the sentences of a book. Row i asks the same noun with the same numbers at the
same relative depths in every language, and the prompt asks for a word of its own ("none") if
nothing is there. Text and instruction may be in two languages.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ruler_builder.common.randomness import distinct, numbers
from ruler_builder.context.book_haystack import BookHaystack
from ruler_builder.context.fit import fit
from ruler_builder.context.haystacks import DEPTHS, Needle
from ruler_builder.context.prompt_builder import PromptBuilder
from ruler_builder.families.multilingual_niah.params import MultilingualNiahParams, needle_frame
from ruler_builder.families.task import NewRow, Task
from ruler_common.errors import RulerError
from ruler_common.manifest_form import LanguageEntry
from ruler_common.names import LANGUAGES

_DIGITS = 7
_NEAR = 0.05  # of the context: half of what a proof lets two languages differ


@dataclass(frozen=True)
class MultilingualQuestion:
    """What a row asks, in no language: nouns by number, with their values; needles' depths.

    The asked nouns come first; where an absent one is asked, it has no values.
    """

    nouns: list[int]
    values: list[list[str]]
    depths: list[float]


class MultilingualNiah(Task[MultilingualNiahParams]):
    """One niah task for one window."""

    crosses_languages = True

    same_beginning = True  # all rows hide their needles in the same book

    @cached_property
    def _text(self) -> LanguageEntry:
        """The language of the book and the needles."""
        return self.counted_sources.language(self.key.language)

    @cached_property
    def _instruction(self) -> LanguageEntry:
        return self.counted_sources.language(self.key.instruction_language)

    @cached_property
    def _book(self) -> BookHaystack:
        return self.counted_sources.book(self.key.language, self.key.max_length)

    def row(self, index: int) -> NewRow:
        """Row `index`: the same nouns, numbers and depths in every language, at every length."""
        asked, book = self._asked(index), self._book
        keys = [self._text["nouns"][noun] for noun in asked.nouns]
        needle = self._text["parts"]["needle"]
        pairs = [(n, value) for n, values in enumerate(asked.values) for value in values]
        needles = [
            Needle(depth, needle.format(key=keys[n], value=value), answer=n < self._carrying)
            for depth, (n, value) in zip(asked.depths, pairs, strict=True)
        ]
        if clashes := book.numbers & {value for _, value in pairs}:
            raise RulerError(f"The book holds {min(clashes)}, a value of row {index}.")
        queried = [self._instruction["nouns"][noun] for noun in asked.nouns[: self.params.queries]]
        instruction, none_sentence = self._instruction, self.params.none_sentence
        frame = needle_frame(instruction["parts"], instruction["separator"], none_sentence, queried)

        def draft(units: int) -> PromptBuilder:
            return book.lay(PromptBuilder(self.counter).add(frame.head), units, needles, frame.tail)

        fitted = fit(draft, self.room, book.step, book.most)
        own = self.key.language not in LANGUAGES
        if own and book.farthest(fitted.units, asked.depths) > _NEAR:
            raise RulerError(
                f"The book of '{self.key.language}' has too long sentences for a window of "
                f"{self.key.max_length} tokens: each must end with a sign such as a full stop, and "
                "where the script has capitals the next must begin with one."
            )
        none_word = instruction["none_word"] if none_sentence else ""
        outputs, repeats = self._references(asked), book.repeats(fitted.units)
        return self.finish(index, fitted.draft, frame, outputs, fitted.unit, repeats, none_word)

    def references(self, index: int) -> list[str]:
        """The values of the asked keys, or the word for none."""
        return self._references(self._asked(index))

    def _references(self, asked: MultilingualQuestion) -> list[str]:
        values = asked.values[: self._carrying]
        return [value for several in values for value in several] or [
            self._instruction["none_word"]
        ]

    @property
    def prompt_end(self) -> str:
        """The form of an answer, as the published prompt shows it."""
        return self._instruction["parts"]["answer"]

    @property
    def _carrying(self) -> int:
        """How many of the first keys carry references."""
        return 0 if self.params.absent else self.params.queries

    def _asked(self, index: int) -> MultilingualQuestion:
        draw = self.key.draw_asked(index, self.params.same_as or None)
        keys, absent = self.params.keys, int(self.params.absent)
        own = frozenset((self.key.language, self.key.instruction_language)).difference(LANGUAGES)
        nouns = _apart(draw, self.counted_sources.noun_clashes(own), keys + absent)
        drawn = numbers(draw, _DIGITS, keys * self.params.values)
        values: list[list[str]] = [[]] * absent
        values += [drawn[i::keys][: self.params.values] for i in range(keys)]
        depths = [DEPTHS[i] / 100 for i in distinct(draw, len(DEPTHS), len(drawn))]
        return MultilingualQuestion(nouns, values, depths)


def _apart(draw: np.random.Generator, clashes: np.ndarray, count: int) -> list[int]:
    """So many nouns in random order, none part of another in any language."""
    chosen: list[int] = []
    for noun in draw.permutation(len(clashes)).tolist():
        if len(chosen) < count and not clashes[noun, chosen].any():
            chosen.append(noun)
    if len(chosen) < count:
        raise RulerError(f"The noun list has no {count} nouns of which none is part of another.")
    return chosen
