r"""RULER's needles in a haystack (arXiv:2404.06654, Table 7).

…One of the special magic numbers for apt-fox is: 1234567. …
What is the special magic number for apt-fox mentioned in the provided text?    -> "1234567"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ruler_eval.families.answer_text import find_whole, loops, says_nothing
from ruler_eval.families.family import Description, Family
from ruler_eval.families.given_answer import GivenAnswer, candidates
from ruler_score import ruler_score as rules_of
from ruler_score.language_text import normalize

_QUESTION = re.compile(
    r"\nWhat (?:is|are all) the special magic \w+ for (?P<query>[^\n]+) "
    r"mentioned in the provided text\?$"
)
_ASKED = re.compile(r"special magic \w+ for (?P<query>.+?) mentioned in the provided text")
_SHORT = {"words": "W", "numbers": "N", "uuids": "U"}
_BEGINNING = 20  # characters of a needle, before its key


def solve(text: str) -> str | None:
    """The values of every key that is asked for."""
    if (match := _QUESTION.search(text)) is None:
        return None
    values = []
    for key in _keys(match["query"]):
        needle = rf"special magic \w+ for {re.escape(key)} is: (.+?)\.(?=\s|$)"
        values += re.findall(needle, text[: match.start()])
    return ", ".join(values)


def _keys(query: str) -> list[str]:
    """The keys that a question names."""
    return re.split(r",? and |, ", query)


def asked_key(answer: GivenAnswer) -> bool:
    """The UUID that the question names instead of its value."""
    if not answer.wants_uuids or answer.found or not answer.asked:
        return False
    copies = candidates(answer)
    return bool(answer.asked.intersection(answer.items) and not copies) or any(
        text[-12:] == key[-12:] or text[:8] == key[:8] for text in copies for key in answer.asked
    )


def none_and_another(answer: GivenAnswer) -> bool:
    """Says that the key that is asked for is not there, and gives the value of another."""
    asked = _ASKED.search(answer.question)
    denial, *rest = re.split(r"\. |\n", answer.text)
    if answer.found or asked is None or not says_nothing(denial) or loops(". ".join(rest)):
        return False
    said = [sentence for sentence in rest if not says_nothing(sentence)]
    return not any(key in sentence for key in _keys(asked["query"]) for sentence in said)


def other_needle(answer: GivenAnswer) -> float | None:
    """How near in depth the nearest value of another needle stood to the gold, if it is one's."""
    row, gaps = answer.row, []
    gold = [evidence for evidence in row["evidence"] if evidence["answer"]]
    spans = [evidence for evidence in row["evidence"] if not evidence["answer"]]
    others = [normalize(row["input"][span["start"] : span["end"]]) for span in spans]
    width = max(1, row["context_end"] - row["context_start"])
    needle = row["input"][gold[0]["start"] : gold[0]["end"]][:_BEGINNING] if gold else None
    for value in answer.wrong:
        if (found := find_whole(value, answer.folded)) < 0:
            continue  # nowhere, or only part of a longer value
        place = found + row["context_start"]
        line = row["input"].rfind("\n", 0, place) + 1
        held = any(find_whole(value, text) >= 0 for text in others)
        if held or (needle is not None and row["input"].startswith(needle, line)):
            at = (place - row["context_start"]) / width
            gaps.append(min((abs(at - span["depth"]) for span in gold), default=0.0))
    return min(gaps, default=None)


def _described(params: Mapping[str, Any]) -> Description:
    """Types as W-N; one haystack, where a haystack full of needles is a number of keys."""
    full = params["haystack"] == "needles"
    queries = params["queries"]
    return {
        "needle types": f"{_SHORT[params['key_type']]}-{_SHORT[params['value_type']]}",
        "haystack": "essay" if full else params["haystack"],
        "keys": "full" if full else str(params["keys"] - queries + 1),
        "values": str(params["values"]),
        "queries": str(queries),
    }


FAMILY = Family(
    rule="niah_single_1",
    tasks=tuple(task for task in rules_of.RULER_TASKS if task.startswith("niah")),
    solve=solve,
    kinds={"asked_key": asked_key, "says_none": none_and_another},
    distance=other_needle,
    describe=_described,
    before_context="afterwards.",
    after_context="What ",
    evidence=re.compile(r"One of the special magic \w+ for [^\n]{1,120}? is: ([\w-]+)\."),
)
