"""A numbered list of words, some of which appear more often: what both cwe tasks are made of.

    1. garden 2. river 3. garden …

Common words appear more times than the others, all in random order. No common word is part of any
other word of the list (section 3.3 of RULER; ONERULER, section 2).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import numpy as np

from builder.common.randomness import all_but, distinct
from builder.context.counted_sources import CountedTexts
from builder.context.prompt_builder import PromptBuilder
from builder.tasks.task import Row, Task
from builder.tasks.task_params import TaskParams
from builder.tasks.task_rules import ListCounts
from builder.tasks.wording import Frame

FEWEST_TOKENS = 3  # of one item, " 17. word"
_ITEM_TOKENS = 6  # about


P = TypeVar("P", bound=TaskParams)


class NumberedWords(Task[P]):
    """A list task; subclasses bring the words, how often they appear, and the frame."""

    @property
    def spare(self) -> int:
        """How many words are drawn beside the common ones, for solved examples."""
        return 0

    @property
    @abstractmethod
    def common(self) -> int:
        """How many common words there are."""

    @cached_property
    @abstractmethod
    def times(self) -> ListCounts:
        """How many times words appear at this length."""

    @property
    @abstractmethod
    def words(self) -> CountedTexts:
        """The words a list is made of, counted with the space before each."""

    @abstractmethod
    def safe(self) -> np.ndarray:
        """Where in `words` those stand that no other contains."""

    @abstractmethod
    def frame(self, draw: np.random.Generator, spare: np.ndarray) -> Frame:
        """The text around the list; `spare` are words that it may use.

        The list's first number, or the space before it, begins where `head` ends.
        """

    @property
    def further(self) -> int:
        """How many words at the end are taken only when the others have run out."""
        return 0

    def further_allowed(self, common: np.ndarray) -> np.ndarray:
        """Which of the further words may stand beside these common words, as booleans."""
        return np.ones(self.further, dtype=bool)

    @cached_property
    def _labels(self) -> CountedTexts:
        least = self.common * sum(self.times)  # at `0k`
        return self.counted_sources.labels(self.key.max_length // FEWEST_TOKENS + 1000 + least)

    @cached_property
    def _label_tokens(self) -> np.ndarray:
        """Tokens of the first n numbers, each with the space before it."""
        return np.cumsum([0, *self._labels.tokens])

    def row(self, index: int) -> Row:
        """Row `index`: the same common words at every length."""
        draw, num = self.key.draw_asked(index), self.common
        picked = self._picked(draw)
        common = picked[:num]
        uncommon = self._uncommon(index, picked)
        frame = self.frame(draw, picked[num:])
        lead = " " if frame.head.endswith(" ") else ""  # the first number's, then
        before, after = frame.head.removesuffix(" "), frame.tail + frame.prefix
        first = 0 if lead else self.counter.count("1.") - self.counter.count(" 1.")
        tokens = self._tokens(common, uncommon, first)

        def draft(units: int, context: str) -> PromptBuilder:
            prompt = self.prompt().add(before).begin_context(lead=len(lead))
            return prompt.add_counted(lead + context, tokens(units)).end_context().add(after)

        def text(units: int) -> PromptBuilder:
            items = self.repeated(common, uncommon[:units], self.times)
            return draft(units, self.listed(self.key.draw_filling(index, "order"), items))

        def stand_in(units: int) -> PromptBuilder:
            return draft(units, "1. word")

        def step(units: int, spare: int) -> int:
            return units + spare // (_ITEM_TOKENS * self.times.uncommon)

        least = num if self.alone else 0  # as many other words as common ones
        fitted = self.fit_counted(stand_in, text, step, len(uncommon), least)
        outputs = self.words.texts[common].tolist()
        return self.finish(index, fitted.draft, frame, outputs, fitted.unit)

    def references(self, index: int) -> list[str]:
        """The common words."""
        picked = self._picked(self.key.draw_asked(index))[: self.common]
        found: list[str] = self.words.texts[picked].tolist()
        return found

    def _picked(self, draw: np.random.Generator) -> np.ndarray:
        """The common words, and those for an example: none is part of another word."""
        safe = self.safe()
        return safe[distinct(draw, len(safe), self.common + self.spare)]

    def _uncommon(self, index: int, picked: np.ndarray) -> np.ndarray:
        """The other words in random order; none that has a common word in it."""
        draw, vocabulary = (
            self.key.draw_filling(index, "words"),
            len(self.words.texts) - self.further,
        )
        near = all_but(vocabulary, picked)
        far = np.arange(vocabulary, len(self.words.texts))
        if len(far):
            far = far[self.further_allowed(self.words.texts[picked[: self.common]])]
        return np.concatenate([draw.permutation(near), draw.permutation(far)])

    def _tokens(self, common: np.ndarray, uncommon: np.ndarray, first: int) -> Callable[[int], int]:
        """Tokens of a list with so many uncommon words, whatever its order."""
        of_word, of_label = self.words.tokens, self._label_tokens
        fixed = self.times.common * int(of_word[common].sum()) + first
        sums = self.times.uncommon * np.cumsum(np.concatenate([[0], of_word[uncommon]]))
        items = self.times.common * len(common)
        return lambda n: fixed + int(sums[n]) + int(of_label[items + n * self.times.uncommon])

    def repeated(self, common: np.ndarray, uncommon: np.ndarray, times: ListCounts) -> np.ndarray:
        """Every word as often as it appears."""
        return np.concatenate([common.repeat(times.common), uncommon.repeat(times.uncommon)])

    def listed(self, draw: np.random.Generator, items: np.ndarray) -> str:
        """The numbered list, in random order."""
        draw.shuffle(items)
        return self.numbered(items)

    def numbered(self, items: np.ndarray) -> str:
        """The numbered list, in this order."""
        parts = np.empty(2 * len(items), dtype=object)
        parts[0::2] = self._labels.texts[: len(items)]
        parts[1::2] = self.words.texts[items]
        return "".join(parts.tolist())[1:]
