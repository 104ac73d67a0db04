"""What rows are made of, prepared once a process and tokenizer: texts with their token counts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from builder import corpora
from builder.haystacks import NOISE, Lines, Prose
from builder.sources import Sources
from builder.tokenizers import Counter


class Counted(NamedTuple):
    """Short texts and the tokens of each."""

    texts: np.ndarray
    tokens: np.ndarray


class CountedCorpus(NamedTuple):
    """A corpora.Corpus with counted documents."""

    documents: Counted
    questions: list[corpora.Question]
    own_required: bool


class Materials:
    """Sources read, checked and counted for one tokenizer, each when first needed."""

    def __init__(self, sources: Sources, counter: Counter) -> None:
        self.sources = sources
        self.counter = counter
        self._corpora: dict[str, CountedCorpus] = {}
        self._noise: Lines | None = None

    @cached_property
    def essays(self) -> Prose:
        """The essays, from the beginning."""
        return Prose(corpora.essays(self.sources.read("essays")), self.counter)

    def corpus(self, name: str) -> CountedCorpus:
        """A question-answering corpus, its documents counted with the blank line after each."""
        if name not in self._corpora:
            corpus = corpora.questions(name, self.sources.read(name))
            documents = self.counted(corpus.documents, after="\n\n")
            self._corpora[name] = CountedCorpus(documents, corpus.questions, corpus.own_required)
        return self._corpora[name]

    def counted(self, texts: Sequence[str], before: str = "", after: str = "") -> Counted:
        """Texts with the tokens of each, counted with what stands before and after it."""
        counts = self.counter.counts([f"{before}{text}{after}" for text in texts])
        return Counted(np.array(texts, dtype=object), np.array(counts))

    def noise(self, count: int) -> Lines:
        """So many lines of the noise sentences."""
        if self._noise is None or self._noise.most != count:
            self._noise = Lines([NOISE] * count, self.counter)
        return self._noise
