"""Labelled sentences: the oracle, whose rule they follow, what a wrong answer is."""

from __future__ import annotations

import re

from ruler_eval.families.family import Family
from ruler_eval.families.given_answer import GivenAnswer

_ASKED = re.compile(r"\AB.*What does the sentence labelled (?P<label>[a-z]{6}) say\?", re.DOTALL)
_LINE = re.compile(r"^(?P<label>[a-z]{6}): (?P<text>.*)\.$", re.MULTILINE)


def solve(text: str) -> str | None:
    """The sentence that is asked for."""
    if (asked := _ASKED.match(text)) is None:
        return None
    return {line["label"]: line["text"] for line in _LINE.finditer(text)}[asked["label"]]


def other_sentence(answer: GivenAnswer) -> float | None:
    """How far in depth a copied sentence stood from the one asked for."""
    place = answer.folded.find(answer.text.strip())
    (gold,) = answer.row["evidence"]
    return None if place < 0 else abs(place / len(answer.context) - gold["depth"])


FAMILY = Family(
    rule="niah_single_1",
    solve=solve,
    distance=other_sentence,
    before_context="labelled sentences.\n",
    after_context="\nWhat does the sentence",
)
