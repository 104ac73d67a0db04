"""Frequent words extraction: the most frequent coded words under a Zeta distribution (section 3.3).

    ... qzjwkd ... xwlupe qzjwkd ... ...

In a text of N words, the word of rank k appears floor(N k^-alpha / zeta(alpha)) times (footnote 4).
Rank 1 is the noise word `...`; the question asks for the `words` ranks after it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ruler_builder.tasks.base import NewRow, Task, TaskParams
from ruler_builder.tasks.draws import letters
from ruler_builder.tasks.templates import fill_templates
from ruler_builder.window.prompt import Impossible, PromptBuilder

# ---- Parameters --------------------------------------------------------------------------------

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
"""How a prompt writes the number of words that it asks for."""


@dataclass(frozen=True, kw_only=True)
class FrequentParams(TaskParams):
    """The exponent of the distribution and the number of words to name (Table 5).

    `vocabulary` is the number of different words, including the noise word; 0 means one word for
    every 50 tokens of `max_length`. `word_letters` is the length of a coded word.
    """

    optional = ("vocabulary", "word_letters")

    alpha: float = 2.0
    words: int = 3
    vocabulary: int = 0
    word_letters: int = 6

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(1 < self.alpha <= 10, "alpha must be above 1 and at most 10")
        self.need(1 <= self.words <= 10, "words must be 1 to 10")
        self.need(4 <= self.word_letters <= 12, "word_letters must be 4 to 12")
        in_range = self.words + 2 <= self.vocabulary <= 100_000
        self.need(
            in_range or self.vocabulary == 0,
            f"vocabulary must be {self.words + 2} to 100000, or 0 for a fiftieth of the length",
        )


def zeta_shares(alpha: float, vocabulary: int) -> np.ndarray:
    """Return the share of a text of each rank from 1 to `vocabulary`: rank ** -alpha / zeta(alpha).

    For RULER's alpha of 2, whose rows are frozen, only operations that IEEE 754 rounds exactly are
    used, and Euler's zeta(2) = pi ** 2 / 6. A power may differ in its last bit between machines.
    """
    ranks = np.arange(1, vocabulary + 1)
    if alpha == 2:
        return 1 / (ranks * ranks) / (math.pi * math.pi / 6)
    from scipy.special import zeta  # takes 0.2 s to import

    powers = np.array([math.pow(rank, -alpha) for rank in ranks.tolist()])
    return powers / float(zeta(alpha))


# ---- Wording -----------------------------------------------------------------------------------

TEMPLATES: dict[str, Any] = {
    "max_new_tokens": 50,
    "input": (
        "Read the following coded text and track the frequency of each coded word. Find the {n} "
        "most frequently appeared coded words. {context}\nQuestion: {question}"
    ),
    "question": (
        "Do not provide any explanation. Please ignore the dots '....'. What are the {n} most "
        "frequently appeared words in the above coded text?"
    ),
    "prefix": (
        " Answer: According to the coded text above, the {n} most frequently appeared words are:"
    ),
}


# ---- Rows --------------------------------------------------------------------------------------

NOISE_WORD = "..."
_TOKENS_PER_WORD = 50  # of `max_length`, for each word of the default vocabulary


class FrequentWords(Task[FrequentParams]):
    """One fwe task for one window."""

    cost = 4

    @cached_property
    def _weights(self) -> np.ndarray:
        """Return the share of the text of each rank that can appear; the noise word comes first."""
        default = max(self.key.max_length // _TOKENS_PER_WORD, self.params.words + 2)
        vocabulary = self.params.vocabulary or default
        weights = zeta_shares(float(self.params.alpha), vocabulary)
        appearing = max(int(np.sum(self.budget * weights >= 1)), self.params.words + 2)
        return np.asarray(weights[:appearing])

    def _counts(self, total: int) -> np.ndarray:
        """Return how often each rank appears in a text of `total` words."""
        return np.asarray(np.floor(total * self._weights), dtype=int)

    @cached_property
    def _min_words(self) -> int:
        """Return the shortest length, in words, at which each asked word leads the next rank."""
        weights = self._weights[1 : self.params.words + 2]
        gap = -np.diff(weights, append=0).max()  # in 1 / gap words every lead is at least one word
        max_words = max(1, min(self.budget, int(1 / gap) + 1))
        counts = np.floor(np.outer(np.arange(1, max_words + 1), weights))
        leads = np.all(np.diff(counts, append=0) < 0, axis=1)
        min_words = int(np.flatnonzero(~leads)[-1]) + 2
        if min_words > self.budget:
            raise Impossible(
                f"Among the {self.budget} words a window may hold, {self.params.words} words with "
                f"alpha {self.params.alpha} never lead the next: take a longer length."
            )
        return min_words

    def row(self, index: int) -> NewRow:
        """Make row `index`: the same asked words at every length."""
        asked = self.references(index)
        vocabulary, tokens = self._vocabulary(index, asked)
        frame = fill_templates(self.templates, n=NUMBERS[self.params.words])
        # The tokens of the text after the context depend on the last word, so draw it first.
        last = int(self.key.filling_draws(index, "last").integers(self.params.words + 1, 1)[0])

        def draft(total: int, context: str) -> PromptBuilder:
            context_tokens = int(self._counts(total) @ tokens - tokens[last])
            prompt = PromptBuilder(self.counter).add(frame.head.removesuffix(" "))
            prompt.context_start = prompt.length + 1  # after a space
            prompt.add(context, context_tokens).add(f" {vocabulary[last]}")
            prompt.context_end = prompt.length
            return prompt.add(frame.tail + frame.prefix)

        def text(total: int) -> str:
            counts = self._counts(total)
            counts[last] -= 1
            ranks = np.arange(len(counts)).repeat(counts)
            ranks = self.key.filling_draws(index, "order").shuffled(ranks)
            return " " + " ".join(vocabulary[ranks].tolist())

        tokens_per_word = max(1.0, math.fsum((self._weights * tokens).tolist()))

        def step(total: int, more_tokens: int) -> int:
            return total + int(more_tokens / tokens_per_word)

        fitted = self.fit_counted(draft, " ...", text, step, min_units=self._min_words)
        return self.new_row(index, fitted.draft, frame, asked, fitted.next_unit_tokens)

    def references(self, index: int) -> list[str]:
        """Return the asked words, the most frequent first."""
        return letters(self.key.question_draws(index), self.params.word_letters, self.params.words)

    def _vocabulary(self, index: int, asked: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the words by rank, and the tokens of each with a space before it."""
        filler_count = len(self._weights) - 1 - len(asked)
        draws = self.key.filling_draws(index, "vocabulary")
        fillers = letters(draws, self.params.word_letters, filler_count, taken=asked)
        counted = self.counted_sources.counted([NOISE_WORD, *asked, *fillers], before=" ")
        return counted.texts, counted.tokens
