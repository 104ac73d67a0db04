r"""The text around a context: a prompt template parted at {context}, and filled.

    frame = frame_of("Read this.\n{context}\n{question}", question, prefix)
    frame.head, frame.tail          # "Read this.\n", "\nWhat are …"

    standard_suite("ruler").tasks["vt"]["hops"]     # 4

It imports nothing that builds rows, so that the laws read a prompt by the same rule, and a card
tells a benchmark's own tasks from a user's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any, NamedTuple

from builder.common.toml import read_toml
from ruler_dataset import GROUPS, RulerError

CONTEXT = "{context}"
WITHOUT_DOCUMENTS = (
    "Answer the question. Only give me the answer and do not output any other words."
    "{context}\n\nQuestion: {question}"
)
"""qa's prompt where no documents are given (Figure 3's dotted line); its context is empty."""


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
    """A suite of the project's: each family's wording, each task's parameters, the groups."""

    families: dict[str, dict[str, Any]]
    tasks: dict[str, dict[str, Any]]
    groups: dict[str, tuple[str, ...]]


@cache
def standard_suite(name: str) -> StandardSuite:
    """The suite of `ruler` or `oneruler`, with every parameter, as a manifest lists it.

    Their files name every parameter, so that nothing that builds rows is needed to read them; of
    another suite in builder/tasks/suites this has what its file names.
    """
    suites = files("builder.tasks") / "suites"
    found = read_toml(suites / f"{name}.toml")
    families, named = found.get("families", {}), found.get("tasks", {})
    if found["dataset"] != name:
        own = read_toml(suites / f"{found['dataset']}.toml")
        words = own["families"].items()
        families = {family: {**text, **families.get(family, {})} for family, text in words}
        named = {**(own["tasks"] if "extends" in found else {}), **named}
    tasks = {
        task: {"max_new_tokens": families[table["family"]]["max_new_tokens"], **table}
        for task, table in named.items()
    }
    return StandardSuite(families, tasks, groups_of(found["dataset"], tasks, found))


def groups_of(
    dataset: str, tasks: Collection[str], suite: Mapping[str, Any]
) -> dict[str, tuple[str, ...]]:
    """The groups of a suite: the dataset's whose tasks it has, `all`, and those it names."""
    found = {name: group for name, group in GROUPS[dataset].items() if {*group} <= {*tasks}}
    found["all"] = tuple(tasks)
    return {**found, **{name: tuple(group) for name, group in suite.get("groups", {}).items()}}


def check_wording(where: str, wording: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Hold tables of templates to those of the dataset's own suite: the same keys, the same kinds.

    A template has no other placeholders than the dataset's own, and those without which a row
    cannot be read back; {context} stands in it once, before the question. Raises RulerError.
    """
    for key in {**own, **wording}:
        name = f"{where}.{key}"
        if key not in own or key not in wording:
            raise RulerError(f"'{name}' is {'missing' if key in own else 'unknown'}.")
        mine, usual = wording[key], own[key]
        if type(mine) is not type(usual):
            raise RulerError(f"'{name}' must be of the kind {usual!r} is, not {mine!r}.")
        if isinstance(usual, dict):
            check_wording(name, mine, usual)
        elif isinstance(usual, str):
            _check_template(name, key, mine, placeholders(usual))
        elif mine < 1:
            raise RulerError(f"'{name}' must be at least 1.")


def _check_template(name: str, key: str, template: str, known: list[str]) -> None:
    found = placeholders(template)
    if strange := set(found) - set(known):
        allowed = ", ".join(f"{{{one}}}" for one in known)
        raise RulerError(
            f"The template '{name}' may use {allowed or 'no placeholder'}, not {{{min(strange)}}}."
        )
    needed = [] if key == "prefix" else [one for one in known if one not in _MAY_LACK]
    for one in needed:
        once = one in ("context", "document")
        if one not in found or (once and template.count(f"{{{one}}}") != 1):
            raise RulerError(f"The template '{name}' must have {{{one}}}{' once' * once}.")
    if key == "input" and found.index("question") < found.index("context"):
        raise RulerError(f"The template '{name}' must have {{question}} after {{context}}.")


_MAY_LACK = ("type", "types", "n")
"""Placeholders without which a row can be read back."""


def placeholders(template: str) -> list[str]:
    """The names in braces, in their order; RulerError for a brace that is not closed."""
    try:
        found = [
            name + f"!{conversion}" * bool(conversion) + f":{form}" * bool(form)
            for _, name, form, conversion in Formatter().parse(template)
            if name is not None
        ]
    except ValueError as error:
        raise RulerError(f"The template {template!r} is malformed: {error}.") from None
    return found


class ExampleFrame(NamedTuple):
    """What stands before and after the context of a solved example, its prefix, and its end."""

    head: str
    tail: str
    prefix: str
    end: str


def chain_example_frame(
    templates: Mapping[str, str], layout: str, names: int, value: str
) -> ExampleFrame:
    """The frame of a solved example of vt, whose answer is `names` names.

    The paper's own code (layout 2024) joined the words of the example's template by single spaces,
    and put a space before the example and two more newlines after it.
    """
    question = templates["question"].format(value=value)
    prefix = templates["prefix"].format(n=names, value=value)
    if layout == "2024":
        template = " ".join(templates["input"].split())
        frame = frame_of(template, question, prefix)
        return ExampleFrame(f" {frame.head}", frame.tail, prefix, "\n\n\n\n")
    frame = frame_of(templates["input"], question, prefix)
    return ExampleFrame(frame.head, frame.tail, prefix, "\n\n")


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
