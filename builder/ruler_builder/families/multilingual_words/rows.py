"""Common words extraction in the 26 languages of ONERULER (section 2, Table 2; Figure 10).

    <List> 1. garden 2. river 3. garden … </List>

The words are nouns, adjectives and verbs of each language's dictionary; there is no solved example.
A small dictionary may run out before the window is full: the row is then shorter.
"""

from __future__ import annotations

import numpy as np

from ruler_builder.context.counted_sources import CountedTexts
from ruler_builder.families.multilingual_words.params import MultilingualWordsParams, list_frame
from ruler_builder.families.numbered_words import NumberedWords
from ruler_builder.suites.wording import Frame


class MultilingualWords(NumberedWords[MultilingualWordsParams]):
    """cwe_easy or cwe_hard for one window."""

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
        return self._frame.tail

    @property
    def _frame(self) -> Frame:
        return list_frame(self.counted_sources.language(self.key.instruction_language)["cwe"])

    def frame(self, draw: np.random.Generator, spare: np.ndarray) -> Frame:
        """The published prompt around the list."""
        return self._frame
