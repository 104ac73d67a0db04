"""What audits may use, and the checks that several of them share.

    def audit(row: Row, inputs: AuditInputs) -> Iterator[str]:
        '''Yield what is wrong with a row, one sentence each.'''

An audit reads a row's text, and is given the task's parameters and wording. It imports nothing that
makes rows, which import-linter proves, so that a bug in the builder cannot hide itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ruler_common.manifest import FileEntry, LanguageEntry
from ruler_common.rows import Row

MAX_COUNTED = 32  # tokenize only this many of the longest words or lines


_EXACT_EVERY = 100  # rows; the tokenizer's own library counts one of so many


@dataclass(frozen=True, kw_only=True)
class AuditInputs:
    """What an audit may use besides the rows: the manifest, the task's parameters, a counter."""

    entry: FileEntry
    # The task's parameters, of its family's class.
    params: Any
    # The family's templates.
    templates: Mapping[str, Any]
    # The line of noise that haystacks repeat.
    noise: str
    languages: Mapping[str, LanguageEntry]
    canary: str
    # Tokens kept free for a chat template.
    reserve: int
    # Tokens of a text by the tokenizer's own library.
    count: Callable[[str], int]
    # The same by gigatoken, if it is installed: one row in 100 is counted by both.
    fast_count: Callable[[str], int]

    @property
    def is_control(self) -> bool:
        """Whether rows are of the control, `0k`: their evidence and no haystack."""
        return self.entry["max_length"] == 0

    def remaining_tokens(self, row: Row) -> int:
        """Return the tokens of the window that a row leaves free."""
        return self.entry["max_length"] - self.reserve - row["length"]

    def length_of(self, row: Row) -> int:
        """Return the tokens of a row's prompt and answer."""
        prompt = row["input"] + row["answer_prefix"]
        length = self.fast_count(prompt) + row["max_new_tokens"]
        if (row["index"] or 0) % _EXACT_EVERY == 0 or length != row["length"]:
            return self.count(prompt) + row["max_new_tokens"]
        return length

    def check_full(self, row: Row, unit: int) -> Iterator[str]:
        """Yield a problem if another haystack unit of at most `unit` tokens would fit."""
        free = self.remaining_tokens(row)
        if not self.is_control and free >= unit:
            yield f"{free} tokens are free, and a unit of the haystack has at most {unit}"


Audit = Callable[[Row, AuditInputs], Iterator[str]]


def context_of(row: Row) -> str:
    """Return the part of a row's input that holds the haystack and the needles."""
    return row["input"][row["context_start"] : row["context_end"]]


def pattern_of(template: str, **groups: str) -> re.Pattern[str]:
    """Return a template as a regular expression; each {name} becomes the group of that name."""
    pattern = re.escape(template)
    for name, group in groups.items():
        placeholder = re.escape(f"{{{name}}}")
        pattern = pattern.replace(placeholder, f"(?P<{name}>{group})", 1)
        pattern = pattern.replace(placeholder, f"(?P={name})")  # a repeated name has the same text
    return re.compile(pattern)


def check_spans(row: Row, expected: Iterable[tuple[int, int, bool]]) -> Iterator[str]:
    """Yield a problem if the evidence is not exactly these spans of `input`, in their order."""
    spans = [(span["start"], span["end"], span["answer"]) for span in row["evidence"]]
    expected_spans = list(expected)
    if spans != expected_spans:
        unexpected = next((span for span in spans if span not in expected_spans), None)
        missing = next((span for span in expected_spans if span not in spans), None)
        if unexpected:
            what = f"{unexpected} is not a span of it"
        elif missing:
            what = f"{missing} is missing"
        else:
            what = "a span is listed twice or out of order"
        yield f"the evidence is not exactly what the text holds: {what}"


def check_no_stray_references(row: Row) -> Iterator[str]:
    """Yield a problem if a reference also occurs in the context outside its evidence."""
    context, text = context_of(row), row["input"]
    carrying = [text[span["start"] : span["end"]] for span in row["evidence"] if span["answer"]]
    for output in row["outputs"]:
        times, listed = context.count(output), sum(part.count(output) for part in carrying)
        if times != listed or not listed:
            yield f"reference '{output}' occurs {times} times, {listed} of them in the evidence"


def longest_line(lines: Collection[str], count: Callable[[str], int]) -> int:
    """Return an upper bound on the tokens of one more such line.

    It is the number of tokens of the longest line, plus 25 % and 2 tokens.
    """
    longest = sorted(lines, key=len)[-MAX_COUNTED:]
    return max(count("\n" + line) for line in longest) * 5 // 4 + 2


@lru_cache(maxsize=1 << 17)  # the words of a dictionary are in every row
def fold(word: str) -> str:
    """Return a word without differences of case and width."""
    return unicodedata.normalize("NFKC", word).casefold()
