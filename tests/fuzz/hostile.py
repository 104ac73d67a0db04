"""What a stranger may write: values of wrong kinds, names that lead elsewhere, damaged files.

change(document, [Change(steps=[3, 1], deed="replace", value=None)])       # a JSON document
damaged(b"...", Damage("flip", 17))                                        # a file's bytes
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

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
    """A change of a JSON document at the place that `steps` lead to."""

    steps: list[int]
    deed: Deed
    value: Any
    pick: int
    """Which of the values of the same kind."""


CHANGES = st.lists(
    st.builds(
        Change,
        steps=st.lists(st.integers(0, 60), min_size=1, max_size=6),
        deed=st.sampled_from(
            [*["like"] * 6, "replace", "replace", "delete", "insert", "list", "copy"]
        ),
        value=st.one_of(
            st.sampled_from(VALUES),
            st.sampled_from(VALUES),
            st.integers(),
            st.floats(),
            st.text(max_size=12),
        ),
        pick=st.integers(0, 60),
    ),
    min_size=1,
    max_size=3,
)


def changed(document: Any, changes: list[Change]) -> str:
    """The text of a JSON document after some changes."""
    found = copy.deepcopy(document)
    for one in changes:
        found = _apply(found, one)
    return json.dumps(found).replace(f'"{_DEEP}"', _NESTED)


def _apply(document: Any, one: Change) -> Any:
    parent: Any = None
    place: Any = None
    here = document
    for step in one.steps:
        if not isinstance(here, dict | list) or not here:
            break
        number = step % len(here)
        parent, place = here, list(here)[number] if isinstance(here, dict) else number
        here = parent[place]
    if parent is None:
        return copy.deepcopy(one.value)
    if one.deed == "like":
        values = LIKE[type(here)]
        parent[place] = values[one.pick % len(values)]
    elif one.deed == "replace":
        parent[place] = one.value
    elif one.deed == "delete":
        del parent[place]
    elif one.deed == "list":
        parent[place] = [here]
    elif isinstance(parent, dict):
        name = one.value if isinstance(one.value, str) else str(one.value)[:300]
        parent[name] = here if one.deed == "copy" else one.value
    else:
        parent.append(here if one.deed == "copy" else one.value)
    return document


DAMAGES = st.tuples(
    st.sampled_from([*["none"] * 24, "cut", "flip", "insert", "bom", "utf-16", "huge"]),
    st.integers(0, 1 << 20),
    st.binary(min_size=1, max_size=4),
)


def damaged(data: bytes, damage: tuple[str, int, bytes]) -> bytes:
    """A file's bytes after something happened to them."""
    kind, at, more = damage
    at %= len(data) + 1
    if kind == "cut":
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
