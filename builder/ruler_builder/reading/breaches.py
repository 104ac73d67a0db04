"""What every check of a row needs: the laws, a breach of one, the rules of a file, a row's texts.

    yield Breach(Law.UNAMBIGUOUS, "key 'able-cat' stands in 2 needles, not 1")

The laws are what `ruler verify` proves of a release from its files alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from ruler_builder.reading.sources_at_hand import SourcesAtHand
from ruler_common.manifest_form import FileEntry, LanguageEntry
from ruler_common.rows import Row


class Law(IntEnum):
    """A property that every release has; `title` is its name in tables and messages."""

    title: str

    def __new__(cls, number: int, title: str) -> Law:
        """The law of a number and a title."""
        law = int.__new__(cls, number)
        law._value_, law.title = number, title
        return law

    # `length` is the exact number of tokens, and with the reserve at most `max_length`.
    LENGTH = 1, "exact length"
    # No further unit of the haystack fits into the window, unless a finite text ran out.
    FULL = 2, "full window"
    # The context supports exactly the references: no second key, value or tie.
    UNAMBIGUOUS = 3, "unambiguous"
    # The evidence spans hold what they claim, and answers stand all over the context.
    POSITIONS = 4, "honest positions"
    # Row i asks the same under every tokenizer, length and, with parallel words, language.
    PAIRED = 5, "same question everywhere"
    # The files are those that the manifest lists, byte for byte.
    DIGESTS = 6, "digests"
    # A perfect answer fits into `max_new_tokens` tokens.
    ANSWERABLE = 7, "answerable"
    # Every character has its place in the wording or the haystack, every figure is true.
    ACCOUNTED = 8, "accounted for"
    # Made anew from what the manifest says, rows and manifest are the same.
    REBUILT = 9, "rebuilt"


class Breach(NamedTuple):
    """A law that a row breaks, and how."""

    law: Law
    what: str


@dataclass(frozen=True, kw_only=True)
class FileRules:
    """What the rows of one file must satisfy, as the manifest says."""

    entry: FileEntry
    # The task's family and parameters, the optional ones too.
    task: Mapping[str, Any]
    # The texts of the task's family: templates of needles, documents, questions.
    wording: Mapping[str, Any]
    # The GUID that every row has.
    canary: str
    # Tokens kept free for a chat template.
    reserve: int
    # ONERULER: the wording and nouns by language code.
    languages: Mapping[str, LanguageEntry]
    # The sources that can be read here.
    sources: SourcesAtHand
    # Tokens of a text under the file's tokenizer.
    count: Callable[[str], int]
    # Whether that tokenizer is here; if not, `count` gives the most tokens that a text can have.
    counted: bool = True

    @property
    def alone(self) -> bool:
        """Whether rows hold their evidence and no haystack: the control at `0k`."""
        return self.entry["max_length"] == 0

    @property
    def window(self) -> int:
        """Tokens that a row may have: all but the reserve."""
        return self.entry["max_length"] - self.reserve

    def spare(self, row: Row) -> int:
        """Tokens of the window that a row leaves free."""
        return self.window - row["length"]


def pattern_of(template: str, **groups: str) -> re.Pattern[str]:
    """A template as a regular expression: each {name} becomes the group of that name."""
    pattern = re.escape(template)
    for name, group in groups.items():
        pattern = pattern.replace(rf"\{{{name}\}}", f"(?P<{name}>{group})", 1)
        pattern = pattern.replace(rf"\{{{name}\}}", f"(?P={name})")
    return re.compile(pattern)


def context_of(row: Row) -> str:
    """The part of a row's input that holds the haystack and the needles."""
    return row["input"][row["context_start"] : row["context_end"]]
