"""What the families that ask for words of a list share: reading the list, and copies of it.

numbered("1. apple 2. pear 3. apple")                        # ["apple", "pear", "apple"]
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from ruler_eval.families.answer_text import normalize_long, words_of
from ruler_eval.families.given_answer import GivenAnswer
from ruler_score.language_text import listed_items

_NUMBERED = re.compile(r"(?:^|\s)\d+\.\s")
_NUMBER = re.compile(r"(?:^|(?<=\s))(\d{1,3})[.)]\s")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s", re.MULTILINE)
_LEAD_IN = re.compile(r"^[^\n]*\w[^\n]*:\s*\n", re.MULTILINE)
_REMARK = (  # "(appears 30 times)", "(appears" cut off, "(tie with the first)"
    r"\s*[(\[][^()\[\]\n]{0,40}\d[^()\[\]\n]{0,40}[)\]]|\s*\((?:appear|occur)[^()\n]*$"
    r"|(?<=\S)[ \t]*\([^()\n]{3,}\)[ \t]*$"
)
_COUNT = (  # ": 30", "- 30 times", "x3"
    r"(?<=[^\W\d])[*_`\"']*(?:\s*[:=–—-]\s*|\s+)(?:[x×]\s?\d+|\b\d+\b)(?:\s*(?:times|occurrences?))?"
    r"(?=\s*(?:[\n,;]|\s\d{1,3}[.)]\s|$))"
)
_COUNTS = re.compile(_COUNT, re.IGNORECASE | re.MULTILINE)
_REMARKS_AND_COUNTS = re.compile(f"{_REMARK}|{_COUNT}", re.IGNORECASE | re.MULTILINE)
_LEAST_ITEMS = 4  # that no honest answer has in the list's own order by chance


def numbered(context: str) -> list[str]:
    """The words of a numbered list `1. word 2. word …`; a word may hold spaces."""
    return [" ".join(word.split()) for word in _NUMBERED.split(context)[1:] if word.strip()]


def most_common(words: list[str], count: int) -> list[str]:
    """The `count` commonest words, the commonest first."""
    return [word for word, _ in Counter(words).most_common(count)]


def offered(text: str) -> list[str]:
    """The items of an answer's first list: no counts, and no list that is begun after it."""
    remarks = "(" in text or "[" in text  # most have none: be quick
    return listed_items((_REMARKS_AND_COUNTS if remarks else _COUNTS).sub("", _first_list(text)))


def _first_list(text: str) -> str:
    """A text up to where its numbers begin again at 1, or a lead-in to another list stands."""
    highest = 0
    for number in _NUMBER.finditer(text):
        if int(number[1]) == 1 and highest > 1:
            return text[: number.start()]
        highest = max(highest, int(number[1]))
    bullets = [bullet.start() for bullet in _BULLET.finditer(text)]
    if len(bullets) > 1 and (lead := _LEAD_IN.search(text, bullets[1])):
        return text[: lead.start()]
    return text


def from_example(answer: GivenAnswer) -> bool:
    """Half of the items or more stand in the example and not in the context."""
    if not answer.items:
        return False
    example = normalize_long(answer.row["input"][: answer.row["context_start"]])
    shown = words_of(example) - answer.words
    return 2 * sum(item in shown for item in answer.items) >= len(answer.items)


def from_start(answer: GivenAnswer) -> bool:
    """The items are the first of the numbered list."""
    if len(answer.items) < _LEAST_ITEMS:
        return False
    return tuple(answer.items) == _listed(answer.context[:2000])[: len(answer.items)]


@lru_cache(maxsize=4)  # several runs answer one row
def _listed(text: str) -> tuple[str, ...]:
    return tuple(listed_items(text))


def frequent_words(answer: GivenAnswer) -> bool:
    """Two items or more, and half of the wrong ones, are function words and not in the list."""
    words = set(answer.function_words) - answer.words
    hits = sum(item in words for item in answer.wrong)
    return hits >= 2 and 2 * hits >= len(answer.wrong)
