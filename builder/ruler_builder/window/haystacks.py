"""Haystacks: the text that needles hide in, in units of known token counts.

    EssayHaystack  running text: words are the unit of length, needles go between sentences
    LineHaystack   one unit a line: the noise sentences, distractor needles
    RunOnHaystack  lines of noise joined by spaces, needles between them (the paper's own vt)
    BookHaystack   sentences of a book, in languages with spaces between words and without

All lay out a context of n units with needles at relative depths and add it to a PromptBuilder. The
text is the same from its beginning in every row of a file, so a server can reuse the cached prefix.
"""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, islice, pairwise
from typing import NamedTuple

import numpy as np

from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.window.prompt import PromptBuilder

MAX_NEEDLES = 40
"""The maximum number of needles in an essay or book: one for each depth."""
MIN_TOKENS_PER_LINE = 8
"""Every tokenizer needs at least this many for a line of noise or a needle's fixed words."""
DEPTHS = tuple(round(100 * i / (MAX_NEEDLES - 1)) for i in range(MAX_NEEDLES))
"""The 40 depths, in percent, that needles between sentences are put at."""
_EXTRA_LINES = 32  # counted at once in addition to those that are sure to be needed


class Needle(NamedTuple):
    """A text to hide at a relative depth (0 … 1), and whether it carries a reference."""

    depth: float
    text: str
    answer: bool


class Haystack(ABC):
    """A text of units, such as words or lines, with needles between them."""

    separator = " "
    """What is between two units or needles, if they are not lines."""
    line_end = ""
    """What every unit and needle ends with, if they are lines."""
    max_units: int | None = None
    """The number of units; None if unlimited."""
    units_of_pass: int | None = None
    """The number of units after which a finite text starts over; None if it does not."""

    def lay(
        self,
        prompt: PromptBuilder,
        units: int,
        needles: Sequence[Needle],
        tail: str,
        places: Sequence[int] | None = None,
    ) -> PromptBuilder:
        """Add a context of `units` units, and the `tail` after it, which begins with a newline.

        `places` are the indices of the units before which the needles go; by default those at their
        depths. Needles before the same unit are ordered by depth.
        """
        placed = []
        for number, needle in enumerate(needles):
            place = self.place(units, needle.depth) if places is None else places[number]
            placed.append((place, needle))
        prompt.context_start = prompt.length
        done = 0
        for place, needle in sorted(placed):
            self._add_units(prompt, done, place)
            done = place
            lead = "" if prompt.at_context_start else self.separator
            prompt.mark_evidence(len(lead), len(lead) + len(needle.text), needle.answer)
            prompt.add(lead + needle.text + self.line_end)
        self._add_units(prompt, done, units)
        prompt.context_end = prompt.length - len(self.line_end)
        return prompt.add(tail.removeprefix(self.line_end))

    def place(self, units: int, depth: float) -> int:
        """Return the index of the unit before which a needle of a relative depth goes."""
        return min(units, int((units + 1) * depth))

    @abstractmethod
    def step(self, units: int, tokens: int) -> int:
        """Estimate how many units hold `tokens` more (if negative, fewer) tokens than `units`."""

    def repeats(self, units: int) -> int:
        """Return how many times the text is repeated within `units` units."""
        return max(0, units - 1) // self.units_of_pass if self.units_of_pass else 0

    @abstractmethod
    def _add_units(self, prompt: PromptBuilder, start: int, end: int) -> None:
        """Add units start … end − 1."""


