"""Keys and passwords: refused where they would be written, hidden in every text that is."""

from __future__ import annotations

import base64
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from html.entities import html5
from typing import Any
from urllib.parse import urlsplit

from ruler_common.errors import RulerError

VARIABLES = ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
"""The environment variables that hold keys."""
HEADERS = "OPENAI_CUSTOM_HEADERS"
"""The variable that holds further headers of every request, `NAME: VALUE` in each line."""
SHORTEST = 8
"""Characters of a key that is hidden; a shorter one stands for none (`EMPTY`, `x`)."""
LONG = 16
"""Characters from which a key, or a form of it, is no word: found in any case and with gaps."""
DEEPEST = 5
"""How often a text may be escaped one way within another."""
_WORDS = {
    *("apikey", "secret", "password", "passwd", "auth", "authorization"),
    *("bearer", "header", "headers", "cookie", "cookies", "credential", "credentials"),
}
_MARKS = ("bos", "eos", "pad", "unk", "sep", "mask")  # tokens of a text, as in eos_token
_GAP = r"[^!-~]*"  # what is seen between the signs of a key without being one: spaces, line ends
_HEADER = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)  # a token of RFC 9110
_ESCAPE = re.compile(
    r"(?:%(?:u00)?|(?<!\\)\\+(?:U000000|u00|x|u\{0{0,9})|&\#x0{0,9})(?P<hex>[0-9a-f]{2})[;}]?"
    r"|(?<!\\)\\+(?:(?P<octal>[01]?[0-7]{2})|(?P<sign>[^\w\s\\]))"
    r"|&\#0{0,9}(?P<decimal>\d{2,3});?|&(?P<name>[a-z]{1,8};)",
    re.IGNORECASE,
)


def safe(text: str, most: int | None = None) -> str:
    """A text from outside as it may be kept and shown: no key in it, no half of a surrogate pair.

    `most` bounds its characters. Whatever a server, a model or an engine says comes into a record,
    a log or a terminal through this alone.
    """
    return hide(text).encode("utf-8", "replace").decode("utf-8")[:most]


def hide(text: str) -> str:
    """A text without the keys of this process; to be called before the text is shortened.

    A key is found as it is, backwards, in hexadecimal, base32 and base64, and escaped in the ways
    of JSON, URLs and HTML: a text in which one was escaped comes back without escapes.
    """
    shown = opened = text
    for _ in range(DEEPEST):
        without = _without_keys(opened)
        if without != opened:
            shown = opened = without
        without = _ESCAPE.sub(_unescaped, unicodedata.normalize("NFKC", opened))
        if without == opened:
            break
        opened = without
    return shown


def _without_keys(text: str) -> str:
    tight = re.sub(r"[^!-~]+", "", text).lower()
    for key in _keys():
        for form in _forms(key):
            if len(form) < LONG or not form.isascii():
                text = text.replace(form, "***")
            elif form.lower() in tight:
                signs = _GAP.join(map(re.escape, form))
                text = re.sub(signs, "***", text, flags=re.IGNORECASE)
    return text


def _keys() -> Iterator[str]:
    """The keys in this process's environment."""
    found = [os.environ.get(name, "") for name in VARIABLES]
    for line in os.environ.get(HEADERS, "").splitlines():
        name, _, value = line.partition(":")
        if _names_a_secret(name):
            found.append(value.strip().removeprefix("Bearer "))
    for key in sorted({key.strip() for key in found}, key=len, reverse=True):
        if len(key) >= SHORTEST:  # the longest first: one may be the beginning of another
            yield key


@cache
def _forms(key: str) -> tuple[str, ...]:
    """How a text can hold a key, but for escapes."""
    found = [key]
    for data in (key.encode(), key.encode()[::-1]):
        found += [data.hex(), data.hex(":"), ",".join(map(str, data))]
        # its neighbours are unknown: where it begins within the bytes that are encoded together
        for encode, size, bits in ((base64.b64encode, 3, 6), (base64.b32encode, 5, 5)):
            for before in range(size):
                coded = encode(bytes(before) + data).decode()
                known = coded[-(-before * 8 // bits) : (before + len(data)) * 8 // bits]
                found += [known, known.translate(str.maketrans("+/", "-_"))]
    return tuple(dict.fromkeys([*found, *(form[::-1] for form in found)]))


def _unescaped(escape: re.Match[str]) -> str:
    """The character that an escape stands for."""
    for base, digits in ((16, escape["hex"]), (10, escape["decimal"]), (8, escape["octal"])):
        if digits:
            return chr(int(digits, base))
    return escape["sign"] or html5.get(escape["name"], escape[0])


def check_key(variable: str) -> None:
    """Refuse a key that no request can carry; the sentence does not show it."""
    key = os.environ.get(variable, "")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise RulerError(f"{variable} holds a character that no key has: a line break, a letter é?")


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse a header of the environment that no request can carry, by its name."""
    for name, value in headers.items():
        sound = value.isascii() and value.replace("\t", " ").isprintable()
        if not (sound and value == value.strip() and _HEADER.fullmatch(name)):
            raise RulerError(
                f"No request can be made with the header '{safe(name, 40)}': a name takes letters, "
                f"digits and hyphens, a value one line of ASCII. Correct {HEADERS}, OPENAI_ORG_ID "
                "or OPENAI_PROJECT_ID."
            )


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
    if not sound or re.search(r"[^!-~]|[?#]", url):
        raise RulerError("--base-url takes http://HOST:PORT/v1 or https://…, and nothing else.")


def check_argument(name: str, value: Any) -> None:
    """Refuse an argument of a backend that looks like a secret: run.json keeps every argument."""
    for inner in _names(name, value):
        if _names_a_secret(inner):
            raise RulerError(
                f"'{inner}' looks like a secret, and run.json keeps every argument: "
                "set OPENAI_API_KEY or HF_TOKEN in the environment instead."
            )
    if hide(str(value)) != str(value):
        raise RulerError(f"The value of '{name}' is a key of yours: run.json keeps every argument.")


def _names_a_secret(name: str) -> bool:
    words = re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1_\2", name).lower())
    marks_text = words[-2:-1] and words[-2] in _MARKS
    return bool(_WORDS & {*words} or (words[-1:] in (["key"], ["token"]) and not marks_text))


def _names(name: str, value: Any) -> Iterator[str]:
    """The name of an argument and all names within its value."""
    yield name
    if isinstance(value, Mapping):
        for inner, part in value.items():
            yield from _names(str(inner), part)
    elif isinstance(value, list):
        for part in value:
            yield from _names(name, part)
