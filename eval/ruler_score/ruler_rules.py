"""RULER's rules (arXiv:2404.06654, section 4): the prediction contains the references.

whole_word_match("It is not known.", ["no"])      # 0.0
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .language_text import has_whole_words, listed_items, normalize, numbers

_CONTROL = re.compile(r"[\x00-\x1f]")

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def postprocess(prediction: str) -> str:
    """Return the text that the reference code scores: stripped, control characters as newlines."""
    return _CONTROL.sub("\n", prediction.strip()).strip()


def whole_word_match(prediction: str, references: Sequence[str]) -> float:
    """Return 1 if the prediction has any of the references as whole words: "no" is not in "not"."""
    text = normalize(prediction)
    words = [normalize(reference).strip() for reference in references]
    return float(any(has_whole_words(text, word) for word in words))


def nothing_else(prediction: str, references: Sequence[str], task: str) -> bool:
    """Return whether the prediction has no other item of the references' kind (`strict`).

    The kinds are numbers of at least two digits, UUIDs, variable names in capitals, and for cwe and
    fwe the items of the list. For other references, such as answers to questions, it is true.
    """
    expected = {normalize(reference) for reference in references}
    if all(reference.isdecimal() for reference in references):
        return numbers(normalize(prediction)) <= expected
    if all(_UUID.fullmatch(reference) for reference in expected):
        return set(_UUID.findall(normalize(prediction))) <= expected
    if task == "vt":
        length = max(len(reference) for reference in references)
        names = re.findall(rf"\b[A-Z]{{{length}}}\b", prediction)
        return {normalize(name) for name in names} <= expected
    if task in ("cwe", "fwe"):
        return listed_items(prediction) <= expected
    return True