class EssayHaystack(Haystack):
    """Words of the essays from their beginning, joined by spaces, repeated when they run out.

    Needles go between sentences.
    """

    def __init__(self, text: str, sentence_starts: Sequence[int], counter: TokenCounter) -> None:
        """Count a folded text, given the offsets of the words that begin its sentences."""
        words = text.split(" ")
        self._words = self.units_of_pass = len(words)
        self._text = text + " "  # one pass; words joined over the end of it too
        self._starts = np.cumsum([0, *(len(word) + 1 for word in words)])
        self._tokens = np.cumsum([0, *counter.counts([f" {word}" for word in words])])
        # The index of the first word of each sentence
        self._sentences: list[int] = np.searchsorted(self._starts, sentence_starts).tolist()
        self.numbers = frozenset(seven_digit_numbers(self._text))
        """The seven-digit strings in the text: none of them may be a value."""

    @cached_property
    def hyphenated(self) -> frozenset[str]:
        """The hyphenated word pairs in the text: none of them may be a value."""
        pairs = r"(?=\b([a-z]+-[a-z]+)\b)"
        return frozenset(re.findall(pairs, self._text.casefold(), re.ASCII))

    def capitals(self, length: int) -> frozenset[str]:
        """Return every run of `length` capital letters in the text."""
        return frozenset(re.findall(rf"(?=([A-Z]{{{length}}}))", self._text))

    def step(self, units: int, tokens: int) -> int:
        """Return the number of words that hold `tokens` more than the first `units` words do."""
        target = max(0, self._tokens_before(units) + tokens)
        passes, rest = divmod(target, int(self._tokens[-1]))
        return passes * self._words + int(np.searchsorted(self._tokens, rest, "right")) - 1

    def _tokens_before(self, word: int) -> int:
        passes, rest = divmod(word, self._words)
        return passes * int(self._tokens[-1]) + int(self._tokens[rest])

    def _slice(self, start: int, end: int) -> str:
        """Return words start … end − 1, joined by spaces."""
        (a, i), (b, j) = divmod(start, self._words), divmod(end, self._words)
        if a == b:
            return self._text[self._starts[i] : max(self._starts[i], self._starts[j] - 1)]
        middle = self._text * (b - a - 1)
        return (self._text[self._starts[i] :] + middle + self._text[: self._starts[j]])[:-1]

    def place(self, units: int, depth: float) -> int:
        """Return the first word of the sentence at a relative depth of the first `units` words."""
        passes, rest = divmod(units, self._words)
        per_pass = len(self._sentences)
        sentences = passes * per_pass + bisect_right(self._sentences, rest - 1)
        sentence = int(sentences * depth)
        if sentence >= sentences:
            return units
        passes, rest = divmod(sentence, per_pass)
        return passes * self._words + self._sentences[rest]

    def _add_units(self, prompt: PromptBuilder, start: int, end: int) -> None:
        """Add words; the first and last are separate pieces, since they may merge with a needle."""
        if prompt.at_context_start and start < end:
            prompt.add(self._slice(start, start + 1))
            start += 1
        if start < end - 1:
            tokens = self._tokens_before(end - 1) - self._tokens_before(start)
            prompt.add(" " + self._slice(start, end - 1), tokens)
            start = end - 1
        if start < end:
            prompt.add(" " + self._slice(start, end))


class LineHaystack(Haystack):
    """Lines joined by newlines; each needle is a line.

    `max_units` lines are enough for the window, but lines are read only when they are needed.
    """

    separator = ""
    line_end = "\n"

    def __init__(self, lines: Iterable[str], max_units: int, counter: TokenCounter) -> None:
        self._unread = islice(lines, max_units)
        self._lines: list[str] = []  # the lines read so far, each with its newline
        self._tokens = [0]  # of the first n lines
        self._counter = counter
        self.max_units: int = max_units

    def _read(self, lines: int) -> None:
        """Read and count lines until there are `lines` of them."""
        if lines > len(self._lines):
            more = [f"{line}\n" for line in islice(self._unread, lines - len(self._lines))]
            self._lines += more
            before = self._tokens.pop()
            self._tokens += accumulate(self._counter.counts(more), initial=before)

    def step(self, units: int, tokens: int) -> int:
        """Return the number of lines that hold `tokens` more than the first `units` lines do."""
        self._read(units)
        target = max(0, self._tokens[units] + tokens)
        while self._tokens[-1] <= target and len(self._lines) < self.max_units:
            counted = len(self._lines)
            more = (target - self._tokens[-1]) * counted // max(1, self._tokens[-1])
            self._read(counted + more + _EXTRA_LINES)
        return bisect_right(self._tokens, target) - 1

    def _add_units(self, prompt: PromptBuilder, start: int, end: int) -> None:
        if start < end:
            self._read(end)
            tokens = self._tokens[end] - self._tokens[start]
            prompt.add("".join(self._lines[start:end]), tokens)


