"""What a stranger may write: values of wrong kinds, names that lead elsewhere, damaged files.

changes(random.Random("any"))                                   # some changes of a JSON document
changed({"a": [1, 2]}, [Change(way=64, deed="replace", value=None, pick=0)])   # {"a": [1, None]}
damaged(b"...", ("flip", 17, b"x"))                                            # a file's bytes
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any, Literal

_DEEP = "@deep@"
_NESTED = "[" * 20_000 + "]" * 20_000
NAMES = (
    *("", ".", "..", "../x", "../../../x", "/etc/x", "/tmp/x", "C:\\x", "a/b", "a\\b", "con"),
    *("x\x00y", "x\ny", "\x1b[31mred", "[/x]", "[red]x", "x[1]", "*", "?", "é", "\u202excod"),
    *("\ud800", "{x}", "%s", "|a|b|", "<b>", "vt_4k", "vt", "NaN", "1e999", "x" * 300, " "),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 3, 2**31, 2**63, 10**400, 0.5, -0.0, 1e308),
    *(float("nan"), float("inf"), float("-inf"), [], {}, [None], [[]], [1, "a"], {"a": None}),
    *({"": {}}, {"on": 1}, [{"index": 0}], "0", "null", "2026-01-01", _DEEP, *NAMES),
)
LIKE: dict[type, tuple[Any, ...]] = {
    str: (*NAMES, "0", "1.0.0", "4k", "8k", "tekken", "en", "pl", "niah", "question_answering"),
    int: (0, -1, 1, 2, 3, 4096, 2**31, 2**63, 10**400),
    float: (0.0, -1.0, 0.5, 1e308, 101.0),
    bool: (True, False),
    list: ([], ["x"], [0], [0, 0, 0]),
    dict: ({}, {"x": 1}),
    type(None): (0, "x", [], {}),
}
"""Values of the right kind, by kind."""
Deed = Literal["like", "replace", "delete", "insert", "list", "copy"]


@dataclass(frozen=True)
class Change:
    """A change of a JSON document at a place: the number is a way down to it."""

    way: int
    deed: Deed
    value: Any
    pick: int
    """Which of the values of the same kind."""


_DEEDS: list[Deed] = [*["like"] * 6, "replace", "replace", "delete", "insert", "list", "copy"]
_WAYS = (6, 12, 18, 24, 36)
"""Bits of a way down: a step takes 6, and a way that is used up ends."""


def changes(rng: random.Random) -> list[Change]:
    """From one to three changes of a document."""
    return [
        Change(
            way=rng.getrandbits(rng.choice(_WAYS)),
            deed=rng.choice(_DEEDS),
            value=rng.choice(VALUES),
            pick=rng.randint(0, 60),
        )
        for _ in range(rng.randint(1, 3))
    ]


def changed(document: Any, several: list[Change], within: str | None = None) -> Any:
    """A JSON document after some changes, all in its field `within` if one is given."""
    for one in several:
        if within is None:
            document = _apply(document, one, one.way)
        else:
            document = {**document, within: _apply(document[within], one, one.way)}
    return document


def written(document: Any) -> str:
    """The text of a JSON document."""
    return json.dumps(document).replace(f'"{_DEEP}"', _NESTED)


def _apply(here: Any, one: Change, way: int) -> Any:
    """A copy with the change in it, of which the rest is the old one's."""
    if not isinstance(here, dict | list) or not here:
        return one.value
    keys = list(here) if isinstance(here, dict) else range(len(here))
    key = keys[way % 64 % len(keys)]
    new = here.copy()
    part, rest = here[key], way // 64
    if isinstance(part, dict | list) and part and rest % 8:
        new[key] = _apply(part, one, rest)
    elif one.deed == "like":
        values = LIKE[type(part)]
        new[key] = values[one.pick % len(values)]
    elif one.deed == "replace":
        new[key] = one.value
    elif one.deed == "delete":
        del new[key]
    elif one.deed == "list":
        new[key] = [part]
    elif isinstance(new, list):
        new.append(part if one.deed == "copy" else one.value)
    else:
        name = one.value if isinstance(one.value, str) else str(one.value)[:300]
        new[name] = part if one.deed == "copy" else one.value
    return new


Damage = tuple[str, int, bytes]
_KINDS = [*["none"] * 24, "truncate", "flip", "insert", "bom", "utf-16", "huge"]


def damage(rng: random.Random) -> Damage:
    """What happens to the bytes of a file: mostly nothing."""
    return rng.choice(_KINDS), rng.getrandbits(20), rng.randbytes(rng.randint(1, 2))


def damaged(data: bytes, what: Damage) -> bytes:
    """A file's bytes after something happened to them."""
    kind, at, more = what
    at %= len(data) + 1
    if kind == "truncate":
        return data[:at]
    if kind == "flip":
        return data[:at] + more + data[at + len(more) :]
    if kind == "insert":
        return data[:at] + more + data[at:]
    if kind == "bom":
        return b"\xef\xbb\xbf" + data
    if kind == "utf-16":
        return data.decode("utf-8", "replace").encode("utf-16", "replace")
    if kind == "huge":
        return data.replace(b": 1", b": 1e999", 1 + at % 9)
    return data
