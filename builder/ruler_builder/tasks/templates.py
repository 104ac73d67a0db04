r"""The text around a context: a prompt template parted at {context}, and filled.

    frame = frame_of("Read this.\n{context}\n{question}", question, prefix)
    frame.head, frame.tail          # "Read this.\n", "\nWhat are …"

It imports nothing that makes rows, so that audits read a prompt by the same rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any, NamedTuple

from ruler_common.errors import RulerError

CONTEXT = "{context}"


class Frame(NamedTuple):
    """The text before and after a context, the answer prefix, and the question by itself."""

    head: str
    tail: str
    prefix: str
    question: str


def split_at_context(template: str) -> tuple[str, str]:
    """Return what a template has before its context, and after it."""
    head, _, tail = template.partition(CONTEXT)
    return head, tail


def frame_of(template: str, question: str, prefix: str, **names: Any) -> Frame:
    """Return the frame of a template whose other placeholders are `question` and `names`."""
    head, tail = split_at_context(template)
    return Frame(head.format(**names), tail.format(question=question, **names), prefix, question)


def filled(templates: Mapping[str, Any], **names: Any) -> Frame:
    """Return the frame of a family's `input`, `question` and `prefix`, with these `names`."""
    question, prefix = templates["question"].format(**names), templates["prefix"].format(**names)
    return frame_of(templates["input"], question, prefix, **names)


def wording_of(templates: Mapping[str, Any]) -> str:
    """All that a family's templates `input`, `question` and `prefix` say, their names unfilled."""
    return "\n".join(str(templates[part]) for part in ("input", "question", "prefix"))


def reworded(family: str, usual: Mapping[str, Any], texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the templates of a family, some of them replaced by the `texts` of a suite.

    A text has the placeholders of the template that it replaces, so that a row can be read back.
    Raises RulerError for any other.
    """
    for key, text in texts.items():
        name, replaced = f"families.{family}.{key}", usual.get(key)
        if not isinstance(replaced, str) or not isinstance(text, str):
            templates = ", ".join(name for name, part in usual.items() if isinstance(part, str))
            raise RulerError(
                f"'{name}' cannot be reworded: give a text for one of {templates or 'none'}."
            )
        needed, names = _placeholders(replaced), _placeholders(text)
        if sorted(names) != sorted(needed):
            raise RulerError(
                f"The template '{name}' must have {', '.join(needed) or 'no placeholder'}, "
                f"each as often as in ruler_builder/tasks, not {', '.join(names) or 'none'}."
            )
        if CONTEXT in names and names.index("{question}") < names.index(CONTEXT):
            raise RulerError(f"The template '{name}' must have {{question}} after {CONTEXT}.")
    return {**usual, **texts}


def _placeholders(template: str) -> list[str]:
    """Return what a template has in braces, in its order; RulerError for an open brace."""
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise RulerError(f"The template {template!r} is malformed: {error}.") from None
    placeholders = []
    for _, name, form, conversion in parts:
        if name is not None:
            form = f":{form}" if form else ""
            placeholders.append(f"{{{name}{'!' if conversion else ''}{conversion or ''}{form}}}")
    return placeholders
