"""What the laws of every family share: rules, breaches, and the reading of a row's text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Breach(NamedTuple):
    """A law a row breaks, and how."""

    law: int
    what: str


@dataclass(frozen=True)
class Rules:
    """What a file's rows are held to, from the manifest."""

    entry: Mapping[str, Any]
    task: Mapping[str, Any]
    wording: Mapping[str, Any]
    reserve: int
    languages: Mapping[str, Any]


Row = Mapping[str, Any]


def pattern_of(template: str, **groups: str) -> re.Pattern[str]:
    """A template as a pattern: each {name} is the group of that name."""
    pattern = re.escape(template)
    for name, group in groups.items():
        pattern = pattern.replace(rf"\{{{name}\}}", f"(?P<{name}>{group})", 1)
        pattern = pattern.replace(rf"\{{{name}\}}", f"(?P={name})")
    return re.compile(pattern)


def context_of(row: Row) -> str:
    """The text that is searched."""
    return row["input"][row["context_start"] : row["context_end"]]


def texts_of(row: Row, answer: bool) -> list[str]:
    """The texts of the evidence that carries a reference, or of that which does not."""
    return [
        row["input"][span["start"] : span["end"]]
        for span in row["evidence"]
        if span["answer"] is answer
    ]


def only_in_evidence(row: Row, context: str) -> Iterator[Breach]:
    """Each reference occurs in the context only where the evidence says (law 3)."""
    carrying = texts_of(row, True)
    for output in row["outputs"]:
        there, known = context.count(output), sum(text.count(output) for text in carrying)
        if there != known or not known:
            yield Breach(3, f"reference '{output}' occurs {there} times, {known} in evidence")


def leading(row: Row, tally: Mapping[str, int], counts: list[int]) -> Iterator[Breach]:
    """The references have these counts, strictly above every other word's, and are part of none."""
    asked = {output.casefold(): output for output in row["outputs"]}
    found = sorted((tally.get(word, 0) for word in asked), reverse=True)
    if found != counts:
        yield Breach(3, f"the references appear {found} times, not {counts}")
    best = max((times for word, times in tally.items() if word not in asked), default=0)
    if found and best >= found[-1]:
        yield Breach(3, f"a tie: another word appears {best} times, a reference {found[-1]}")
    joined = "\n".join(tally)
    for word, output in asked.items():
        if joined.count(word) != 1:
            yield Breach(3, f"reference '{output}' is part of another word of the list")
