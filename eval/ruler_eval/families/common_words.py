r"""RULER's common words, cwe (arXiv:2404.06654, Table 9): which ten stand in a list most often.

Below is a numbered list of words. … 1. apple 2. pear 3. apple …
Question: What are the 10 most common words in the above list?    -> "1. apple 2. pear …"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ruler_eval.families.family import Description, Family
from ruler_eval.families.given_answer import GivenAnswer
from ruler_eval.families.word_lists import (
    frequent_words,
    from_example,
    from_start,
    most_common,
    numbered,
    offered,
)

_HEAD = "Below is a numbered list of words."
_QUESTION = re.compile(r"\nQuestion: What are the (\d+) most common words in the above list\?$")
_LEAST_BEGINNING, _MOST = 4, 0.6
"""Letters, and the share of a word's, that a beginning of it has."""


def solve(text: str) -> str | None:
    """The commonest words, numbered."""
    if (match := _QUESTION.search(text)) is None:
        return None
    words = numbered(text[text.rindex(_HEAD) + len(_HEAD) : match.start()])
    common = most_common(words, int(match[1]))
    return " ".join(f"{i}. {word}" for i, word in enumerate(common, 1))


def broken_off(answer: GivenAnswer) -> bool:
    """No word of the list, but the beginning of a right one, or a right one with a space in it."""
    offered_words = [word for word in answer.wrong if word not in answer.words]
    lacking = answer.wanted - set(answer.items)
    return any(
        word.replace(" ", "") == right
        or (right.startswith(word) and len(word) >= max(_LEAST_BEGINNING, _MOST * len(right)))
        for word in offered_words
        for right in lacking
    )


def _described(params: Mapping[str, Any]) -> Description:
    """How many common words there are, and their times beside the others'."""
    times = ("freq_", "short_freq_")
    others = {name: str(v) for name, v in params.items() if not name.startswith(times)}
    return {**others, "times": f"{params['freq_cw']}:{params['freq_ucw']}"}


FAMILY = Family(
    rule="cwe",
    tasks=("cwe",),
    solve=solve,
    items=lambda raw, text, wanted: offered(raw),
    is_list=True,
    kinds={
        "copied_example": from_example,
        "copied_start": from_start,
        "garbled": broken_off,
        "frequent_word": frequent_words,
    },
    describe=_described,
    before_context="Memorize the ones that appear most often.",
)