class RunOnHaystack(Haystack):
    r"""Lines of noise, each with its newline, joined by spaces; needles are not separate lines.

    `again.\n VAR ABCDE = 12345 The grass … again.\n The grass …`
    """

    def __init__(self, line: str, count: int, counter: TokenCounter) -> None:
        self._first, rest = line.split(" ", 1)
        self._rest = f" {rest}\n"
        self._between = f"{self._rest} {self._first}"  # begins and ends at a split point
        self._tokens = counter.count(self._between)
        self.max_units: int = count

    def step(self, units: int, tokens: int) -> int:
        """Return the number of lines that hold about `tokens` more than `units` lines do."""
        return units + tokens // self._tokens

    def _add_units(self, prompt: PromptBuilder, start: int, end: int) -> None:
        """Add lines; the first and last are separate pieces, since they may merge with a needle."""
        if start < end:
            lead = "" if prompt.at_context_start else self.separator
            more = end - start - 1
            prompt.add(lead + self._first)
            prompt.add(self._between * more, more * self._tokens)
            prompt.add(self._rest)


def seven_digit_numbers(text: str, digit: str = "[0-9]") -> Iterable[str]:
    """Yield every run of seven digits in a text; `digit` is a regular expression for one."""
    for digits in re.findall(f"{digit}{{7,}}", text):
        yield from (digits[i : i + 7] for i in range(len(digits) - 6))


_BATCH = 256  # sentences read at a time
_SLACK = 1.25  # without a separator, sentences counted one by one may have more tokens than joined


class BookHaystack(Haystack):
    """The sentences of a book from its beginning, as many as `tokens` tokens can hold."""

    def __init__(
        self, sentences: Iterable[str], separator: str, counter: TokenCounter, tokens: int
    ) -> None:
        self.separator = separator
        needed = int(tokens * (1 if separator else _SLACK)) + 1
        read: list[str] = []
        counts: list[int] = []  # tokens of each sentence, counted by itself
        source: Iterator[str] = iter(sentences)
        while sum(counts) < needed and (batch := list(islice(source, _BATCH))):
            read += batch
            counts += counter.counts([separator + sentence for sentence in batch])
        total = sum(counts)
        if total < needed:
            self.units_of_pass = len(read)
            times = needed // total + 1
            read, counts = read * times, counts * times
        self.max_units: int = len(read)  # more than the windows it is made for can hold
        self._text = separator.join(read)
        self._starts = np.cumsum([0, *(len(sentence) + len(separator) for sentence in read)])
        self._estimate = np.cumsum([0, *counts])
        self._splits = list(self._split_places(counter))
        pieces = [self._text[a:b] for a, b in pairwise(self._splits)]
        self._tokens = np.cumsum([0, *counter.counts(pieces)])  # exact, up to each split point
        folded = unicodedata.normalize("NFKC", self._text)
        numbers = seven_digit_numbers(folded, r"\d")  # in any script
        self.numbers = frozenset(str(int(number)) for number in numbers)
        """The seven-digit strings in the text: none of them may be a value."""

    def _split_places(self, counter: TokenCounter) -> Iterator[int]:
        """Yield split points of the text: the last one before each sentence begins, if any."""
        for before, start in pairwise(self._starts[:-1]):
            place = int(start) - len(self.separator)
            while place > before:
                if counter.split_points.between(
                    self._text[place - 1], self._text[place : place + 2]
                ):
                    yield place
                    break
                place -= 1

    def step(self, units: int, tokens: int) -> int:
        """Estimate how many sentences hold `tokens` more than the first `units` do."""
        target = max(0, int(self._estimate[units]) + tokens)
        return min(self.max_units, int(np.searchsorted(self._estimate, target, "right")) - 1)

    def place(self, units: int, depth: float) -> int:
        """Return the sentence that begins nearest to a relative depth among the first `units`."""
        target = depth * int(self._starts[units])
        after = bisect_left(self._starts, target, 0, units)
        if after and target - self._starts[after - 1] <= self._starts[after] - target:
            return after - 1
        return after

    def farthest(self, units: int, depths: Iterable[float]) -> float:
        """Return how far a needle is from its depth at most (0 … 1), among `units` sentences."""
        whole = int(self._starts[units])
        if not whole:
            return 1.0
        starts = [(depth, self._starts[self.place(units, depth)]) for depth in depths]
        return max((abs(start / whole - depth) for depth, start in starts), default=1.0)

    def _add_units(self, prompt: PromptBuilder, start: int, end: int) -> None:
        """Add sentences start … end − 1: a long piece of known tokens between two short ones."""
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
        prompt.add(self._text[first:last], int(self._tokens[j] - self._tokens[i]))
        prompt.add(self._text[last:b])
