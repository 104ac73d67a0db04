r"""RULER's chains of variables, vt (arXiv:2404.06654, Table 8).

…VAR ABCDE = 12345 … VAR FGHIJ = VAR ABCDE …
Question: Find all variables that are assigned the value 12345 in the text above.
-> "ABCDE FGHIJ"
"""

from __future__ import annotations

import re

from ruler_eval.families.family import Family
from ruler_eval.families.given_answer import GivenAnswer
from ruler_eval.families.word_lists import from_example
from ruler_score.language_text import normalize

_HEAD = "Memorize and track the chain(s) of variable assignment hidden in the following text."
_QUESTION = re.compile(
    r"\nQuestion: Find all variables that are assigned the value (\d+) in the text above\.$"
)
_ASSIGNMENT = re.compile(r"VAR (\w+) = (?:VAR )?(\w+)")
_EXPLANATION = 8  # words that are no names
_CAPITALS = re.compile(r"\b[A-Z]{2,8}\b")


def solve(text: str) -> str | None:
    """The variables of the chain that begins with the value."""
    if (match := _QUESTION.search(text)) is None:
        return None
    holds = {match[1]}
    names = []
    for name, source in _ASSIGNMENT.findall(text[text.rindex(_HEAD) : match.start()]):
        if source in holds:  # a hop comes after what it refers to
            holds.add(name)
            names.append(name)
    return " ".join(names)


def _names(raw: str, text: str, wanted: set[str]) -> list[str]:
    """The names of an answer; of an explanation not the one that it breaks off in."""
    names = [normalize(name) for name in _CAPITALS.findall(raw) if name != "VAR"]
    prose = len(re.findall("[a-z]{2,}", raw)) >= _EXPLANATION
    if prose and names and text.rstrip().endswith(names[-1]):
        last = names[-1]
        if any(name.startswith(last) and name != last for name in wanted):
            return names[:-1]
    return names


def other_chain(answer: GivenAnswer) -> bool:
    """A variable that another chain assigns."""
    assigned = {name.casefold() for name in re.findall(r"VAR ([A-Z]+) =", answer.context)}
    return bool(assigned.intersection(answer.wrong))


FAMILY = Family(
    rule="vt",
    tasks=("vt",),
    solve=solve,
    items=_names,
    kinds={"copied_example": from_example, "other_chain": other_chain},
    before_context="hidden in the following text.",
    evidence=re.compile(r"VAR ([A-Z]+) = (?:VAR [A-Z]+|\d+)"),
)
