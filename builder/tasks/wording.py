r"""The text around a context: a prompt template parted at {context}, and filled.

    frame = frame_of("Read this.\n{context}\n{question}", question, prefix)
    frame.head, frame.tail          # "Read this.\n", "\nWhat are …"

It imports nothing that builds rows, so that the laws read a prompt by the same rule.
"""

from __future__ import annotations

from typing import NamedTuple

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


def frame_of(template: str, question: str, prefix: str, **names: str) -> Frame:
    """The frame of a template whose other placeholders are `question` and `names`."""
    head, tail = split_at_context(template)
    return Frame(head.format(**names), tail.format(question=question, **names), prefix, question)
