"""Which answers to a question of a corpus are right that were not found by reading.

    unread(row)         # {"question", "elsewhere"}: names of ruler_common's UnreadFigures

A build counts them over the rows of a file for the manifest, and the proof compares. The rule is
RULER's for qa: a reference stands in the answer, case ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from ruler_common.manifest_form import UnreadFigures

_UNKNOWN = "i don't know"


def unread(row: Mapping[str, Any]) -> frozenset[str]:
    """Which of the figures count a row; see UnreadFigures."""
    references = [output.lower() for output in row["outputs"]]
    text = row["input"]
    gold = [(span["start"], span["end"]) for span in row["evidence"]]
    answers = {
        "gold_document": "\n".join(text[start:end] for start, end in gold).lower(),
        "question": row["question"].lower(),
        "unknown": _UNKNOWN,
    }
    found = {name for name, said in answers.items() if any(one in said for one in references)}
    if _stands_elsewhere(row, references, gold):
        found.add("elsewhere")
    return frozenset(found)


def _stands_elsewhere(
    row: Mapping[str, Any], references: list[str], gold: Iterable[tuple[int, int]]
) -> bool:
    """Whether a reference stands in a document that is not gold, as a word of its own."""
    at = row["context_start"]
    parts: list[str] = []
    for start, end in [*sorted(gold), (row["context_end"], row["context_end"])]:
        parts.append(row["input"][at:start])
        at = end
    rest = "\n".join(parts).lower()
    return any(_stands_alone(one, rest) for one in references)


def _stands_alone(word: str, text: str) -> bool:
    """Whether a word stands in a text with no letter, digit or _ beside it.

    `find` names the places: a pattern alone is tried at each of the text's characters.
    """
    alone = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    at = text.find(word)
    while at >= 0 and not alone.match(text, at):
        at = text.find(word, at + 1)
    return at >= 0


def counted(rows: Iterable[frozenset[str]]) -> UnreadFigures:
    """In how many rows each holds."""
    figures = dict.fromkeys(UnreadFigures.__annotations__, 0)
    for row in rows:
        for name in row:
            figures[name] += 1
    return cast(UnreadFigures, figures)
