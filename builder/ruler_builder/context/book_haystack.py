"""A book as a haystack: sentences, in languages with spaces between words and without.

    book = BookHaystack(sentences, separator=" ", counter, tokens=128_000)

The context holds whole sentences from the book's beginning, joined by a space (Chinese, Japanese:
by nothing), repeated when the book runs out; needles go between sentences (ONERULER, section 2).
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

import numpy as np

from ruler_builder.context.haystacks import Haystack, seven_digit_numbers
from ruler_builder.context.prompt_builder import PromptBuilder
from ruler_builder.tokens.counters import TokenCounter

_BATCH = 256  # sentences read at a time
_SLACK = 1.25  # sentences counted alone may have more tokens than joined by nothing


class BookHaystack(Haystack):
    """Sentences from the beginning, as many as `tokens` tokens can hold; they are the units."""

    def __init__(
        self, sentences: Iterable[str], separator: str, counter: TokenCounter, tokens: int
    ) -> None:
        self.separator = separator
        enough = int(tokens * (1 if separator else _SLACK)) + 1
        read: list[str] = []
        alone: list[int] = []  # tokens of sentences counted each alone
        source: Iterator[str] = iter(sentences)
        while sum(alone) < enough and (batch := list(islice(source, _BATCH))):
            read += batch
            alone += counter.counts_once([separator + sentence for sentence in batch])
        total = sum(alone)
        self._pass = len(read) if total < enough else None  # sentences of the whole book
        if total < enough:
            times = enough // total + 1
            read, alone = read * times, alone * times
        self.most: int = len(read)  # no window that it was made for takes as many
        self._text = separator.join(read)
        self._starts = np.cumsum([0, *(len(sentence) + len(separator) for sentence in read)])
        self._about = np.cumsum([0, *alone])
        self._splits = list(self._split_places(counter))
        pieces = [self._text[a:b] for a, b in pairwise(self._splits)]
        self._tokens = np.cumsum([0, *counter.counts_once(pieces)])  # exact, up to each split point
        folded = unicodedata.normalize("NFKC", self._text)
        self.numbers = frozenset(str(int(number)) for number in seven_digit_numbers(folded))
        """Numbers that already stand in the text, as seven-digit strings: no value may be one."""

    def _split_places(self, counter: TokenCounter) -> Iterator[int]:
        """Split points of the text: one near the beginning of each sentence, if there is any."""
        for before, start in pairwise(self._starts[:-1]):
            place = int(start) - len(self.separator)
            while place > before:
                if counter.split_points.between(
                    self._text[place - 1], self._text[place : place + 2]
                ):
                    yield place
                    break
                place -= 1

    def repeats(self, units: int) -> int:
        """How many times the book begins again within so many sentences."""
        return max(0, units - 1) // self._pass if self._pass else 0

    def step(self, units: int, tokens: int) -> int:
        """About the number of sentences that hold `tokens` more than the first `units` do."""
        target = max(0, int(self._about[units]) + tokens)
        return min(self.most, int(np.searchsorted(self._about, target, "right")) - 1)

    def place(self, units: int, depth: float) -> int:
        """The sentence that begins nearest to a relative depth of so many sentences' text."""
        target = depth * int(self._starts[units])
        after = bisect_left(self._starts, target, 0, units)
        if after and target - self._starts[after - 1] <= self._starts[after] - target:
            return after - 1
        return after

    def farthest(self, units: int, depths: Iterable[float]) -> float:
        """How far from its depth, at most, a needle stands among so many sentences (0 … 1)."""
        whole = int(self._starts[units])
        stand = ((depth, self._starts[self.place(units, depth)]) for depth in depths if whole)
        return max((abs(at / whole - depth) for depth, at in stand), default=1.0)

    def _add_units(self, prompt: PromptBuilder, start: int, end: int) -> None:
        """Add sentences start … end − 1: a long piece of known count between two short ones."""
        if start >= end:
            return
        lead = "" if prompt.at_context_start else self.separator
        a, b = int(self._starts[start]), int(self._starts[end]) - len(self.separator)
        i, j = bisect_right(self._splits, a), bisect_left(self._splits, b) - 1
        if i > j:
            prompt.add(lead + self._text[a:b])
            return
        first, last = self._splits[i], self._splits[j]
        prompt.add(lead + self._text[a:first])
        prompt.add_counted(self._text[first:last], int(self._tokens[j] - self._tokens[i]))
        prompt.add(self._text[last:b])
