"""The digests of what rows hold, which a manifest lists: a build makes them, the proof compares."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any


def digest_of_question(row: Mapping[str, Any]) -> str:
    """A digest of a row's question, references and gold texts, in hex: 16 characters."""
    gold = sorted(row["input"][span["start"] : span["end"]] for span in row["evidence"])
    found = json.dumps([row["question"], row["outputs"], gold], ensure_ascii=False)
    return hashlib.blake2b(found.encode(), digest_size=8).hexdigest()


def without_needles(
    context: str, gaps: Sequence[tuple[int, int]], separator: str
) -> tuple[str, list[int]]:
    """A context without what stands at `gaps`, and where in the rest each gap was."""
    parts: list[str] = []
    places: list[int] = []
    at = length = 0
    for start, end in [*gaps, (len(context), len(context))]:
        part = context[at:start]
        if start < len(context):
            part = part.removesuffix(separator)
        if at:
            part = part.removeprefix(separator)
        if part:
            parts.append(part)
            length += len(part) + len(separator)
        places.append(length)
        at = end
    return separator.join(parts), places[:-1]


def text_digest(text: str) -> str:
    """The sha256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()
