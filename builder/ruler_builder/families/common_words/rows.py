"""Common words extraction: which words of a numbered list appear most often (section 3.3).

    1. garden 2. river 3. garden …

Common words appear `freq_cw` times each, uncommon ones `freq_ucw` times. A short solved example
comes first; in layout `2024`, that of the paper's own code, no space stands before its answer.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ruler_builder.context.counted_sources import CountedTexts
from ruler_builder.families.common_words.params import CommonParams, example_words
from ruler_builder.families.numbered_words import FEWEST_TOKENS, NumberedWords
from ruler_builder.sources import word_lists
from ruler_builder.suites.params import ListCounts
from ruler_builder.suites.wording import Frame, filled, wording_of

_LONG = 131072  # tokens; above it wonderwords' words do not suffice


class CommonWords(NumberedWords[CommonParams]):
    """One cwe task of RULER for one window."""

    cost = 3

    @property
    def _example_most(self) -> int:
        """The most different words that a solved example has at any length."""
        return max(example_words(self.params.num_cw, length) for length in (0, _LONG))

    @property
    def spare(self) -> int:
        """The words of the solved examples, drawn alike at every length."""
        return self.params.examples * self._example_most

    @cached_property
    def further(self) -> list[str]:
        """Beyond 128k, the most frequent other words."""
        if self.key.max_length <= _LONG:
            return []
        return word_lists.extension()[: self.key.max_length // FEWEST_TOKENS]

    @cached_property
    def words(self) -> CountedTexts:
        """The words of wonderwords, then the extension."""
        return self.counted_sources.counted(word_lists.vocabulary() + self.further, before=" ")

    def safe(self) -> np.ndarray:
        """Where the words stand that no other contains."""
        return word_lists.maximal_places()

    @cached_property
    def unfit(self) -> frozenset[int]:
        """Where those of them stand that the wording contains."""
        wording, words = wording_of(self.templates).casefold(), word_lists.vocabulary()
        safe = self.safe().tolist()
        return frozenset(place for place in safe if words[place].casefold() in wording)

    def frame(self, draw: np.random.Generator, spare: np.ndarray) -> Frame:
        """The solved example, then the instruction; the list's own question after it."""
        frame = filled(self.templates, n=self.params.num_cw)
        each = self._example_most
        drawn = [spare[i * each : (i + 1) * each] for i in range(self.params.examples)]
        examples = "".join(self._example(draw, words, frame) for words in drawn)
        return frame._replace(head=examples + frame.head)

    def _example(self, draw: np.random.Generator, spare: np.ndarray, frame: Frame) -> str:
        """A solved list of 40 words (below 4096 tokens 20) of its own, some of them common."""
        num, times = self.params.num_cw, ListCounts(10, 3)
        count = example_words(num, self.key.max_length)
        if self.params.is_short(self.key.max_length):
            times = ListCounts(3, 1)
        listed = self.listed(draw, self.repeated(spare[:num], spare[num:count], times))
        lead = "" if self.params.layout == "2024" else " "
        return f"{frame.head}{listed}{frame.tail}{frame.prefix}{lead}{self.numbered(spare[:num])}\n"
