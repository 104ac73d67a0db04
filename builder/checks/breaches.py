"""What every check of a row needs: the laws, a breach of one, the rules of a file, a row's texts.

    yield Breach(Law.UNAMBIGUOUS, "key 'able-cat' stands in 2 needles, not 1")

The laws are what `ruler verify` proves of a release from its files alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

from builder.checks.sources_at_hand import SourcesAtHand
from ruler_dataset import FileEntry, LanguageEntry, Row

_NUMBER = re.compile(r"(?:^| )(\d+)\. (?=\S)")


class Law(IntEnum):
    """A property that every release has; `title` is the name that users read."""

    LENGTH = 1
    """`length` is the exact number of tokens, and with the reserve at most `max_length`."""
    FULL = 2
    """No further unit of the haystack fits into the window, unless a finite text ran out."""
    UNAMBIGUOUS = 3
    """The context supports exactly the references: no second key, value or tie."""
    POSITIONS = 4
    """The evidence spans hold what they claim, and answers stand all over the context."""
    PAIRED = 5
    """Row i asks the same under every tokenizer, length and, with parallel words, language."""
    DIGESTS = 6
    """The files are those that the manifest lists, byte for byte."""
    ANSWERABLE = 7
    """A perfect answer fits into `max_new_tokens` tokens."""
    ACCOUNTED = 8
    """Every character has its place in the wording or the haystack, every figure is true."""

    @property
    def title(self) -> str:
        """The law's name in tables and messages."""
        return _TITLES[self]


_TITLES = {
    Law.LENGTH: "exact length",
    Law.FULL: "full window",
    Law.UNAMBIGUOUS: "unambiguous",
    Law.POSITIONS: "honest positions",
    Law.PAIRED: "same question everywhere",
    Law.DIGESTS: "digests",
    Law.ANSWERABLE: "answerable",
    Law.ACCOUNTED: "accounted for",
}


class Breach(NamedTuple):
    """A law that a row breaks, and how."""

    law: Law
    what: str


@dataclass(frozen=True, kw_only=True)
class FileRules:
    """What the rows of one file must satisfy, as the manifest says."""

    entry: FileEntry
    task: Mapping[str, Any]
    """The task's family and parameters, the optional ones too."""
    wording: Mapping[str, Any]
    """The texts of the task's family: templates of needles, documents, questions."""
    reserve: int
    """Tokens kept free for a chat template."""
    languages: Mapping[str, LanguageEntry]
    """ONERULER: the wording and nouns by language code."""
    sources: SourcesAtHand
    """The sources that can be read here."""
    count: Callable[[str], int]
    """Tokens of a text under the file's tokenizer."""

    @property
    def alone(self) -> bool:
        """Whether rows hold their evidence and no haystack: the control at `0k`."""
        return self.entry["max_length"] == 0


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


@lru_cache(maxsize=1)  # the laws and the grammar read the same list one after the other
def numbered_items(text: str) -> tuple[list[str], list[str]]:
    """The numbers and the words of a list `1. garden 2. river …`, as they stand in a text."""
    parts = _NUMBER.split(text)
    return parts[1::2], parts[2::2]


def texts_of(row: Row, answer: bool) -> list[str]:
    """The texts of the evidence spans that carry a reference, or of those that do not."""
    return [
        row["input"][span["start"] : span["end"]]
        for span in row["evidence"]
        if span["answer"] is answer
    ]


def only_in_evidence(row: Row, context: str) -> Iterator[Breach]:
    """Breaches where a reference occurs in the context outside the evidence, or not at all."""
    carrying = texts_of(row, True)
    for output in row["outputs"]:
        there, known = context.count(output), sum(text.count(output) for text in carrying)
        if there != known or not known:
            yield Breach(
                Law.UNAMBIGUOUS, f"reference '{output}' occurs {there} times, {known} in evidence"
            )


def leading(references: list[str], tally: Mapping[str, int], counts: list[int]) -> Iterator[Breach]:
    """Breaches where the references are not the most frequent words of a list.

    They must have these `counts`, strictly more than any other word, and be part of no other word.
    """
    asked = {output.casefold(): output for output in references}
    found = sorted((tally.get(word, 0) for word in asked), reverse=True)
    if found != counts:
        yield Breach(Law.UNAMBIGUOUS, f"the references appear {found} times, not {counts}")
    best = max((times for word, times in tally.items() if word not in asked), default=0)
    if found and best >= found[-1]:
        yield Breach(
            Law.UNAMBIGUOUS, f"a tie: another word appears {best} times, a reference {found[-1]}"
        )
    joined = "\n".join(tally)
    for word, output in asked.items():
        if joined.count(word) != 1:
            yield Breach(
                Law.UNAMBIGUOUS, f"reference '{output}' is part of another word of the list"
            )
