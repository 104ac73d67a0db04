"""The texts that rows are made of, read and counted once per process and tokenizer.

counted_sources = CountedSources(sources, counter)
counted_sources.essays                 # each text is read and counted when it is first needed
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache, cached_property
from itertools import repeat
from typing import NamedTuple

import numpy as np

from ruler_builder.text import corpora
from ruler_builder.text.borders import folded, read_borders
from ruler_builder.text.languages import Language, read_language, shared_nouns
from ruler_builder.text.sources import Sources
from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.window.haystacks import BookHaystack, EssayHaystack, LineHaystack


class CountedTexts(NamedTuple):
    """Short texts and the number of tokens of each."""

    texts: np.ndarray
    tokens: np.ndarray


class CountedSources:
    """Reads, checks and counts sources for one tokenizer, each when it is first needed."""

    def __init__(self, sources: Sources, counter: TokenCounter) -> None:
        self.sources = sources
        self.counter = counter
        self.longest_answers: dict[Hashable, tuple[int, int]] = {}
        """For a task, the tokens of the longest right answer and the index of its row."""
        self._labels: CountedTexts | None = None
        self._book: tuple[str, int, BookHaystack] | None = None  # only one: books are large
        self.documents = cache(self._documents)
        self.language = cache(self._language)
        self.dictionary = cache(self._dictionary)

    @cached_property
    def essays(self) -> EssayHaystack:
        """The essays as a haystack, from their beginning."""
        text = folded(corpora.essays(self.sources.read("essays")))
        starts = read_borders("essays", self.sources.file("essays").variant, text)
        return EssayHaystack(text, starts, self.counter)

    def _documents(self, name: str) -> tuple[corpora.Corpus, CountedTexts]:
        """Read a question-answering corpus; count each document with the blank line after it."""
        corpus = corpora.questions(name, self.sources.read(name))
        return corpus, self.counted(corpus.documents, after="\n\n")

    def counted(self, texts: Sequence[str], before: str = "", after: str = "") -> CountedTexts:
        """Count each text together with `before` and `after`; return the texts without them."""
        counts = self.counter.counts([f"{before}{text}{after}" for text in texts])
        return CountedTexts(np.array(texts, dtype=object), np.array(counts))

    def labels(self, count: int) -> CountedTexts:
        """Return the item numbers of a list: " 1. ", " 2. " and so on.

        The last space is not counted here, since it is counted with the word after it.
        """
        if self._labels is None or len(self._labels.texts) < count:
            texts, tokens = self.counted([f" {i}." for i in range(1, count + 1)])
            self._labels = CountedTexts(texts + " ", tokens)
        return CountedTexts(self._labels.texts[:count], self._labels.tokens[:count])

    def noise(self, count: int) -> LineHaystack:
        """Return `count` lines of the noise sentences."""
        return LineHaystack(repeat(corpora.NOISE), count, self.counter)

    def _dictionary(self, code: str) -> tuple[CountedTexts, np.ndarray]:
        """Return a language's words, and the places of those that are not part of another.

        Each is counted with a space before it.
        """
        words = self.language(code).words()
        return self.counted(words, before=" "), corpora.places_alone(words)

    def book(self, code: str, tokens: int) -> BookHaystack:
        """Return as much of a language's book as a window of `tokens` tokens can hold."""
        if self._book is not None:
            cached_code, cached_tokens, cached_book = self._book
            if cached_code == code and cached_tokens >= tokens:
                return cached_book
        language = self.language(code)
        book = BookHaystack(language.sentences(), language.separator, self.counter, tokens)
        self._book = code, tokens, book
        return book

    def _language(self, code: str) -> Language:
        """Read the prompts and nouns of a language of ONERULER."""
        return read_language(code, self.sources)

    def noun_clashes(self, text: str, instruction: str) -> np.ndarray:
        """Return a boolean matrix: whether one of two nouns is part of the other in any language.

        All 26 languages are compared, so that rows ask for the same nouns in every language, and
        the two languages of the row, which may come from a folder.
        """
        columns = list(shared_nouns(self.sources).values())
        columns += [self.language(code).nouns for code in (text, instruction)]
        clashes = [_overlaps(column) for column in dict.fromkeys(columns)]
        in_any: np.ndarray = np.logical_or.reduce(clashes)
        return in_any


@cache
def _overlaps(nouns: tuple[str, ...]) -> np.ndarray:
    """Return a boolean matrix: whether one of two nouns of a language is part of the other."""
    folded = [noun.casefold() for noun in nouns]
    return np.array([[a in b or b in a for b in folded] for a in folded])
