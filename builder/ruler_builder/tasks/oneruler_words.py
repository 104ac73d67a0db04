"""Common words extraction in the 26 languages of ONERULER (section 2, Table 2; Figure 10).

    <List> 1. garden 2. river 3. garden … </List>

The words are nouns, adjectives and verbs of each language's dictionary; there is no solved example.
A small dictionary may run out before the window is full: the row is then shorter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruler_builder.tasks.audit_parts import AuditContext
from ruler_builder.tasks.base import between_tags
from ruler_builder.tasks.common_words import ListParams, NumberedWords, check_list
from ruler_builder.tasks.templates import Frame, split_at_context
from ruler_builder.text.languages import Language
from ruler_builder.text.sources import LanguageSources
from ruler_builder.window.counted_sources import CountedTexts
from ruler_common.rows import Row

# ---- Parameters --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MultilingualWordsParams(ListParams):
    """Number of common words and the counts; the short ones apply up to 8000 tokens."""

    longest_short = 8000

    short_freq_cw: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(self.num_cw == 10, "num_cw must be 10: the published prompts ask for ten words")

    def sources(self, text: LanguageSources, instruction: LanguageSources) -> tuple[str, ...]:
        """Return the sources of the words, if they have one, and of the prompts."""
        if text.words is None:
            return instruction.prompts
        return (text.words, *instruction.prompts)

    right_answers = staticmethod(between_tags)


def list_frame(template: str) -> Frame:
    """Return the frame of a prompt; its question is between the first tags after the list."""
    head, tail = split_at_context(template)
    tagged = re.search(r"<([^<>/]+)>(.*?)</\1>", tail, re.DOTALL)
    return Frame(head, tail, "", tagged[2].strip() if tagged else "")


# ---- Wording -----------------------------------------------------------------------------------

# The wording is each language's own. Ten words of the costliest language (Tamil) take about 190
# tokens of cl100k_base; this leaves room for a sentence around them.
TEMPLATES: dict[str, Any] = {
    "max_new_tokens": 512,
}


# ---- Rows --------------------------------------------------------------------------------------


class MultilingualWords(NumberedWords[MultilingualWordsParams]):
    """cwe_easy or cwe_hard for one window."""

    @property
    def languages(self) -> tuple[Language, ...]:
        """The language of the words and the prompt: cwe has no others."""
        return (self.counted_sources.language(self.key.language),)

    @property
    def words_in_words(self) -> str:
        """The file of the words, as an error names it."""
        return self.languages[0].file_in_words("words")

    @property
    def words(self) -> CountedTexts:
        """The words of the language's dictionary."""
        return self.counted_sources.dictionary(self.key.language).words

    def safe(self) -> np.ndarray:
        """Return the places of the words that no other contains."""
        return self.counted_sources.dictionary(self.key.language).alone

    @property
    def prompt_end(self) -> str:
        """The text after the list."""
        return self._frame.tail

    @property
    def _frame(self) -> Frame:
        return list_frame(self.counted_sources.language(self.key.instruction_language).cwe)

    def frame(self, draw: np.random.Generator, extra: np.ndarray) -> Frame:
        """Return the published prompt around the list."""
        return self._frame


# ---- Audit: without the code that makes rows ---------------------------------------------------


def audit(row: Row, about: AuditContext) -> Iterator[str]:
    """Yield what is wrong with a cwe row: the counts of the words in the list."""
    yield from check_list(row, about, about.params.counts(about.entry["max_length"]))
