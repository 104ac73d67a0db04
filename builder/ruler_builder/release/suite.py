"""A suite: the tasks of a dataset, their parameters and wording, read from TOML.

    suite = read_suite("ruler_2024")          # ruler_builder/suites/ruler_2024.toml
    suite = read_suite(Path("mine.toml"))     # a file of one's own
    task = suite.task(key, counted_sources)   # the task named by key.task

Unknown or impossible parameters are refused with a sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from ruler_builder.context.counted_sources import CountedSources
from ruler_builder.suites.params import TaskParams
from ruler_builder.suites.wording import (
    check_wording,
    groups_of,
    own_wording,
    read_suite_file,
    suite_names,
    worded_families,
)
from ruler_builder.tasks.base import Task, TaskKey
from ruler_builder.tasks.registry import FAMILIES, listed, read_params
from ruler_common.errors import RulerError
from ruler_common.manifest_form import OWN_SUITE, Manifest
from ruler_common.names import LENGTHS, TASKS, Names, check_name, length_name, parse_length
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
