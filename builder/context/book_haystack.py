"""A book as a haystack: sentences, in languages with spaces between words and without.

    book = BookHaystack(sentences, separator=" ", counter, tokens=128_000)

The context holds whole sentences from the book's beginning, joined by a space (Chinese, Japanese:
by nothing), repeated when the book runs out; needles go between sentences (ONERULER, section 2).
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, islice, pairwise

import numpy as np

from builder.context.haystacks import Haystack, seven_digit_numbers
from builder.context.prompt_builder import PromptBuilder
from builder.tokens.tokenizers import TokenCounter

_BATCH = 256  # sentences read at a time
_SLACK = 1.25  # sentences counted alone may have more tokens than joined by nothing


class BookHaystack(Haystack):
    """Sentences from the beginning, as many as `tokens` tokens can hold; they are the units."""

    def __init__(
        self, sentences: Iterable[str], separator: str, counter: TokenCounter, tokens: int
    ) -> None:
        self.separator = separator
        counted = _Counted(counter)
        enough = int(tokens * (1 if separator else _SLACK)) + 1
        read, total = [], 0
        source: Iterator[str] = iter(sentences)
        while total < enough and (batch := list(islice(source, _BATCH))):
            read += batch
            total += sum(counted([separator + sentence for sentence in batch]))
        self._pass = len(read) if total < enough else None  # sentences of the whole book
        if total < enough:
            read = list(islice(cycle(read), len(read) * (enough // total + 1)))
        self.most: int = len(read)  # no window that it was made for takes as many
        self._text = separator.join(read)
        self._starts = np.cumsum([0, *(len(sentence) + len(separator) for sentence in read)])
        alone = counted([separator + sentence for sentence in read])
        self._about = np.cumsum([0, *alone])  # tokens of sentences counted each alone
        self._splits = list(self._split_places(counter))
        pieces = [self._text[a:b] for a, b in pairwise(self._splits)]
        self._tokens = np.cumsum([0, *counted(pieces)])  # exact, up to each split point
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


class _Counted:
    """Counts texts, each only once."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._known: dict[str, int] = {}

    def __call__(self, texts: Sequence[str]) -> list[int]:
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        self._known.update(zip(new, self._counter.counts(new), strict=True))
        return [self._known[text] for text in texts]
