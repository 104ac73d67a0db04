"""Haystacks: the text needles hide in, in units of known token counts.

    EssayHaystack  running text: words are the unit of length, needles go between sentences
    LineHaystack   one unit a line: the noise sentences, distractor needles
    BookHaystack   (book_haystack.py) sentences of a book, with spaces between words or without

All lay out a context of n units with needles at relative depths and add it to a PromptBuilder. The
text is the same from its beginning in every row of a file, so a server can reuse the cached prefix.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from builder.context.prompt_builder import PromptBuilder
from builder.sources.sentences import sentence_starts
from builder.tokens.tokenizers import TokenCounter

NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
"""The noise sentences (section 3.1, footnote 3), one line."""

FEWEST_TOKENS_A_LINE = 8
"""No tokenizer makes fewer of a line of noise, or of a needle without its key and value."""


@dataclass(frozen=True)
class Needle:
    """A text to hide at a relative depth (0 … 1), and whether it carries a reference."""

    depth: float
    text: str
    answer: bool


class Haystack(ABC):
    """Text in units; a context of n units can be laid out with needles in it."""

    @abstractmethod
    def lay(
        self, prompt: PromptBuilder, units: int, needles: Sequence[Needle], tail: str
    ) -> PromptBuilder:
        """Add the context and the `tail` that follows it (it begins with a newline)."""

    @abstractmethod
    def step(self, units: int, tokens: int) -> int:
        """About how many units hold `tokens` more (or, negative, fewer) tokens than `units` do."""

    def repeats(self, units: int) -> int:
        """How many times the text begins again within so many units; 0 if it never does."""
        return 0


class EssayHaystack(Haystack):
    """White space folded to single spaces, from the beginning, repeated when it runs out."""

    def __init__(self, text: str, counter: TokenCounter, language: str = "en") -> None:
        words = text.split()
        self._text = " ".join(words) + " "  # one pass; words joined over the end of it too
        self._starts = np.cumsum([0, *(len(word) + 1 for word in words)])
        known = dict.fromkeys(words, 0)
        known.update(zip(known, counter.counts([f" {word}" for word in known]), strict=True))
        self._tokens = np.cumsum([0, *(known[word] for word in words)])
        starts = sentence_starts(self._text, language)
        offsets = (start + (self._text[start] == " ") for start in starts)
        at = {int(start): word for word, start in enumerate(self._starts[:-1])}
        self._sentences = [at[offset] for offset in offsets if offset in at]
        self.numbers = frozenset(seven_digit_numbers(self._text))
        """Numbers that already stand in the text, as seven-digit strings: no value may be one."""
        self.hyphenated = frozenset(re.findall(r"(?=\b([a-z]+-[a-z]+)\b)", self._text.casefold()))
        """Hyphenated pairs that already stand in the text: no value may be one."""

    @property
    def _words(self) -> int:
        return len(self._starts) - 1

    def repeats(self, units: int) -> int:
        """How many times the text begins again within so many words."""
        return max(0, units - 1) // self._words

    def step(self, units: int, tokens: int) -> int:
        """The number of words that hold `tokens` more than the first `units` words do."""
        return self._at(int(self._tokens_before(units)) + tokens)

    def _tokens_before(self, word: int) -> int:
        passes, rest = divmod(word, self._words)
        return passes * int(self._tokens[-1]) + int(self._tokens[rest])

    def _at(self, tokens: int) -> int:
        passes, rest = divmod(max(0, tokens), int(self._tokens[-1]))
        return passes * self._words + int(np.searchsorted(self._tokens, rest, "right")) - 1

    def _sentence(self, number: int) -> int:
        """The first word of a sentence, counted over the repeats."""
        passes, rest = divmod(number, len(self._sentences))
        return passes * self._words + self._sentences[rest]

    def _sentences_in(self, words: int) -> int:
        passes, rest = divmod(words, self._words)
        return passes * len(self._sentences) + bisect_right(self._sentences, rest - 1)

    def _slice(self, start: int, end: int) -> str:
        """Words start … end − 1, joined by spaces."""
        (a, i), (b, j) = divmod(start, self._words), divmod(end, self._words)
        if a == b:
            return self._text[self._starts[i] : max(self._starts[i], self._starts[j] - 1)]
        middle = self._text * (b - a - 1)
        return (self._text[self._starts[i] :] + middle + self._text[: self._starts[j]])[:-1]

    def _words_to(self, prompt: PromptBuilder, start: int, end: int) -> None:
        """Add words; the first and the last are pieces of their own: only they can merge."""
        if prompt.at_context_start and start < end:
            prompt.add(self._slice(start, start + 1))
            start += 1
        if start < end - 1:
            tokens = self._tokens_before(end - 1) - self._tokens_before(start)
            prompt.run(" " + self._slice(start, end - 1), tokens)
            start = end - 1
        if start < end:
            prompt.add(" " + self._slice(start, end))

    def lay(
        self, prompt: PromptBuilder, units: int, needles: Sequence[Needle], tail: str
    ) -> PromptBuilder:
        """Cut after `units` words; needles between sentences, joined by single spaces."""
        prompt.begin_context()
        done, sentences = 0, self._sentences_in(units)
        for needle in sorted(needles, key=lambda needle: needle.depth):
            number = int(sentences * needle.depth)
            place = self._sentence(number) if number < sentences else units
            self._words_to(prompt, done, place)
            done = place
            lead = "" if prompt.at_context_start else " "
            prompt.add(lead + needle.text, needle.answer, lead=len(lead))
        self._words_to(prompt, done, units)
        return prompt.end_context().add(tail)


class LineHaystack(Haystack):
    """Lines joined by newlines; `lines` holds enough of them for the longest window."""

    def __init__(self, lines: Iterable[str], counter: TokenCounter) -> None:
        self._lines = [f"{line}\n" for line in lines]
        self._text = "".join(self._lines)
        known = dict.fromkeys(self._lines, 0)
        known.update(zip(known, counter.counts(list(known)), strict=True))
        self._tokens = np.cumsum([0, *(known[line] for line in self._lines)])
        self._starts = np.cumsum([0, *map(len, self._lines)])

    def step(self, units: int, tokens: int) -> int:
        """The number of lines that hold `tokens` more than the first `units` lines do."""
        target = max(0, int(self._tokens[units]) + tokens)
        return int(np.searchsorted(self._tokens, target, "right")) - 1

    @property
    def most(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def lay(
        self,
        prompt: PromptBuilder,
        units: int,
        needles: Sequence[Needle],
        tail: str,
        skip: Sequence[int] = (),
    ) -> PromptBuilder:
        """Needles are lines of their own; `skip` names lines to leave out."""
        prompt.begin_context()
        done = 0
        for needle in sorted(needles, key=lambda needle: needle.depth):
            place = min(units, int((units + 1) * needle.depth))
            self._lines_to(prompt, done, place, skip)
            done = place
            prompt.add(needle.text + "\n", needle.answer, trail=1)
        self._lines_to(prompt, done, units, skip)
        prompt.end_context(trail=1)
        return prompt.add(tail.removeprefix("\n"))

    def _lines_to(self, prompt: PromptBuilder, start: int, end: int, skip: Sequence[int]) -> None:
        for line in (*(line for line in sorted(skip) if start <= line < end), end):
            if start < line:
                tokens = int(self._tokens[line] - self._tokens[start])
                prompt.run(self._text[self._starts[start] : self._starts[line]], tokens)
            start = line + 1


def seven_digit_numbers(text: str) -> Iterable[str]:
    """Every run of seven digits in a text."""
    for digits in re.findall(r"\d{7,}", text):
        yield from (digits[i : i + 7] for i in range(len(digits) - 6))
