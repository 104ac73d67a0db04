"""RULER's frequent words, fwe (arXiv:2404.06654, Table 9): the commonest of a coded text.

… Find the three most frequently appeared coded words. …… abcdef ... ghijkl abcdef ……
Question: Do not provide any explanation. Please ignore the dots '....'. …
-> "abcdef, ghijkl, mnopqr"
"""

from __future__ import annotations

import re

from ruler_eval.families.answer_text import resembles
from ruler_eval.families.family import Family
from ruler_eval.families.given_answer import GivenAnswer
from ruler_eval.families.word_lists import frequent_words, most_common, offered

_HEAD = re.compile(r"Find the (?P<count>\w+) most frequently appeared coded words\.")
_QUESTION = "\nQuestion: Do not provide any explanation. Please ignore the dots"
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def solve(text: str) -> str | None:
    """The commonest words that are no dots."""
    match = _HEAD.search(text)
    if match is None or match["count"] not in _NUMBERS or _QUESTION not in text:
        return None
    coded = text[match.end() : text.rindex(_QUESTION)].split()
    words = [word for word in coded if word.strip(".")]
    return ", ".join(most_common(words, _NUMBERS.index(match["count"])))


def noise_word(answer: GivenAnswer) -> bool:
    """The dots that stand between the coded words."""
    return "..." in answer.items


def damaged_word(answer: GivenAnswer) -> bool:
    """No word of the text, but much like one of the right ones."""
    offered_words = [word for word in answer.wrong if word not in answer.words]
    return any(resembles(word, right) for word in offered_words for right in answer.wanted)


FAMILY = Family(
    rule="fwe",
    tasks=("fwe",),
    solve=solve,
    items=lambda raw, text, wanted: offered(raw),
    is_list=True,
    kinds={"noise_word": noise_word, "garbled": damaged_word, "frequent_word": frequent_words},
    before_context="most frequently appeared coded words.",
)
