r"""The text around a context: a prompt template parted at {context}, and filled.

    frame = frame_of("Read this.\n{context}\n{question}", question, prefix)
    frame.head, frame.tail          # "Read this.\n", "\nWhat are …"

It imports nothing that makes rows, so that audits read a prompt by the same rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

CONTEXT = "{context}"


class Frame(NamedTuple):
    """What stands before and after a context, the answer prefix, and the question alone."""

    head: str
    tail: str
    prefix: str
    question: str


def split_at_context(template: str) -> tuple[str, str]:
    """What a template has before its context, and after it."""
    head, _, tail = template.partition(CONTEXT)
    return head, tail


def frame_of(template: str, question: str, prefix: str, **names: Any) -> Frame:
    """The frame of a template whose other placeholders are `question` and `names`."""
    head, tail = split_at_context(template)
    return Frame(head.format(**names), tail.format(question=question, **names), prefix, question)


def filled(templates: Mapping[str, Any], **names: Any) -> Frame:
    """The frame of a family's templates `input`, `question` and `prefix` with these `names`."""
    question, prefix = (templates[part].format(**names) for part in ("question", "prefix"))
    return frame_of(templates["input"], question, prefix, **names)


def wording_of(templates: Mapping[str, Any]) -> str:
    """All that a family's templates `input`, `question` and `prefix` say, their names unfilled."""
    return "\n".join(str(templates[part]) for part in ("input", "question", "prefix"))
