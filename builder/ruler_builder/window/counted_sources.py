"""The texts that rows are made of, with their token counts: read once per process and tokenizer."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import repeat
from typing import NamedTuple

import numpy as np

from ruler_builder.text import corpora
from ruler_builder.text.languages import Language, read_language, shared_nouns
from ruler_builder.text.sources import Sources
from ruler_builder.text.word_lists import places_alone
from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.window.haystacks import BookHaystack, EssayHaystack, LineHaystack, RunOnHaystack


class CountedTexts(NamedTuple):
    """Short texts and the number of tokens of each."""

    texts: np.ndarray
    tokens: np.ndarray


class CountedCorpus(NamedTuple):
    """A question-answering corpus (corpora.Corpus) whose documents are counted."""

    documents: CountedTexts
    questions: list[corpora.Question]
    own_required: bool


class Dictionary(NamedTuple):
    """The words of a language's dictionary, each counted with a space before it."""

    words: CountedTexts
    distinct: np.ndarray  # indices of the words that are not part of another word


class CountedSources:
    """Reads, checks and counts sources for one tokenizer, each when it is first needed."""

    def __init__(self, sources: Sources, counter: TokenCounter) -> None:
        self.sources = sources
        self.counter = counter
        self.longest_answers: dict[Hashable, tuple[int, int]] = {}
        """For a task, the tokens of the longest right answer and the index of its row."""
        self._labels: CountedTexts | None = None
        self._book: tuple[str, int, BookHaystack] | None = None  # only one: books are large
        self.noise = lru_cache(maxsize=1)(self._noise)
        self.corpus = cache(self._corpus)
        self.language = cache(self._language)
        self.noun_clashes = cache(self._noun_clashes)
        self.dictionary = cache(self._dictionary)

    @cached_property
    def essays(self) -> EssayHaystack:
        """The essays as a haystack, from their beginning."""
        return EssayHaystack(corpora.essays(self.sources.read("essays")), self.counter)

    def _corpus(self, name: str) -> CountedCorpus:
        """Read a question-answering corpus; count each document with the blank line after it."""
        corpus = corpora.questions(name, self.sources.read(name))
        documents = self.counted(corpus.documents, after="\n\n")
        return CountedCorpus(documents, corpus.questions, corpus.own_required)

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

    def _noise(self, count: int) -> LineHaystack:
        """Return `count` lines of the noise sentences; `noise` caches the last result."""
        return LineHaystack(repeat(corpora.NOISE), count, self.counter)

    def run_on_noise(self, count: int) -> RunOnHaystack:
        """Return a haystack of at most `count` noise lines, joined by spaces."""
        return RunOnHaystack(corpora.NOISE, count, self.counter)

    def _dictionary(self, code: str) -> Dictionary:
        """Return the words of a language's dictionary."""
        words = self.language(code).words()
        return Dictionary(self.counted(words, before=" "), places_alone(words))

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

    def _noun_clashes(self, text: str, instruction: str) -> np.ndarray:
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
