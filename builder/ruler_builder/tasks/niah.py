"""Needle in a haystack, eight tasks of it (section 3.1, Tables 2 and 5).

    One of the special magic numbers for able-cat is: 1234567.

Needles hide in the noise sentences, in the essays, or among other needles that are drawn for
each row; one key or several are asked for. Numbers in the essays are never values, so a
value occurs only in its needle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ruler_builder.tasks.base import NewRow, Task, TaskParams
from ruler_builder.tasks.draws import Draws, uuids
from ruler_builder.tasks.templates import Frame, fill_templates
from ruler_builder.text import corpora
from ruler_builder.text.sources import LanguageSources
from ruler_builder.window.haystacks import (
    DEPTHS,
    MAX_NEEDLES,
    MIN_TOKENS_PER_LINE,
    Haystack,
    LineHaystack,
    Needle,
)
from ruler_builder.window.prompt import PromptBuilder

# ---- Parameters --------------------------------------------------------------------------------

TYPES = {"words": "word", "numbers": "number", "uuids": "uuid"}
"""Of keys and values, with the word for one."""
_HAYSTACKS = ("noise", "essay", "needles")


@dataclass(frozen=True, kw_only=True)
class NiahParams(TaskParams):
    """Haystack, types of key and value, and how many of each (Table 5)."""

    haystack: str = "essay"
    key_type: str = "words"
    value_type: str = "numbers"
    keys: int = 1
    values: int = 1
    queries: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(self.haystack in _HAYSTACKS, f"haystack must be one of {', '.join(_HAYSTACKS)}")
        for name in (self.key_type, self.value_type):
            self.need(name in TYPES, f"key_type and value_type must be one of {', '.join(TYPES)}")
        self.need(
            min(self.keys, self.values, self.queries) >= 1, "keys, values, queries start at 1"
        )
        self.need(self.queries <= self.keys, "queries cannot be more than keys")
        max_needles = MAX_NEEDLES if self.haystack == "essay" else 1000
        self.need(
            self.keys * self.values <= max_needles,
            f"keys x values cannot be more than {max_needles}",
        )

    def sources(self, text: LanguageSources, instruction: LanguageSources) -> tuple[str, ...]:
        """Return the essays, if they are the haystack."""
        return ("essays",) if self.haystack == "essay" else ()


def niah_frame(templates: Mapping[str, Any], types: str, many: bool, query: str) -> Frame:
    """Return the frame of a prompt that asks for values of `types` of the keys in `query`."""
    return fill_templates(
        templates["many" if many else "one"], type=TYPES[types], types=types, query=query
    )


# ---- Wording -----------------------------------------------------------------------------------

TEMPLATES: dict[str, Any] = {
    "max_new_tokens": 128,
    "needle": "One of the special magic {types} for {key} is: {value}.",
    "one": {
        "input": (
            "A special magic {type} is hidden within the following text. Make sure to memorize it. "
            "I will quiz you about the {type} afterwards.\n{context}\n{question}"
        ),
        "question": "What is the special magic {type} for {query} mentioned in the provided text?",
        "prefix": " The special magic {type} for {query} mentioned in the provided text is",
    },
    "many": {
        "input": (
            "Some special magic {types} are hidden within the following text. Make sure to "
            "memorize it. I will quiz you about the {types} afterwards.\n{context}\n{question}"
        ),
        "question": (
            "What are all the special magic {types} for {query} mentioned in the provided text?"
        ),
        "prefix": " The special magic {types} for {query} mentioned in the provided text are",
    },
}


# ---- Rows --------------------------------------------------------------------------------------

_LOWEST_NUMBER = 10**6  # of seven digits
_MIN_TOKENS = {"words": 1, "numbers": 1, "uuids": 9}  # of a key or value


@dataclass(frozen=True)
class NiahQuestion:
    """What a row asks: keys, the asked ones first; their values, key by key; needles' depths."""

    keys: list[str]
    values: list[str]
    depths: list[float]


