"""Whether two tokenizers are the same, by the ids that they give to the project's embedded texts.

    ids_digest(tokenizer.encode)        # the sha256 of the ids; equal for the same tokenizer

Files of one tokenizer can differ: a GGUF file and a folder of one model do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

_FILES = ("essays.txt", "oneruler/en/book.txt", "oneruler/zh/book.txt")
OTHER_TEXTS = (
    "The grass is green.  Here we go\tthere\n\n\nand back again.\r\n \n1. VAR ABCDE = 12345 ",
    "don't I'LL they'Ve 3.14 1,000,000 http://a.b/c?d=e#f 8f14e45f-ceea-467f-a1f2-6f2d3c9a1b7e",
    "Zażółć gęślą jaźń; 日本語。한국어 العربية हिन्दी தமிழ் Ελληνικά русский ไทย 🙂👩‍👧 e\u0301 ½ Ⅷ",
    "on \xa017 and\u200b 2\u00b2 of \u0664\u0662; x \u3000 y",
)
"""Texts to which tokenizers with the same vocabulary may still give different ids."""


def ids_digest(encode: Callable[[str], Sequence[int]]) -> str:
    """Return the sha256 of the ids of the embedded texts, in English, Chinese and other scripts."""
    ids: list[int] = []
    for text in _texts():
        ids += encode(text)
    return hashlib.sha256(" ".join(map(str, ids)).encode()).hexdigest()


@cache
def _texts() -> tuple[str, ...]:
    """Return the texts, 117,000 characters."""
    folder = files("ruler_builder") / "embedded"
    embedded = [(folder / name).read_text(encoding="utf-8") for name in _FILES]
    return (*embedded, *OTHER_TEXTS)
