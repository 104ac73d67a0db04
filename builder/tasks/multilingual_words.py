"""Common words extraction in the 26 languages of ONERULER (section 2, Table 2; Figure 10).

    <List> 1. garden 2. river 3. garden … </List>

The words are nouns, adjectives and verbs of each language's dictionary; there is no solved example.
A small dictionary may run out before the window is full: the row is then shorter.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from builder.context.counted_sources import CountedTexts
from builder.tasks.numbered_words import NumberedWords
from builder.tasks.task_params import MultilingualWordsParams
from builder.tasks.task_rules import ListCounts, list_counts
from builder.tasks.wording import Frame, split_at_context


class MultilingualWords(NumberedWords[MultilingualWordsParams]):
    """cwe_easy or cwe_hard for one window."""

    family = "multilingual_words"

    @property
    def common(self) -> int:
        """How many common words there are."""
        return self.params.num_cw

    @cached_property
    def times(self) -> ListCounts:
        """The counts at this length."""
        return list_counts(self.family, vars(self.params), self.key.max_length)

    @property
    def words(self) -> CountedTexts:
        """The words of the language's dictionary."""
        return self.counted_sources.dictionary(self.key.language).words

    def safe(self) -> np.ndarray:
        """Where the words stand that no other contains."""
        return self.counted_sources.dictionary(self.key.language).alone

    @property
    def prompt_end(self) -> str:
        """What stands after the list."""
        return split_at_context(self._template)[1]

    @property
    def _template(self) -> str:
        return self.counted_sources.language(self.key.instruction_language).cwe

    def frame(self, draw: np.random.Generator, spare: np.ndarray) -> Frame:
        """The published prompt around the list; nothing begins the answer."""
        head, tail = split_at_context(self._template)
        return Frame(head, tail, "", question_in(tail))


def question_in(text: str) -> str:
    """The first tagged part of a text, without its tags: the question."""
    return text[text.index(">", text.index("<", text.index("\n"))) + 1 :].split("<")[0].strip()
