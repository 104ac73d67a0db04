"""RULER's rules (arXiv:2404.06654, section 4): the prediction contains the references.

whole_word_match("It is not known.", ["no"])      # 0.0
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .language_text import holds, listed_items, normalize, numbers

_CONTROL = re.compile(r"[\x00-\x1f]")

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def postprocess(prediction: str) -> str:
    """Strip, make control characters newlines, strip again, as the reference code does."""
    return _CONTROL.sub("\n", prediction.strip()).strip()


def whole_word_match(prediction: str, references: Sequence[str]) -> float:
    """Return 1 if the prediction has any of the references as whole words: "no" is not in "not"."""
    text = normalize(prediction)
    return float(any(holds(text, normalize(reference).strip()) for reference in references))


def nothing_else(prediction: str, references: Sequence[str], task: str) -> bool:
    """Return whether the prediction has no other item of the references' kind (`strict`).

    The kinds are numbers (of two digits or more), UUIDs, variable names of capitals, and for cwe
    and fwe the items of the list. For others, such as answers to questions, it is always true.
    """
    wanted = {*map(normalize, references)}
    if all(map(str.isdecimal, references)):
        return numbers(normalize(prediction)) <= wanted
    if all(_UUID.fullmatch(reference) for reference in wanted):
        return set(_UUID.findall(normalize(prediction))) <= wanted
    if task == "vt":
        size = max(map(len, references))
        names = re.findall(rf"\b[A-Z]{{{size}}}\b", prediction)
        return {normalize(name) for name in names} <= wanted
    if task in ("cwe", "fwe"):
        return set(listed_items(prediction)) <= wanted
    return True
