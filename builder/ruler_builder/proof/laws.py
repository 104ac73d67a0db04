"""Check of one row what every task family must hold to: length, references, evidence.

    for breach in breaches(row, tokens, rules):
        breach.law.title, breach.what     # "exact length", "length is 4090, counted 4091"

A row's text is read back by its family (families/<family>/proof.py), and by that reading
`full` knows whether the window is full. What the manifest says of units is not believed:
file_checks.py compares it with what is found here. What needs several files, or their bytes, is
checked there and in release_checks.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ruler_builder.families.table import FAMILIES
from ruler_builder.reading.breaches import Breach, FileRules, Law
from ruler_builder.reading.reading import Reading
from ruler_common.rows import Row

_Column = Literal["task", "max_length", "language", "instruction_language"]
_OF_THE_FILE: tuple[_Column, ...] = ("task", "max_length", "language", "instruction_language")


def breaches(row: Row, tokens: int, rules: FileRules) -> Iterator[Breach]:
    """Every breach in one row, whose `input` + `answer_prefix` have `tokens` tokens."""
    for law, found in (
        (Law.LENGTH, _length(row, tokens, rules)),
        (Law.POSITIONS, _spans(row, rules)),
        (Law.UNAMBIGUOUS, _references(row, rules)),
        (Law.ANSWERABLE, _answerable(row, rules)),
        (Law.ACCOUNTED, _canary(row, rules)),
    ):
        yield from (Breach(law, what) for what in found)


def full(row: Row, reading: Reading, rules: FileRules) -> Iterator[Breach]:
    """The window is full by the row's own next unit, unless a finite text ran out."""
    if not rules.counted or rules.alone or reading.unit is None or reading.exhausted is not False:
        return  # at `0k` by design: there is no window, and the proof allows no haystack
    if (spare := rules.spare(row)) >= reading.unit:
        yield Breach(Law.FULL, f"{spare} tokens are free, a unit has at most {reading.unit}")


def _length(row: Row, tokens: int, rules: FileRules) -> Iterator[str]:
    for column in _OF_THE_FILE:
        if row[column] != (right := rules.entry[column]):
            yield f"{column} is {row[column]!r}, the file's is {right!r}"
    if row["length"] != tokens + row["max_new_tokens"]:
        yield f"length is {row['length']}, counted {tokens + row['max_new_tokens']}"
    if row["max_new_tokens"] != rules.task["max_new_tokens"]:
        yield f"max_new_tokens is {row['max_new_tokens']}"
    if not rules.alone and (spare := rules.spare(row)) < 0:
        yield f"over-long by {-spare} tokens"


def _spans(row: Row, rules: FileRules) -> Iterator[str]:
    start, end, text = row["context_start"], row["context_end"], row["input"]
    if rules.task.get("no_documents") and 0 < start == end < len(text) and not row["evidence"]:
        return
    if not 0 < start < end < len(text):
        yield f"the context {start}…{end} lies outside the input"
        return
    if row["question"] not in text[end:]:
        yield "the question does not follow the context"
    for span in row["evidence"]:
        depth = (span["start"] - start) / (end - start)
        if not start <= span["start"] < span["end"] <= end:
            yield f"evidence {span['start']}…{span['end']} lies outside the context"
        elif not abs(depth - span["depth"]) <= 1e-5:  # no number is neither
            yield f"depth {span['depth']:.5f} should be {depth:.5f}"


def _references(row: Row, rules: FileRules) -> Iterator[str]:
    outputs = row["outputs"]
    if not outputs:
        yield "no reference"
    if FAMILIES[rules.task["family"]].params.from_corpus:
        return  # annotators' answers overlap by nature
    for one in outputs:
        if sum(one.casefold() in other.casefold() for other in outputs) > 1:
            yield f"reference '{one}' is part of another"


def _canary(row: Row, rules: FileRules) -> Iterator[str]:
    if row["canary"] != rules.canary:
        yield f"canary is {row['canary']!r}, the manifest's is {rules.canary!r}"


def _answerable(row: Row, rules: FileRules) -> Iterator[str]:
    """One of the right answers fits `max_new_tokens`."""
    if not rules.counted:
        return
    right_answers = FAMILIES[rules.task["family"]].params.right_answers
    answers = right_answers(row["outputs"], row["input"][row["context_end"] :])
    needed, most = min(map(rules.count, answers), default=0), row["max_new_tokens"]
    if needed > most:
        yield f"the right answer takes {needed} tokens, max_new_tokens is {most}"
