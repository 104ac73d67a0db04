"""Keys and passwords: refused where they would be written, hidden in every text that is."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import quote, urlsplit

from ruler_common.errors import RulerError

VARIABLES = ("OPENAI_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
"""The environment variables that hold keys."""
SHORTEST = 8
"""Characters of a key that is hidden; a shorter one stands for none (`EMPTY`, `x`)."""
_WORDS = {
    *("apikey", "secret", "password", "passwd", "auth", "authorization"),
    *("bearer", "header", "headers", "cookie", "cookies", "credential", "credentials"),
}
_MARKS = ("bos", "eos", "pad", "unk", "sep", "mask")  # tokens of a text, as in eos_token


def hide(text: str) -> str:
    """A text without the keys of this process, to be called before the text is shortened."""
    for key in (os.environ.get(name, "").strip() for name in VARIABLES):
        if len(key) >= SHORTEST and key != "EMPTY":
            for form in _forms(key):
                text = text.replace(form, "***")
    return text


@cache
def _forms(key: str) -> tuple[str, ...]:
    """How a text can hold a key: as it is, backwards, in base64, in hexadecimal, escaped."""
    data = key.encode()
    found = [key, key[::-1], data.hex(), data.hex().upper(), quote(key, safe="")]
    found += ["".join(form % byte for byte in data) for form in _ESCAPES]
    for before in range(3):  # where the key begins within three bytes; its neighbours are unknown
        coded = base64.b64encode(bytes(before) + data)
        known = coded[(before * 8 + 5) // 6 : (before + len(data)) * 8 // 6].decode()
        found += [known, known.translate(str.maketrans("+/", "-_"))]
    return tuple(dict.fromkeys(found))


_ESCAPES = ("%%%02X", "%%%02x", "\\u%04x", "\\x%02x", "&#%d;")


def safe(text: str, most: int | None = None) -> str:
    """A text from outside as it may be kept and shown: no key in it, no half of a surrogate pair.

    `most` bounds its characters. Whatever a backend gives comes into a record through this alone.
    """
    return hide(text).encode("utf-8", "replace").decode("utf-8")[:most]


def check_key(variable: str) -> None:
    """Refuse a key that no request can carry; the sentence does not show it."""
    key = os.environ.get(variable, "")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise RulerError(f"{variable} holds a character that no key has: a line break, a letter é?")


def check_address(url: str | None) -> None:
    """Refuse a base URL that is none, or that holds a password; the sentence does not show it."""
    if url is None:
        return
    if "@" in url:
        raise RulerError("--base-url holds a user name: a secret belongs in OPENAI_API_KEY.")
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # [::1, port 99999
        sound = False
    if not sound or re.search(r"[\x00-\x20\x7f]|[^\x00-\x7f]", url):
        raise RulerError("--base-url takes http://HOST:PORT/v1 or https://…, and nothing else.")


def check_argument(name: str, value: Any) -> None:
    """Refuse an argument of a backend that looks like a secret: run.json keeps every argument."""
    for inner in _names(name, value):
        words = re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1_\2", inner).lower())
        marks_text = words[-2:-1] and words[-2] in _MARKS
        if _WORDS & {*words} or (words[-1:] in (["key"], ["token"]) and not marks_text):
            raise RulerError(
                f"'{inner}' looks like a secret, and run.json keeps every argument: "
                "set OPENAI_API_KEY or HF_TOKEN in the environment instead."
            )
    if hide(str(value)) != str(value):
        raise RulerError(f"The value of '{name}' is a key of yours: run.json keeps every argument.")


def _names(name: str, value: Any) -> Iterator[str]:
    """The name of an argument and all names within its value."""
    yield name
    if isinstance(value, Mapping):
        for inner, part in value.items():
            yield from _names(str(inner), part)
    elif isinstance(value, list):
        for part in value:
            yield from _names(name, part)
