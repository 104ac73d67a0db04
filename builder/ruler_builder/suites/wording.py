r"""The text around a context: a prompt template parted at {context}, and filled.

    frame = frame_of("Read this.\n{context}\n{question}", question, prefix)
    frame.head, frame.tail          # "Read this.\n", "\nWhat are …"

    standard_tasks("ruler")["vt"]["hops"]           # 4

It imports nothing that builds rows, so that the proof reads a prompt by the same rule, and a card
tells a benchmark's own tasks from a user's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any, NamedTuple

from ruler_common.errors import RulerError
from ruler_common.names import GROUPS
from ruler_common.parsing import read_toml

CONTEXT = "{context}"
_SUITES = files("ruler_builder.suites")


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


def suite_names() -> list[str]:
    """The project's suites: the names of the TOML files in ruler_builder/suites."""
    names = (file.name for file in _SUITES.iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


@cache
def read_suite_file(name: str) -> dict[str, Any]:
    """What the file of one of the project's suites says; not to be changed."""
    return read_toml(_SUITES / f"{name}.toml")


@cache
def own_wording(dataset: str) -> dict[str, dict[str, Any]]:
    """The wording of each family as the project has it: its dataset's suite's, or its own suite's.

    A family that the benchmark's own suite does not word is worded by another of its dataset.
    """
    worded = dict(read_suite_file(dataset)["families"])
    others = (found for found in map(read_suite_file, suite_names()) if found["dataset"] == dataset)
    for found in others:
        for family, text in found.get("families", {}).items():
            worded.setdefault(family, text)
    return worded


def worded_families(
    dataset: str, suite: Mapping[str, Any], tasks: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The wording of a suite's families: its own texts take the place of the project's.

    Its families are those of the dataset's own suite, and any other that it words or has a task of.
    """
    worded: Mapping[str, Any] = suite.get("families", {})
    there = {*read_suite_file(dataset)["families"], *worded}
    there |= {str(table.get("family")) for table in tasks.values()}
    own = {family: text for family, text in own_wording(dataset).items() if family in there}
    return _in_place(own, worded)


def _in_place(own: Mapping[str, Any], mine: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of wording, in which the texts of `mine` take the place of those of `own`."""
    return {
        **{key: value for key, value in mine.items() if key not in own},
        **{
            key: _in_place(value, part)
            if isinstance(value, dict) and isinstance(part := mine.get(key, {}), dict)
            else mine.get(key, value)
            for key, value in own.items()
        },
    }


def standard_tasks(dataset: str) -> dict[str, dict[str, Any]]:
    """The tasks of the dataset's own suite, `ruler` or `oneruler`, as in a manifest.

    Its file names every parameter, so that nothing that builds rows is needed to read it.
    """
    found = read_suite_file(dataset)
    usual = {name: family["max_new_tokens"] for name, family in found["families"].items()}
    return {
        task: {"max_new_tokens": usual[table["family"]], **table}
        for task, table in found["tasks"].items()
    }


def groups_of(
    dataset: str, tasks: Collection[str], suite: Mapping[str, Any]
) -> dict[str, tuple[str, ...]]:
    """The groups of a suite: the dataset's whose tasks it has, `all`, and those it names."""
    found = {name: group for name, group in GROUPS[dataset].items() if {*group} <= {*tasks}}
    found["all"] = tuple(tasks)
    return {**found, **{name: tuple(group) for name, group in suite.get("groups", {}).items()}}


def check_wording(where: str, wording: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Hold tables of templates to the families' own: the same keys, the same kinds.

    A template has no other placeholders than the family's own, and those without which a row
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


# Placeholders without which a row can be read back.
_MAY_LACK = ("type", "types", "n")


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


def between_tags(references: Sequence[str], prompt_end: str) -> list[str]:
    """A right answer of ONERULER: between the tags with which its prompt ends."""
    opening, closing = (re.findall(tag, prompt_end) for tag in (r"<[^<>/]+>", r"</[^<>]+>"))
    return [" ".join([*opening[-1:], ", ".join(references), *closing[-1:]])]
