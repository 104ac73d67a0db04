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

from ruler_builder.common.randomness import all_but, distinct
from ruler_builder.context.counted_sources import CountedTexts
from ruler_builder.context.prompt_builder import PromptBuilder
from ruler_builder.suites.params import ListCounts, ListParams
from ruler_builder.suites.wording import Frame
from ruler_builder.tasks.base import NewRow, Task
from ruler_builder.text.word_lists import WordParts
from ruler_common.errors import RulerError

FEWEST_TOKENS = 3  # of one item, " 17. word"
_ITEM_TOKENS = 6  # about


P = TypeVar("P", bound=ListParams)


class NumberedWords(Task[P]):
    """A list task; subclasses bring the words and the frame."""

    @property
    def spare(self) -> int:
        """How many words are drawn beside the common ones, for solved examples."""
        return 0

    @cached_property
    def times(self) -> ListCounts:
        """How many times words appear at this length."""
        return self.params.counts(self.key.max_length)

    @property
    def words_in_words(self) -> str:
        """What an error calls the list of words."""
        return "The list of words"

    @property
    @abstractmethod
    def words(self) -> CountedTexts:
        """The words a list is made of, counted with the space before each."""

    @abstractmethod
    def safe(self) -> np.ndarray:
        """Where in `words` those stand that no other contains."""

    @property
    def unfit(self) -> frozenset[int]:
        """Which of these places hold words that the text around the list contains."""
        return frozenset()

    @abstractmethod
    def frame(self, draw: np.random.Generator, spare: np.ndarray) -> Frame:
        """The text around the list; `spare` are words that it may use.

        The list's first number, or the space before it, begins where `head` ends.
        """

    @property
    def further(self) -> list[str]:
        """The words at the end that are taken only when the others have run out."""
        return []

    @cached_property
    def _further(self) -> WordParts:
        return WordParts(self.further)

    @cached_property
    def _labels(self) -> CountedTexts:
        least = self.params.num_cw * sum(self.times)  # at `0k`
        return self.counted_sources.labels(self.key.max_length // FEWEST_TOKENS + 1000 + least)

    @cached_property
    def _label_tokens(self) -> np.ndarray:
        """Tokens of the first n numbers, each with the space before it."""
        return np.cumsum([0, *self._labels.tokens])

    def row(self, index: int) -> NewRow:
        """Row `index`: the same common words at every length."""
        draw, num = self.key.draw_asked(index), self.params.num_cw
        picked = self._picked(draw)
        common = picked[:num]
        uncommon = self._uncommon(index, picked)
        frame = self.frame(draw, picked[num:])
        lead = " " if frame.head.endswith(" ") else ""  # the first number's, then
        before, after = frame.head.removesuffix(" "), frame.tail + frame.prefix
        first = 0 if lead else self.counter.count("1.") - self.counter.count(" 1.")
        tokens = self._tokens(common, uncommon, first)

        def draft(units: int, context: str) -> PromptBuilder:
            prompt = PromptBuilder(self.counter).add(before).begin_context(lead=len(lead))
            return prompt.add_counted(lead + context, tokens(units)).end_context().add(after)

        def text(units: int) -> str:
            items = self.repeated(common, uncommon[:units], self.times)
            return self.listed(self.key.draw_filling(index, "order"), items)

        def step(units: int, spare: int) -> int:
            return units + spare // (_ITEM_TOKENS * self.times.uncommon)

        least = num if self.alone else 0  # as many other words as common ones
        fitted = self.fit_counted(draft, "1. word", text, step, len(uncommon), least)
        outputs = self.words.texts[common].tolist()
        return self.finish(index, fitted.draft, frame, outputs, fitted.unit)

    def references(self, index: int) -> list[str]:
        """The common words."""
        picked = self._picked(self.key.draw_asked(index))[: self.params.num_cw]
        found: list[str] = self.words.texts[picked].tolist()
        return found

    def _picked(self, draw: np.random.Generator) -> np.ndarray:
        """The common words, and those for an example: none is part of another word or `unfit`."""
        safe, unfit, count = self.safe(), self.unfit, self.params.num_cw + self.spare
        if len(safe) < count:
            raise RulerError(
                f"{self.words_in_words} has {len(safe)} words that are not part of another word: "
                f"{count} are needed."
            )
        picked = safe[distinct(draw, len(safe), count)]
        if unfit.isdisjoint(picked.tolist()):
            return picked
        more = safe[distinct(draw, len(safe), count + len(unfit))]  # enough without those
        return more[[place not in unfit for place in more.tolist()]][:count]

    def _uncommon(self, index: int, picked: np.ndarray) -> np.ndarray:
        """The other words in random order; none that has a common word in it."""
        draw, further = self.key.draw_filling(index, "words"), self.further
        vocabulary = len(self.words.texts) - len(further)
        near, far = all_but(vocabulary, picked), np.arange(0)
        if further:
            common = self.words.texts[picked[: self.params.num_cw]]
            far = np.flatnonzero(~self._further.holding(common.tolist())) + vocabulary
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
