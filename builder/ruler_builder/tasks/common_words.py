"""Common words extraction: which words of a numbered list appear most often (section 3.3).

    1. garden 2. river 3. garden …

Common words appear `freq_cw` times each, uncommon ones `freq_ucw` times. A short solved example
comes first; in layout `2024`, that of the paper's own code, no space stands before its answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ruler_builder.context.counted_sources import CountedTexts
from ruler_builder.suites.params import LAYOUTS, ListCounts, ListParams
from ruler_builder.suites.wording import Frame, filled, wording_of
from ruler_builder.tasks.audit_parts import AuditContext, check_list
from ruler_builder.tasks.numbered_words import FEWEST_TOKENS, NumberedWords
from ruler_builder.text import word_lists
from ruler_common.rows import Row

# ---- Parameters --------------------------------------------------------------------------------

_MOST_COMMON = 200  # words: so many that no other contains are surely there


@dataclass(frozen=True, kw_only=True)
class CommonParams(ListParams):
    """Number of common words and the counts (Table 5); the short ones apply below 4096 tokens."""

    optional = ("layout", "examples")
    longest_short = 4095

    layout: str = "2025"
    examples: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(1 <= self.num_cw <= _MOST_COMMON, f"num_cw must be 1 to {_MOST_COMMON}")
        self.need_one_of("layout", LAYOUTS)
        self.need(0 <= self.examples <= 5, "examples must be 0 to 5")

    @staticmethod
    def right_answers(references: Sequence[str], prompt_end: str) -> list[str]:
        """The words, as in the solved example."""
        return ["".join(f" {number}. {word}" for number, word in enumerate(references, 1))]


def example_words(num_cw: int, max_length: int) -> int:
    """Different words of the solved example: 40, below 4096 tokens 20, or twice the common ones.

    The last where the common words would leave no room for others.
    """
    usual = 20 if CommonParams.is_short(max_length) else 40
    return usual if num_cw < usual else 2 * num_cw


# ---- Rows --------------------------------------------------------------------------------------

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


# ---- Audit: without the code that makes rows ---------------------------------------------------


def audit(row: Row, about: AuditContext) -> Iterator[str]:
    """Yield what is wrong with a cwe row: counts of the list, words shared with the text."""
    yield from check_list(row, about, about.params.counts(about.entry["max_length"]))
    frame = filled(about.templates, n=about.params.num_cw)
    wording = f"{frame.head}{frame.tail}{frame.prefix}".casefold()
    example = row["input"][: row["context_start"]].removesuffix(frame.head).casefold().split()
    for word in row["outputs"]:
        if word.casefold() in wording:
            yield f"the reference '{word}' occurs in the wording around the list"
        if about.params.examples and word.casefold() in example:
            yield f"the reference '{word}' occurs in the solved example too"
