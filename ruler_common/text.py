r"""Make text from models and files safe to show on a terminal, in Markdown or on a page.

    plain("\x1b[31mred")            # "\\x1b[31mred", for a terminal
    visible("\x1b[31mred")          # "␛[31mred", for a page
    visible("a\u202eb")             # "a⟨U+202E⟩b"
    number_of(1, "row")             # "1 row"
    shortened("word " * 1000, 20)   # "word word word … (5,000 characters)"

Nothing in what they return can do anything but be read.
"""

from __future__ import annotations

import re

_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
_TURNING = r"\u202a-\u202e\u2066-\u2069"
_OBEYED = re.compile(rf"[{_CONTROL}{_TURNING}\u061c\u200e\u200f]")
_UNSEEN = re.compile(rf"[{_CONTROL}{_TURNING}]")
_MARKUP = re.compile(
    r"[\\`*~|<&]|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^(?:#|>|[-+](?= ))"
)
_PASSWORD = re.compile(r"(?<=://)[^/\s@]*@")


def plain(text: object) -> str:
    """Return a text as a terminal is to show it, line by line.

    Signs that it would obey are written out (colours, the direction of writing, halves of signs).
    """
    return _OBEYED.sub(lambda match: _escaped(match[0]), str(text))


def printable(text: str) -> str:
    """Return a text in one line, with unprintable characters written out."""
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def number_of(count: int, noun: str) -> str:
    """Return `1 row`, or `1,200 rows`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def one_line(error: object, max_chars: int = 300) -> str:
    """Return the text of an error, in one short line without its full stop."""
    return " ".join(str(error).split())[:max_chars].rstrip(".")


def markdown_text(text: object) -> str:
    """Return a text for a line or table cell of Markdown, its own markup escaped.

    White space is folded.
    """
    return _MARKUP.sub(r"\\\g<0>", plain(" ".join(str(text).split())))


def without_passwords(text: object) -> str:
    """Return a text without the user name and password of any address in it."""
    return _PASSWORD.sub("", str(text))


def visible(text: str) -> str:
    """Return the text with every character shown; tabs and line ends stay.

    Control characters become the pictures of Unicode's own block, characters that turn the
    direction of the text after them their code, and half characters the replacement character.
    """
    return _UNSEEN.sub(_picture, text.replace("\r\n", "\n").replace("\r", "\n"))


def shortened(text: str, max_chars: int) -> str:
    """Return a visible text of at most about `max_chars` characters; the rest is counted."""
    if len(text) <= max_chars:
        return visible(text)
    return f"{visible(text[:max_chars])} … ({len(text):,} characters)"


def _escaped(char: str) -> str:
    return repr(char)[1:-1]


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if re.match(f"[{_TURNING}]", match[0]):
        return f"⟨U+{code:04X}⟩"
    return "\u2421" if code == 0x7F else "\ufffd"
