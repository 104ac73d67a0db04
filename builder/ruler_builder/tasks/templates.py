r"""Prompt templates, filled when a row is made.

frame = fill_templates({"input": "Read this.\n{context}\n{question}", …}, query=key)
frame.head, frame.tail          # "Read this.\n", "\nWhat is …"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

CONTEXT = "{context}"


class Frame(NamedTuple):
    """The text before and after a context, the answer prefix, and the question by itself."""

    head: str
    tail: str
    prefix: str
    question: str


def fill_templates(templates: Mapping[str, Any], **names: Any) -> Frame:
    """Return the frame of a family's `input`, `question` and `prefix`, with these `names`."""
    head, _, tail = templates["input"].partition(CONTEXT)
    question, prefix = templates["question"].format(**names), templates["prefix"].format(**names)
    return Frame(head.format(**names), tail.format(question=question, **names), prefix, question)
