"""Frequent words extraction: the most frequent coded words under a Zeta distribution (section 3.3).

    ... qzjwkd ... xwlupe qzjwkd ... ...

Of N words the k-th most frequent appears floor(N k^-alpha / zeta(alpha)) times (footnote 4). The
first is the noise word `...`; the next `words` are asked for.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from builder.common.randomness import letters
from builder.common.zeta import zeta
from builder.context.fit import Impossible
from builder.context.prompt_builder import PromptBuilder
from builder.tasks.task import Row, Task
from builder.tasks.task_params import FrequentParams
from builder.tasks.wording import Frame, frame_of

NOISE_WORD = "..."
_TOKENS_A_WORD = 50  # of the window, for each word of the vocabulary
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class FrequentWords(Task[FrequentParams]):
    """One fwe task for one window."""

    family = "frequent_words"

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

    def row(self, index: int) -> Row:
        """Row `index`: the same asked words at every length."""
        asked = self.references(index)
        vocabulary, tokens = self._vocabulary(index, asked)
        frame = self._frame()
        # The last word decides how the text after it is counted, so it is drawn first.
        last = int(self.key.draw_filling(index, "last").integers(self.params.words + 1))

        def draft(total: int, context: str) -> PromptBuilder:
            known = int(self._counts(total) @ tokens - tokens[last])
            prompt = self.prompt().add(frame.head.removesuffix(" ")).begin_context(lead=1)
            prompt.add_counted(context, known).add(f" {vocabulary[last]}").end_context()
            return prompt.add(frame.tail + frame.prefix)

        def text(total: int) -> PromptBuilder:
            counts = self._counts(total)
            counts[last] -= 1
            ranks = np.arange(len(counts)).repeat(counts)
            self.key.draw_filling(index, "order").shuffle(ranks)
            return draft(total, " " + " ".join(vocabulary[ranks].tolist()))

        def stand_in(total: int) -> PromptBuilder:
            return draft(total, " ...")

        def step(total: int, spare: int) -> int:
            return total + int(spare / max(1.0, float(self._weights @ tokens)))

        fitted = self.fit_counted(stand_in, text, step, least=self._fewest)
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

    def _frame(self) -> Frame:
        n = _NUMBERS[self.params.words]
        question, prefix = (self.templates[part].format(n=n) for part in ("question", "prefix"))
        return frame_of(self.templates["input"], question, prefix, n=n)
