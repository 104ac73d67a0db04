"""Needle in a haystack, eight tasks of it (section 3.1, Tables 2 and 5).

    One of the special magic numbers for able-cat is: 1234567.

Needles hide in the noise sentences, in the essays, or among other needles that are drawn anew for
each row; one key or several are asked for. Numbers that stand in the essays are never values, so a
value occurs only in its needle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import filterfalse, islice

import numpy as np

from ruler_builder.common.randomness import distinct, iter_numbers, uuids
from ruler_builder.context.haystacks import (
    DEPTHS,
    FEWEST_TOKENS_A_LINE,
    Haystack,
    LineHaystack,
    Needle,
)
from ruler_builder.context.prompt_builder import PromptBuilder
from ruler_builder.families.niah.params import NiahParams, niah_frame
from ruler_builder.families.task import NewRow, Task
from ruler_builder.sources import word_lists
from ruler_builder.suites.wording import Frame

_KEY, _VALUE = "\0", "\1"  # signs that no wording has
_FEWEST_TOKENS = {"words": 1, "numbers": 1, "uuids": 9}  # of a key or value


@dataclass(frozen=True)
class NiahQuestion:
    """What a row asks: keys with their values, the asked keys first; and each needle's depth."""

    pairs: list[tuple[str, list[str]]]
    depths: list[float]


class Niah(Task[NiahParams]):
    """One niah task for one window."""

    @property
    def same_beginning(self) -> bool:
        """Essays and noise are every row's; the other needles are a row's own."""
        return self.params.haystack != "needles"

    def row(self, index: int) -> NewRow:
        """Row `index`: the same keys, values and depths at every length."""
        asked = self._asked(index)
        keyed = enumerate(asked.pairs)
        pairs = [(number, key, value) for number, (key, values) in keyed for value in values]
        needles = [
            Needle(depth, self._needle(key, value), answer=number < self.params.queries)
            for depth, (number, key, value) in zip(asked.depths, pairs, strict=True)
        ]
        frame = self._frame([key for key, _ in asked.pairs[: self.params.queries]])
        haystack = self._haystack(index, asked)

        def draft(units: int) -> PromptBuilder:
            prompt = PromptBuilder(self.counter).add(frame.head)
            return haystack.lay(prompt, units, needles, frame.tail + frame.prefix)

        fitted = self.fit(draft, haystack.step, haystack.most)
        outputs = self._references(asked)
        repeats = haystack.repeats(fitted.units)
        return self.finish(index, fitted.draft, frame, outputs, fitted.unit, repeats)

    def references(self, index: int) -> list[str]:
        """The values of the asked keys, in their order."""
        return self._references(self._asked(index))

    def _references(self, asked: NiahQuestion) -> list[str]:
        return [value for _, values in asked.pairs[: self.params.queries] for value in values]

    def _haystack(self, index: int, asked: NiahQuestion) -> Haystack:
        if self.params.haystack == "essay":
            return self.counted_sources.essays
        if self.params.haystack == "noise":
            return self.counted_sources.noise(self.key.max_length // FEWEST_TOKENS_A_LINE)
        return self._other_needles(index, asked)

    def _other_needles(self, index: int, asked: NiahQuestion) -> LineHaystack:
        """Needles of the same types, enough for the window, with none of the asked strings."""
        types = (self.params.key_type, self.params.value_type)
        fewest = FEWEST_TOKENS_A_LINE + sum(_FEWEST_TOKENS[kind] for kind in types)
        count = self.key.max_length // fewest
        draw = self.key.draw_filling("haystack", index)
        taken = {string for key, values in asked.pairs for string in (key, *values)}
        keys = self._strings(draw, self.params.key_type, count, taken)
        if self.params.key_type == self.params.value_type != "uuids":
            drawn = list(keys)
            taken |= set(drawn)
            keys = iter(drawn)
        values = self._strings(draw, self.params.value_type, count, taken)
        return LineHaystack(map(self._needle, keys, values), count, self.counter)

    def _asked(self, index: int) -> NiahQuestion:
        """Distinct keys, each with distinct values; no two strings of the row are equal."""
        draw, size = self.key.draw_asked(index), self.params.values
        count = self.params.keys * size
        keys = list(self._strings(draw, self.params.key_type, self.params.keys))
        taken = self._in_the_text | set(keys)
        values = list(self._strings(draw, self.params.value_type, count, taken))
        pairs = [(key, values[i * size : (i + 1) * size]) for i, key in enumerate(keys)]
        if self.params.haystack == "essay":
            depths = [DEPTHS[i] / 100 for i in distinct(draw, len(DEPTHS), count)]
        else:
            depths = draw.random(count).tolist()
        return NiahQuestion(pairs, depths)

    @cached_property
    def _in_the_text(self) -> set[str]:
        """Strings of the value type that stand in the essays: as values they would be twice."""
        if self.params.haystack != "essay" or self.params.value_type == "uuids":
            return set()
        if self.params.value_type == "numbers":
            return set(self.counted_sources.essays.numbers)
        adjectives, nouns = map(set, word_lists.key_words())
        pairs = (pair.split("-") for pair in self.counted_sources.essays.hyphenated)
        return {f"{one}-{two}" for one, two in pairs if one in adjectives and two in nouns}

    @staticmethod
    def _strings(
        draw: np.random.Generator, kind: str, count: int, taken: Collection[str] = ()
    ) -> Iterator[str]:
        """Different strings of a type, none of them in `taken`; drawn now, written when read."""
        if kind == "uuids":
            return iter(uuids(draw, count))
        if kind == "numbers":
            return iter_numbers(draw, 7, count, taken)
        adjectives, nouns = word_lists.key_words()
        population = len(adjectives) * len(nouns)
        picked = distinct(draw, population, count + len(taken))
        first, second = (half.tolist() for half in np.divmod(picked, len(nouns)))
        halves = map(adjectives.__getitem__, first), map(nouns.__getitem__, second)
        pairs = map("{}-{}".format, *halves)
        return islice(filterfalse(taken.__contains__, pairs), count)

    @cached_property
    def _needle_form(self) -> str:
        """A needle with a sign in the place of its key and another in that of its value."""
        template: str = self.templates["needle"]
        return template.format(types=self.params.value_type, key=_KEY, value=_VALUE)

    def _needle(self, key: str, value: str) -> str:
        return self._needle_form.replace(_KEY, key).replace(_VALUE, value)

    def _frame(self, keys: list[str]) -> Frame:
        """The text before and after the context, the answer prefix and the question."""
        many = len(keys) * self.params.values > 1
        query = keys[0] if len(keys) == 1 else f"{', '.join(keys[:-1])}, and {keys[-1]}"
        return niah_frame(self.templates, self.params.value_type, many, query)
