"""Frequent words extraction: the most frequent coded words under a Zeta distribution (section 3.3).

    ... qzjwkd ... xwlupe qzjwkd ... ...

Of N words the k-th most frequent appears floor(N k^-alpha / zeta(alpha)) times (footnote 4). The
first is the noise word `...`; the next `words` are asked for.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ruler_builder.tasks.audit_parts import AuditContext, context_of
from ruler_builder.tasks.base import NewRow, Task, TaskParams
from ruler_builder.tasks.randomness import letters
from ruler_builder.tasks.templates import filled
from ruler_builder.window.fit import Impossible
from ruler_builder.window.prompt import PromptBuilder
from ruler_common.rows import Row

# ---- Parameters --------------------------------------------------------------------------------

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
"""How a prompt writes the number of words that it asks for."""


@dataclass(frozen=True, kw_only=True)
class FrequentParams(TaskParams):
    """The distribution's exponent and how many words are asked for (Table 5); the words' letters.

    `vocabulary` is the number of different words, the noise word too; 0 is a fiftieth of the
    window's tokens.
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
        enough = self.words + 2 <= self.vocabulary <= 100_000
        self.need(
            enough or self.vocabulary == 0,
            f"vocabulary must be {self.words + 2} to 100000, or 0 for a fiftieth of the window",
        )


def zeta(alpha: float) -> float:
    """Return the sum of `rank ** -alpha` over all ranks; at 2, the usual alpha, without scipy.

    That takes a fifth of a second to import. Euler's value is the same number to the last bit.
    """
    if alpha == 2:
        return math.pi**2 / 6
    from scipy.special import zeta

    return float(zeta(alpha))


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
        appearing = max(int(np.sum(self.budget * weights >= 1)), self.params.words + 2)
        return np.asarray(weights[:appearing])

    def _counts(self, total: int) -> np.ndarray:
        """How often each rank appears among `total` words."""
        return np.asarray(np.floor(total * self._weights), dtype=int)

    @cached_property
    def _min_words(self) -> int:
        """The min_words words from which on the asked ones lead the next word strictly."""
        weights = self._weights[1 : self.params.words + 2]
        gap = -np.diff(weights, append=0).max()  # with 1 / gap words every lead is a word or more
        most = max(1, min(self.budget, int(1 / gap) + 1))
        counts = np.floor(np.outer(np.arange(1, most + 1), weights))
        leads = np.all(np.diff(counts, append=0) < 0, axis=1)
        min_words = int(np.flatnonzero(~leads)[-1]) + 2
        if min_words > self.budget:
            raise Impossible(
                f"Among the {self.budget} words a window may hold, {self.params.words} words with "
                f"alpha {self.params.alpha} never lead the next: take a longer length."
            )
        return min_words

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

        def step(total: int, more_tokens: int) -> int:
            return total + int(more_tokens / max(1.0, float(self._weights @ tokens)))

        fitted = self.fit_counted(draft, " ...", text, step, min_units=self._min_words)
        return self.finish(index, fitted.draft, frame, asked, fitted.next_unit_tokens)

    def references(self, index: int) -> list[str]:
        """Return the asked words, the most frequent first."""
        return letters(self.key.draw_asked(index), self.params.word_letters, self.params.words)

    def _vocabulary(self, index: int, asked: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the words by rank and the tokens of each with a space before it."""
        others = len(self._weights) - 1 - len(asked)
        draw, length = self.key.draw_filling(index, "vocabulary"), self.params.word_letters
        drawn = letters(draw, length, others + len(asked))
        rest = [word for word in drawn if word not in asked][:others]
        counted = self.counted_sources.counted([NOISE_WORD, *asked, *rest], before=" ")
        return counted.texts, counted.tokens


# ---- Audit: without the code that makes rows ---------------------------------------------------

_COUNTED = 64  # words whose tokens are counted


def audit(row: Row, about: AuditContext) -> Iterator[str]:
    """Yield what is wrong with an fwe row: words, their order, a tie, the distribution."""
    params: FrequentParams = about.params
    tally = Counter(context_of(row).split(" "))
    for word in tally:
        if word != NOISE_WORD and not re.fullmatch(f"[a-z]{{{params.word_letters}}}", word):
            yield f"a word is neither {params.word_letters} letters nor the noise word: {word!r}"
            break
    ranked = [word for word, _ in tally.most_common()]
    if ranked[0] != NOISE_WORD or ranked[1 : params.words + 1] != row["outputs"]:
        yield f"the references {row['outputs']} are not ranks 2 to {params.words + 1}, in order"
    leads = -np.diff([tally[word] for word in ranked[1 : params.words + 2]])
    if len(leads) < params.words or leads.min() < 1:
        yield "a tie: an asked word does not appear more often than the next one"
    if row["evidence"]:
        yield "a coded text has no needles, but there is evidence"
    usual = max(about.entry["max_length"] // _TOKENS_A_WORD, params.words + 2)
    ranks = np.arange(1, (params.vocabulary or usual) + 1, dtype=float)
    shares = ranks**-params.alpha / zeta(params.alpha)
    counts = np.array(sorted(tally.values(), reverse=True))
    total = _total(counts, shares)
    if total is None:
        yield f"the words' counts {counts[:8].tolist()} … are not a Zeta distribution"
        return
    more = int(np.sum(np.floor((total + 1) * shares) - np.floor(total * shares)))
    longest = max(about.count(f" {word}") for word in ranked[:_COUNTED])
    yield from about.not_full(row, more * longest + 2)


def _total(counts: np.ndarray, shares: np.ndarray) -> int | None:
    """Return the greatest N of which rank k has floor(N * share of k) words; None if no N does."""
    first = int(counts[0] / shares[0])
    for total in range(int((counts[0] + 1) / shares[0]) + 1, first - 1, -1):
        right = np.floor(total * shares).astype(int)
        if np.array_equal(right[right > 0], counts):
            return total
    return None
