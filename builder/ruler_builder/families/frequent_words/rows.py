"""Frequent words extraction: the most frequent coded words under a Zeta distribution (section 3.3).

    ... qzjwkd ... xwlupe qzjwkd ... ...

Of N words the k-th most frequent appears floor(N k^-alpha / zeta(alpha)) times (footnote 4). The
first is the noise word `...`; the next `words` are asked for.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ruler_builder.common.randomness import letters
from ruler_builder.context.fit import Impossible
from ruler_builder.context.prompt_builder import PromptBuilder
from ruler_builder.families.frequent_words.params import NUMBERS, FrequentParams, zeta
from ruler_builder.families.task import NewRow, Task
from ruler_builder.suites.wording import filled

NOISE_WORD = "..."
_TOKENS_A_WORD = 50  # of the window, for each word of the vocabulary


class FrequentWords(Task[FrequentParams]):
    """One fwe task for one window."""

    cost = 4

    @cached_property
    def _weights(self) -> np.ndarray:
        """The share of each rank that can appear at all, the noise word's first."""
        usual = max(self.key.max_length // _TOKENS_A_WORD, self.params.words + 2)
        vocabulary = self.params.vocabulary or usual
        ranks = np.arange(1, vocabulary + 1)
        weights = ranks ** -float(self.params.alpha) / zeta(self.params.alpha)
        appearing = max(int(np.sum(self.room * weights >= 1)), self.params.words + 2)
        return np.asarray(weights[:appearing])

    def _counts(self, total: int) -> np.ndarray:
        """How often each rank appears among `total` words."""
        return np.asarray(np.floor(total * self._weights), dtype=int)

    @cached_property
    def _fewest(self) -> int:
        """The fewest words from which on the asked ones lead the next word strictly."""
        weights = self._weights[1 : self.params.words + 2]
        gap = -np.diff(weights, append=0).max()  # with 1 / gap words every lead is a word or more
        most = max(1, min(self.room, int(1 / gap) + 1))
        counts = np.floor(np.outer(np.arange(1, most + 1), weights))
        leads = np.all(np.diff(counts, append=0) < 0, axis=1)
        fewest = int(np.flatnonzero(~leads)[-1]) + 2
        if fewest > self.room:
            raise Impossible(
                f"Among the {self.room} words a window may hold, {self.params.words} words with "
                f"alpha {self.params.alpha} never lead the next: take a longer length."
            )
        return fewest

    def row(self, index: int) -> NewRow:
        """Row `index`: the same asked words at every length."""
        asked = self.references(index)
        vocabulary, tokens = self._vocabulary(index, asked)
        frame = filled(self.templates, n=NUMBERS[self.params.words])
        # The last word decides how the text after it is counted, so it is drawn first.
        last = int(self.key.draw_filling(index, "last").integers(self.params.words + 1))

        def draft(total: int, context: str) -> PromptBuilder:
            known = int(self._counts(total) @ tokens - tokens[last])
            prompt = PromptBuilder(self.counter).add(frame.head.removesuffix(" "))
            prompt.begin_context(lead=1).add_counted(context, known)
            prompt.add(f" {vocabulary[last]}").end_context()
            return prompt.add(frame.tail + frame.prefix)

        def text(total: int) -> str:
            counts = self._counts(total)
            counts[last] -= 1
            ranks = np.arange(len(counts)).repeat(counts)
            self.key.draw_filling(index, "order").shuffle(ranks)
            return " " + " ".join(vocabulary[ranks].tolist())

        def step(total: int, spare: int) -> int:
            return total + int(spare / max(1.0, float(self._weights @ tokens)))

        fitted = self.fit_counted(draft, " ...", text, step, least=self._fewest)
        return self.finish(index, fitted.draft, frame, asked, fitted.unit)

    def references(self, index: int) -> list[str]:
        """The asked words, the most frequent first."""
        return letters(self.key.draw_asked(index), self.params.word_letters, self.params.words)

    def _vocabulary(self, index: int, asked: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """The words by rank and the tokens of each with a space before it."""
        others = len(self._weights) - 1 - len(asked)
        draw, length = self.key.draw_filling(index, "vocabulary"), self.params.word_letters
        drawn = letters(draw, length, others + len(asked))
        rest = [word for word in drawn if word not in asked][:others]
        counted = self.counted_sources.counted([NOISE_WORD, *asked, *rest], before=" ")
        return counted.texts, counted.tokens
