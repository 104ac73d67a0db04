"""Common words extraction in the 26 languages of ONERULER (section 2, Table 2; Figure 10).

    <List> 1. garden 2. river 3. garden … </List>

The words are nouns, adjectives and verbs of each language's dictionary; there is no solved example.
A small dictionary may run out before the window is full: the row is then shorter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from builder.context.counted_sources import CountedTexts
from builder.tasks.numbered_words import NumberedWords
from builder.tasks.task import TaskParams
from builder.tasks.task_rules import ListCounts, list_counts
from builder.tasks.wording import Frame, split_at_context


@dataclass(frozen=True, kw_only=True)
class MultilingualWordsParams(TaskParams):
    """Number of common words and the counts; the short ones apply up to 8000 tokens."""

    num_cw: int = 10
    freq_cw: int = 30
    freq_ucw: int = 3
    short_freq_cw: int = 10
    short_freq_ucw: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(self.num_cw == 10, "num_cw must be 10: the published prompts ask for ten words")
        for common, uncommon in (
            (self.freq_cw, self.freq_ucw),
            (self.short_freq_cw, self.short_freq_ucw),
        ):
            self.need(common > uncommon >= 1, "freq_cw must be more than freq_ucw, from 1 on")


class MultilingualWords(NumberedWords[MultilingualWordsParams]):
    """cwe_easy or cwe_hard for one window."""

    params_type = MultilingualWordsParams
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
