"""What rows are made of, prepared once a process and tokenizer: texts with their token counts."""

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
    """Short texts and the tokens of each."""

    texts: np.ndarray
    tokens: np.ndarray


class CountedCorpus(NamedTuple):
    """A corpora.Corpus with counted documents."""

    documents: CountedTexts
    questions: list[corpora.Question]
    own_required: bool


class Dictionary(NamedTuple):
    """A language's words, counted with the space before; the places of those in no other word."""

    words: CountedTexts
    alone: np.ndarray


class CountedSources:
    """Sources read, checked and counted for one tokenizer, each when first needed."""

    def __init__(self, sources: Sources, counter: TokenCounter) -> None:
        self.sources = sources
        self.counter = counter
        self.longest_answers: dict[Hashable, tuple[int, int]] = {}
        """Tokens of the longest right answer among rows of a task, and its row; kept by tasks."""
        self._labels: CountedTexts | None = None
        self._book: tuple[str, int, BookHaystack] | None = None  # one at a time: they are large
        self.noise = lru_cache(maxsize=1)(self._noise)
        self.corpus = cache(self._corpus)
        self.language = cache(self._language)
        self.noun_clashes = cache(self._noun_clashes)
        self.dictionary = cache(self._dictionary)

    @cached_property
    def essays(self) -> EssayHaystack:
        """The essays, from the beginning."""
        return EssayHaystack(corpora.essays(self.sources.read("essays")), self.counter)

    def _corpus(self, name: str) -> CountedCorpus:
        """Return a question-answering corpus, documents counted with the blank line after each."""
        corpus = corpora.questions(name, self.sources.read(name))
        documents = self.counted(corpus.documents, after="\n\n")
        return CountedCorpus(documents, corpus.questions, corpus.own_required)

    def counted(self, texts: Sequence[str], before: str = "", after: str = "") -> CountedTexts:
        """Texts with the tokens of each, counted with the text before and after it."""
        counts = self.counter.counts([f"{before}{text}{after}" for text in texts])
        return CountedTexts(np.array(texts, dtype=object), np.array(counts))

    def labels(self, count: int) -> CountedTexts:
        """Return the numbers of a list's items, " 1. " and so on.

        The last space is not counted: it belongs to the word's tokens.
        """
        if self._labels is None or len(self._labels.texts) < count:
            texts, tokens = self.counted([f" {i}." for i in range(1, count + 1)])
            self._labels = CountedTexts(texts + " ", tokens)
        return CountedTexts(self._labels.texts[:count], self._labels.tokens[:count])

    def _noise(self, count: int) -> LineHaystack:
        """`count` lines of the noise sentences; those of the last call are kept."""
        return LineHaystack(repeat(corpora.NOISE), count, self.counter)

    def run_on_noise(self, count: int) -> RunOnHaystack:
        """At most `count` lines of the noise sentences, joined by spaces."""
        return RunOnHaystack(corpora.NOISE, count, self.counter)

    def _dictionary(self, code: str) -> Dictionary:
        """Return the words of a language's dictionary."""
        words = self.language(code).words()
        return Dictionary(self.counted(words, before=" "), places_alone(words))

    def book(self, code: str, tokens: int) -> BookHaystack:
        """Return the book of a language, as much of it as windows of `tokens` tokens can hold."""
        held = self._book
        if held is None or held[0] != code or held[1] < tokens:
            language = self.language(code)
            book = BookHaystack(language.sentences(), language.separator, self.counter, tokens)
            self._book = held = code, tokens, book
        return held[2]

    def _language(self, code: str) -> Language:
        """Return the prompts and nouns of a language of ONERULER."""
        return read_language(code, self.sources)

    def _noun_clashes(self, text: str, instruction: str) -> np.ndarray:
        """For each two nouns whether one is part of the other in any language, as booleans.

        In any of the 26, so that every language asks the same, and in the two of the row.
        """
        columns = [*shared_nouns(self.sources).values()]
        columns += [self.language(code).nouns for code in (text, instruction)]
        clashes = [_contained(column) for column in dict.fromkeys(columns)]
        either_way: np.ndarray = np.logical_or.reduce(clashes)
        return either_way


@cache
def _contained(nouns: tuple[str, ...]) -> np.ndarray:
    """For each two nouns of a language whether one is part of the other, as booleans."""
    folded = [noun.casefold() for noun in nouns]
    return np.array([[a in b or b in a for b in folded] for a in folded])
