"""Common words extraction in the 26 languages of ONERULER (section 2, Table 2; Figure 10).

    <List> 1. garden 2. river 3. garden … </List>

The words are nouns, adjectives and verbs from a dictionary of each language. Unlike RULER's cwe,
the prompt has no solved example. If a small dictionary runs out before the window is full, the row
is shorter than the window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruler_builder.tasks.base import between_tags
from ruler_builder.tasks.common_words import ListParams, NumberedWords, check_list
from ruler_builder.tasks.templates import CONTEXT, AuditContext, Frame
from ruler_builder.text.sources import LanguageSources
from ruler_common.rows import Row

# ---- Parameters --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MultilingualWordsParams(ListParams):
    """The number of common words, and how often common and uncommon words appear.

    Up to 8000 tokens a common word appears `short_freq_cw` times.
    """

    longest_short = 8000  # tokens

    short_freq_cw: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(self.num_cw == 10, "num_cw must be 10: the published prompts ask for ten words")

    def sources(self, text: LanguageSources, instruction: LanguageSources) -> tuple[str, ...]:
        """Return the sources of the words and of the prompts."""
        if text.words is None:  # English words come with the wonderwords package
            return instruction.prompts
        return (text.words, *instruction.prompts)

    right_answers = staticmethod(between_tags)


def list_frame(template: str) -> Frame:
    """Split a prompt around its list; the question is in the first pair of tags after the list."""
    head, _, tail = template.partition(CONTEXT)
    tagged = re.search(r"<([^<>/]+)>(.*?)</\1>", tail, re.DOTALL)
    return Frame(head, tail, "", tagged[2].strip() if tagged else "")


# ---- Wording -----------------------------------------------------------------------------------

# The prompts are published files, one per language. Ten words in Tamil, which needs the most
# tokens, take about 190 tokens of cl100k_base; the limit leaves space for a sentence around them.
TEMPLATES: dict[str, Any] = {
    "max_new_tokens": 512,
}


# ---- Rows --------------------------------------------------------------------------------------


class MultilingualWords(NumberedWords[MultilingualWordsParams]):
    """cwe_easy or cwe_hard for one window."""

    def prepare(self) -> None:
        """Read the language of the words, which is also that of the prompt."""
        language = self.counted_sources.language(self.key.language)
        self.languages = (language,)
        self.words_file = language.file_in_words("words")
        self.words, self.safe = self.counted_sources.dictionary(self.key.language)
        self._frame = list_frame(language.cwe)
        self.prompt_end = self._frame.tail
        super().prepare()

    def frame(self, draw: np.random.Generator, extra: np.ndarray) -> Frame:
        """Return the published prompt around the list."""
        return self._frame


# ---- Audit: without the code that makes rows ---------------------------------------------------


def audit(row: Row, about: AuditContext) -> Iterator[str]:
    """Check how often each word is in the list of a cwe row."""
    yield from check_list(row, about, about.params.counts(about.entry["max_length"]))
