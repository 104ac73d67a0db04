"""A suite: the tasks of a dataset, their parameters and wording, read from TOML.

    suite = read_suite("ruler_2024")          # ruler_builder/suites/ruler_2024.toml
    suite = read_suite(Path("mine.toml"))     # a custom suite
    task = suite.task(key, counted_sources)   # the task named by key.task

Unknown or impossible parameters are refused with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from string import Formatter
from typing import Any

from typing_extensions import TypedDict

from ruler_builder.suites import FOLDER, suite_names
from ruler_builder.tasks.base import Task, TaskKey, TaskParams
from ruler_builder.tasks.registry import FAMILIES, listed, read_params
from ruler_builder.window.counted_sources import CountedSources
from ruler_common.errors import RulerError
from ruler_common.manifest_form import OWN_SUITE, Manifest
from ruler_common.names import GROUPS, LENGTHS, TASKS, Names, check_name, length_name, parse_length
from ruler_common.parsing import check_type, read_toml


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A suite file's contents, checked."""

    dataset: str
    groups: dict[str, tuple[str, ...]]
    families: dict[str, dict[str, Any]]
    tasks: dict[str, dict[str, Any]]
    name: str  # of the file in ruler_builder/suites, or OWN_SUITE for a user's
    lengths: tuple[str, ...]  # what `--lengths all` stands for

    @cached_property
    def names(self) -> Names:
        """The names configurations are read with."""
        return Names(self.dataset, tuple(self.tasks), self.groups)

    @cached_property
    def params(self) -> dict[str, TaskParams]:
        """Every task's parameters, checked; RulerError for what is unknown or impossible."""
        return {task: self._read(task) for task in self.tasks}

    def _read(self, task: str) -> TaskParams:
        family = self._family(task)
        usual = {"max_new_tokens": self.families[family]["max_new_tokens"]}
        return read_params(task, {**usual, **self.tasks[task], "family": family})

    def _family(self, task: str) -> str:
        family = self.tasks[task].get("family")
        if family is None:
            raise RulerError(f"Task '{task}' names no family: add family = \"niah\", for example.")
        see = f"ruler_builder/suites/{self.dataset}.toml"
        return check_name("family", str(family), self.families, see)

    def task(self, key: TaskKey, counted_sources: CountedSources) -> Task[Any]:
        """The task of a key."""
        wording = self.families[self._family(key.task)]
        return self.maker(key.task)(key, self.params[key.task], wording, counted_sources)

    def has(self, task: str, max_length: int) -> bool:
        """Whether a task has rows at a length: one without documents has them at `0k` alone."""
        return max_length == 0 or not getattr(self.params[task], "no_documents", False)

    def maker(self, task: str) -> type[Task[Any]]:
        """What makes the rows of a task."""
        return FAMILIES[self._family(task)].task

    def described(self) -> dict[str, dict[str, Any]]:
        """Each task's family and parameters, for the manifest."""
        return {task: listed(self._family(task), params) for task, params in self.params.items()}


class _SuiteFile(TypedDict, total=False):
    """What a suite's file says; a length may be a name, or a number of tokens."""

    dataset: str
    extends: str
    lengths: list[str | int]
    groups: dict[str, list[str]]
    families: dict[str, dict[str, Any]]
    tasks: dict[str, dict[str, Any]]


def read_suite(path: str | Path = "ruler") -> Suite:
    """One of the project's suites by its name, or that of a TOML file, given by its path.

    A name of the project's is never a file of that name: write `./ruler` for one. A file names its
    dataset (`ruler` where it does not); what it does not word is worded as that dataset's own suite
    is. Raises RulerError for anything unknown, impossible or missing.
    """
    shipped = path in suite_names()
    if isinstance(path, str) and not (shipped or path.endswith(".toml") or Path(path).is_file()):
        see = "docs/build.md; a suite of your own is a TOML file"
        check_name("suite", path, suite_names(), see)
    called = str(path) if shipped else OWN_SUITE
    found = read_suite_file(str(path)) if shipped else read_toml(Path(path))
    for key in found:
        check_name("suite key", key, _SuiteFile.__annotations__, str(path))
    check_type(found, _SuiteFile, path, "See docs/build.md.", "no suite")
    dataset = check_name("dataset", found.get("dataset", "ruler"), TASKS, str(path))
    standard = read_suite_file(dataset)
    tasks = found.get("tasks", {})
    if "extends" in found:
        check_name("suite to extend", found["extends"], (dataset,), str(path))
        tasks = {**standard["tasks"], **tasks}
    if not tasks:
        raise RulerError(f"'{path}' defines no task: add a table [tasks.NAME].")
    groups = groups_of(dataset, tasks, found)
    for group, members in groups.items():
        for member in members:
            check_name(f"task in group '{group}'", member, tasks, str(path))
        if group in tasks:
            raise RulerError(f"'{path}': '{group}' names both a task and a group.")
    for name in (*tasks, *groups):
        if not _NAME.fullmatch(name):
            raise RulerError(f"'{path}': '{name}' cannot name a task or group: use {_NAME_HINT}.")
    own = own_wording(dataset)
    for family in found.get("families", {}):
        check_name("family", family, own, str(path))
    families = worded_families(dataset, found, tasks)
    check_wording("families", families, {family: own[family] for family in families})
    lengths = found.get("lengths", list(LENGTHS[dataset]))
    if not lengths:
        raise RulerError(f'\'{path}\': lengths must be a list of names, such as ["4k", "8k"].')
    named = tuple(length_name(parse_length(str(one), dataset), dataset) for one in lengths)
    suite = Suite(
        dataset=dataset, groups=groups, families=families, tasks=tasks, name=called, lengths=named
    )
    for task, params in suite.params.items():  # checked here, before any work
        if same_as := getattr(params, "same_as", ""):
            check_name(f"task that '{task}' is the same as", same_as, tasks, str(path))
    return suite


def suite_in(manifest: Manifest) -> Suite:
    """The suite that a release was built with: one of the project's, or what its manifest says.

    Raises RulerError for parameters that no task can have, and for wording that no family can have.
    """
    name, dataset = manifest.get("suite", OWN_SUITE), manifest["dataset"]
    if name in suite_names() and read_suite_file(name)["dataset"] == dataset:
        return read_suite(name)
    own = own_wording(dataset)
    known = {family: own[family] for family in manifest["families"] if family in own}
    check_wording("families", manifest["families"], known)
    suite = Suite(
        dataset=dataset,
        groups={group: tuple(tasks) for group, tasks in manifest["groups"].items()},
        families=manifest["families"],
        tasks=manifest["tasks"],
        name=OWN_SUITE,
        lengths=(),
    )
    suite.params  # noqa: B018 - read now, so that what is impossible is refused here
    return suite


_NAME = re.compile(
    r"(?!.*_(?:\d+[kmKM]|\d{4,7})(?:_|$))[A-Za-z0-9_]+"
)  # a configuration's name adds the length
_NAME_HINT = "letters, digits and '_', and no length (4k, 4000)"


@cache
def read_suite_file(name: str) -> dict[str, Any]:
    """What the file of one of the project's suites says; not to be changed."""
    return read_toml(FOLDER / f"{name}.toml")


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
