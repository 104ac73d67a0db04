r"""Answers, questions and model names as plain text that can do nothing but be read.

    visible("\x1b[31mred")          # "␛[31mred"
    visible("a\u202eb")             # "a⟨U+202E⟩b"
    shortened("word " * 1000, 20)   # "word word word … (5,000 characters)"

Control characters become the pictures of Unicode's own block, characters that turn the direction of
the text after them become their code, and half characters the replacement character.
"""

from __future__ import annotations

import re

_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_PICTURES = 0x2400
_DELETE = 0x7F


def visible(text: str) -> str:
    """The text with every character shown; tabs and line ends stay."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _CONTROL.sub(_shown, text)
    return _TURNING.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def shortened(text: str, most: int) -> str:
    """A visible text of at most about `most` characters; what was left out is said."""
    if len(text) <= most:
        return visible(text)
    return f"{visible(text[:most])} … ({len(text):,} characters)"


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    return "\u2421" if code == _DELETE else "\ufffd"
