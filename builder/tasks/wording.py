r"""The text around a context: a prompt template parted at {context}, and filled.

    frame = frame_of("Read this.\n{context}\n{question}", question, prefix)
    frame.head, frame.tail          # "Read this.\n", "\nWhat are …"

    standard_suite("ruler").tasks["vt"]["hops"]     # 4

It imports nothing that builds rows, so that the laws read a prompt by the same rule, and a card
tells a benchmark's own tasks from a user's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from builder.common.toml import read_toml

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


class StandardSuite(NamedTuple):
    """A dataset's own suite: the wording of each family, each task's family and parameters."""

    families: dict[str, dict[str, Any]]
    tasks: dict[str, dict[str, Any]]


@cache
def standard_suite(dataset: str) -> StandardSuite:
    """The suite of `ruler` or `oneruler`, with every parameter, as a manifest lists it.

    Its file names every parameter, so that nothing that builds rows is needed to read it.
    """
    found = read_toml(files("builder.tasks") / "suites" / f"{dataset}.toml")
    families = found["families"]
    tasks = {
        task: {"max_new_tokens": families[table["family"]]["max_new_tokens"], **table}
        for task, table in found["tasks"].items()
    }
    return StandardSuite(families, tasks)


def perfect_answers(family: str, references: Sequence[str], prompt_end: str) -> list[str]:
    """The right answers to a row as its prompt asks for them: one, in qa one for each annotator.

    vt's and cwe's are written as in their solved examples, ONERULER's between the tags with which
    its prompt ends; the others go on in the prefix's sentence.
    """
    if family == "question_answering":
        return [f" {reference}" for reference in references]
    if family == "variable_tracking":
        return [f" {' '.join(references)}"]
    if family == "common_words":
        return ["".join(f" {number}. {word}" for number, word in enumerate(references, 1))]
    if family.startswith("multilingual"):
        opening, closing = (re.findall(tag, prompt_end) for tag in (r"<[^<>/]+>", r"</[^<>]+>"))
        return [" ".join([*opening[-1:], ", ".join(references), *closing[-1:]])]
    *first, last = references
    return [f" {', '.join(first)}, and {last}" if first else f" {last}"]