class Niah(Task[NiahParams]):
    """One niah task for one window."""

    def prepare(self) -> None:
        """Take the haystack, unless each row has other needles as its haystack."""
        needle = self.templates["needle"]
        self._needle = needle.format(types=self.params.value_type, key="{0}", value="{1}").format
        self._haystack: Haystack | None = None
        # Strings of the value type in the essays: as values they would occur twice
        self._in_the_text: set[str] = set()
        if self.params.haystack == "essay":
            self._haystack = self.counted_sources.essays
            if self.params.value_type == "numbers":
                self._in_the_text.update(self.counted_sources.essays.numbers)
            elif self.params.value_type == "words":
                adjectives, nouns = map(set, corpora.key_words())
                for pair in self.counted_sources.essays.hyphenated:
                    adjective, noun = pair.split("-")
                    if adjective in adjectives and noun in nouns:
                        self._in_the_text.add(pair)
        elif self.params.haystack == "noise":
            max_lines = self.key.max_length // MIN_TOKENS_PER_LINE
            self._haystack = self.counted_sources.noise(max_lines)
        self.same_beginning = self._haystack is not None

    def row(self, index: int) -> NewRow:
        """Make row `index`: the same keys, values and depths at every length."""
        question, params = self._question(index), self.params
        outputs = question.values[: params.queries * params.values]
        needles = []
        for number, value in enumerate(question.values):
            text = self._needle(question.keys[number // params.values], value)
            answer = number < len(outputs)
            needles.append(Needle(question.depths[number], text, answer))
        *first, last = question.keys[: params.queries]
        query = f"{', '.join(first)}, and {last}" if first else last
        frame = niah_frame(self.templates, params.value_type, len(outputs) > 1, query)
        haystack = self._haystack or self._other_needles(index, question)

        def draft(units: int) -> PromptBuilder:
            prompt = PromptBuilder(self.counter).add(frame.head)
            return haystack.lay(prompt, units, needles, frame.tail + frame.prefix)

        fitted = self.fit(draft, haystack.step, haystack.max_units)
        repeats = haystack.repeats(fitted.units)
        return self.new_row(index, fitted.draft, frame, outputs, fitted.next_unit_tokens, repeats)

    def references(self, index: int) -> list[str]:
        """Return the values of the asked keys, in their order."""
        return self._question(index).values[: self.params.queries * self.params.values]

    def _other_needles(self, index: int, question: NiahQuestion) -> LineHaystack:
        """Draw needles of the same types, enough for the window, with none of the asked strings."""
        types = (self.params.key_type, self.params.value_type)
        min_tokens = MIN_TOKENS_PER_LINE + _MIN_TOKENS[types[0]] + _MIN_TOKENS[types[1]]
        count = self.key.max_length // min_tokens
        draws = self.key.filling_draws("haystack", index)
        taken = {*question.keys, *question.values}
        keys = self._strings(draws, self.params.key_type, count, taken)
        if self.params.key_type == self.params.value_type != "uuids":
            drawn = list(keys)
            taken |= set(drawn)
            keys = iter(drawn)
        values = self._strings(draws, self.params.value_type, count, taken)
        return LineHaystack(map(self._needle, keys, values), count, self.counter)

    def _question(self, index: int) -> NiahQuestion:
        """Draw distinct keys, each with distinct values; no two strings of the row are equal."""
        draws = self.key.question_draws(index)
        count = self.params.keys * self.params.values
        keys = list(self._strings(draws, self.params.key_type, self.params.keys))
        taken = self._in_the_text | set(keys)
        values = list(self._strings(draws, self.params.value_type, count, taken))
        if self.params.haystack == "essay":
            depths = [DEPTHS[i] / 100 for i in draws.distinct(len(DEPTHS), count).tolist()]
        else:
            depths = draws.floats(count).tolist()
        return NiahQuestion(keys, values, depths)

    @staticmethod
    def _strings(draws: Draws, kind: str, count: int, taken: Collection[str] = ()) -> Iterator[str]:
        """Draw different strings of a type, none of them in `taken`; each is made when read."""
        if kind == "uuids":
            return iter(uuids(draws, count))
        adjectives, nouns = corpora.key_words() if kind == "words" else ([], [])
        population = len(adjectives) * len(nouns) if kind == "words" else 9 * _LOWEST_NUMBER
        drawn = draws.distinct(population, count + len(taken))  # enough to replace all of `taken`
        texts: Iterable[str]
        if kind == "words":
            firsts, seconds = np.divmod(drawn, len(nouns))
            pairs = zip(firsts.tolist(), seconds.tolist(), strict=True)
            texts = (f"{adjectives[first]}-{nouns[second]}" for first, second in pairs)
        else:
            texts = map(str, (_LOWEST_NUMBER + drawn).tolist())
        return islice((text for text in texts if text not in taken), count)
