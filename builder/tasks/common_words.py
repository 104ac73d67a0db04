"""Common words extraction: which words of a numbered list appear most often (section 3.3).

    1. garden 2. river 3. garden …

Common words appear `freq_cw` times each, uncommon ones `freq_ucw` times, in random order. No common
word is part of any other word of the list. A short solved example comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from builder import words
from builder.materials import Counted
from builder.randomness import distinct
from builder.rope import Rope
from builder.tasks.base import Params, Row, Task

_SHORT = 4096  # tokens; below it the counts are the short ones
_LONG = 131072  # tokens; above it wonderwords' words do not suffice
_MOST_EXAMPLE = 40  # words
_FEWEST_TOKENS = 3  # of one item, " 17. word"


class Counts(NamedTuple):
    """How often a common and an uncommon word appear, in the list and in the example."""

    common: int
    uncommon: int
    example_common: int
    example_uncommon: int
    example_words: int


@dataclass(frozen=True)
class CommonParams(Params):
    """Number of common words and the counts (Table 5); the short ones apply below 4096 tokens."""

    num_cw: int = 10
    freq_cw: int = 30
    freq_ucw: int = 3
    short_freq_cw: int = 6
    short_freq_ucw: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(1 <= self.num_cw < 20, "num_cw must be 1 to 19: the example has 20 words")
        self.need(
            self.freq_cw > self.freq_ucw >= 1, "freq_cw must be more than freq_ucw, from 1 on"
        )
        short = self.short_freq_cw > self.short_freq_ucw >= 1
        self.need(short, "short_freq_cw must be more than short_freq_ucw, from 1 on")

    def counts(self, max_length: int) -> Counts:
        """The counts at a length; the example has 40 words (below 4096 tokens 20)."""
        if max_length < _SHORT:
            return Counts(self.short_freq_cw, self.short_freq_ucw, 3, 1, _MOST_EXAMPLE // 2)
        return Counts(self.freq_cw, self.freq_ucw, 10, 3, _MOST_EXAMPLE)


class CommonWords(Task[CommonParams]):
    """One cwe task at one place."""

    params_type = CommonParams

    @cached_property
    def _counts(self) -> Counts:
        return self.params.counts(self.place.max_length)

    @cached_property
    def _words(self) -> Counted:
        """Every word a list may hold: wonderwords', and beyond 128k the most frequent others."""
        texts = words.vocabulary()
        if self.place.max_length > _LONG:
            texts = texts + words.extension()[: self.place.max_length // _FEWEST_TOKENS]
        return self.materials.counted(texts, before=" ")

    @cached_property
    def _labels(self) -> Counted:
        most = self.place.max_length // _FEWEST_TOKENS + 1000
        texts, tokens = self.materials.counted([f" {i}." for i in range(1, most + 1)])
        return Counted(texts + " ", tokens)  # the space belongs to the word's tokens

    @cached_property
    def _label_tokens(self) -> np.ndarray:
        """Tokens of the first n numbers; the very first has no space before it."""
        first = self.counter.count("1.") - self.counter.count(" 1.")
        return np.cumsum([0, *self._labels.tokens]) + first

    def row(self, index: int) -> Row:
        """Row `index`: the same common words at every length."""
        draw, num = self.place.ask(index), self.params.num_cw
        safe = words.maximal_places()
        picked = safe[distinct(draw, len(safe), num + _MOST_EXAMPLE)]
        common, spare = picked[:num], picked[num:]
        uncommon = self._uncommon(index, picked)
        head, tail, prefix, question = self._frame()
        before = self._example(draw, spare, head, tail + prefix) + head
        tokens = self._tokens(common, uncommon)

        def draft(units: int, context: str) -> Rope:
            rope = self.rope().add(before).begin_context()
            return rope.run(context, tokens(units)).end_context().add(tail + prefix)

        def text(units: int) -> Rope:
            items = self._repeat(common, uncommon[:units], self._counts)
            return draft(units, self._list(self.place.fill(index, "order"), items))

        def stand_in(units: int) -> Rope:
            return draft(units, "1. word")

        def step(units: int, spare: int) -> int:
            return units + spare // (6 * self._counts.uncommon)  # about 6 tokens an item

        fitted = self.fit_counted(stand_in, text, step, len(uncommon))
        outputs = self._words.texts[common].tolist()
        return self.finish(index, fitted.draft, prefix, outputs, question, fitted.unit)

    def _uncommon(self, index: int, picked: np.ndarray) -> np.ndarray:
        """The other words in random order; none that has a common word in it."""
        draw, vocabulary = self.place.fill(index, "words"), len(words.vocabulary())
        near = np.setdiff1d(np.arange(vocabulary), picked)
        far = np.arange(vocabulary, len(self._words.texts))
        if len(far):
            common = self._words.texts[picked[: self.params.num_cw]]
            far = far[~words.holding(self._words.texts[far], common)]
        return np.concatenate([draw.permutation(near), draw.permutation(far)])

    def _tokens(self, common: np.ndarray, uncommon: np.ndarray) -> Callable[[int], int]:
        """Tokens of a list with so many uncommon words, whatever its order."""
        of_word, of_label = self._words.tokens, self._label_tokens
        fixed = self._counts.common * int(of_word[common].sum())
        sums = self._counts.uncommon * np.cumsum(np.concatenate([[0], of_word[uncommon]]))
        items = self._counts.common * len(common)
        return lambda n: fixed + int(sums[n]) + int(of_label[items + n * self._counts.uncommon])

    def _repeat(self, common: np.ndarray, uncommon: np.ndarray, counts: Counts) -> np.ndarray:
        return np.concatenate([common.repeat(counts.common), uncommon.repeat(counts.uncommon)])

    def _list(self, draw: np.random.Generator, items: np.ndarray) -> str:
        """The numbered list, in random order."""
        draw.shuffle(items)
        return self._numbered(items)

    def _numbered(self, items: np.ndarray) -> str:
        parts = np.empty(2 * len(items), dtype=object)
        parts[0::2] = self._labels.texts[: len(items)]
        parts[1::2] = self._words.texts[items]
        return "".join(parts.tolist())[1:]

    def _example(self, draw: np.random.Generator, spare: np.ndarray, head: str, tail: str) -> str:
        """The solved example: words of its own, a tenth of the lengths of the real lists."""
        counts, num = self._counts, self.params.num_cw
        chosen = spare[: counts.example_words]
        short = counts._replace(common=counts.example_common, uncommon=counts.example_uncommon)
        listed = self._list(draw, self._repeat(chosen[:num], chosen[num:], short))
        return f"{head}{listed}{tail} {self._numbered(chosen[:num])}\n"

    def _frame(self) -> tuple[str, str, str, str]:
        n = self.params.num_cw
        question = self.templates["question"].format(n=n)
        head, tail = self.templates["input"].split("{context}")
        return head, tail.format(question=question), self.templates["prefix"].format(n=n), question
