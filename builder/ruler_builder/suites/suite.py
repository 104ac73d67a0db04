"""A suite: the tasks of a dataset, their parameters and groups, read from TOML.

    suite = read_suite("ruler_2024")          # ruler_builder/suites/ruler_2024.toml
    suite = read_suite(Path("mine.toml"))     # a custom suite
    task = suite.task(key, counted_sources)   # the task named by key.task

Unknown or impossible parameters are refused with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from ruler_builder.suites import FOLDER, suite_names
from ruler_builder.tasks.base import Task, TaskKey, TaskParams
from ruler_builder.tasks.registry import FAMILIES, read_params
from ruler_builder.tasks.templates import reworded
from ruler_builder.window.counted_sources import CountedSources
from ruler_common.errors import RulerError
from ruler_common.files import check_type, read_toml
from ruler_common.manifest import OWN_SUITE, Manifest
from ruler_common.names import (
    GROUPS,
    LENGTHS,
    TASKS,
    Names,
    check_name,
    length_name,
    parse_length,
)

_NAME = re.compile(
    r"(?!.*_(?:\d+[kmKM]|\d{4,7})(?:_|$))[A-Za-z0-9_]+"
)  # a configuration's name adds the length
_NAME_HINT = "letters, digits and '_', and no length (4k, 4000)"


@dataclass(frozen=True, kw_only=True)
class Suite:
    """The contents of a suite, checked."""

    name: str  # of the file in ruler_builder/suites, or OWN_SUITE for a custom suite
    dataset: str
    groups: dict[str, tuple[str, ...]]
    families: dict[str, dict[str, Any]]  # the wording of each family of the dataset
    family_of: dict[str, str]  # by task
    params: dict[str, TaskParams]  # by task
    lengths: tuple[str, ...] = ()  # what `--lengths all` means

    @cached_property
    def names(self) -> Names:
        """The names configurations are read with."""
        return Names(self.dataset, tuple(self.params), self.groups)

    def task(self, key: TaskKey, counted_sources: CountedSources) -> Task[Any]:
        """Return the task of a key."""
        family = self.family_of[key.task]
        make = FAMILIES[family].task
        return make(key, self.params[key.task], self.families[family], counted_sources)

    def has(self, task: str, max_length: int) -> bool:
        """Whether a task has rows at a length: one without documents has them only at `0k`."""
        return max_length == 0 or not getattr(self.params[task], "no_documents", False)

    def described(self) -> dict[str, dict[str, Any]]:
        """Return each task's family and parameters, for the manifest."""
        described = {}
        for task, params in self.params.items():
            described[task] = {"family": self.family_of[task], **params.listed()}
        return described


class _SuiteFile(TypedDict, total=False):
    """What a suite's file says; a length may be a name, or a number of tokens."""

    dataset: str
    extends: str
    lengths: list[str | int]
    groups: dict[str, list[str]]
    families: dict[str, dict[str, Any]]
    tasks: dict[str, dict[str, Any]]


def read_suite(path: str | Path = "ruler") -> Suite:
    """Return one of the project's suites by its name, or the suite of a TOML file by its path.

    A name of the project's is never a file of that name: write `./ruler` for one. A file names its
    dataset, by default `ruler`. Raises RulerError for anything unknown, impossible or missing.
    """
    if path in suite_names():
        return _read_suite(str(path), FOLDER / f"{path}.toml")
    if isinstance(path, str) and not (path.endswith(".toml") or Path(path).is_file()):
        check_name("suite", path, suite_names(), "docs/build.md; a custom suite is a TOML file")
    return _read_suite(OWN_SUITE, Path(path))


def _read_suite(name: str, path: Path) -> Suite:
    """Return the suite of a file, checked."""
    table = read_toml(path)
    for key in table:
        check_name("suite key", key, _SuiteFile.__annotations__, str(path))
    check_type(table, _SuiteFile, path, "See docs/build.md.", "not a valid suite")
    dataset = check_name("dataset", table.get("dataset", "ruler"), TASKS, str(path))
    tasks = table.get("tasks", {})
    if "extends" in table:
        check_name("suite to extend", table["extends"], (dataset,), str(path))
        tasks = {**read_toml(FOLDER / f"{dataset}.toml")["tasks"], **tasks}
    if not tasks:
        raise RulerError(f"'{path}' defines no task: add a table [tasks.NAME].")
    groups = _read_groups(table, path, dataset, tasks)
    lengths = []
    for length in table.get("lengths", LENGTHS[dataset]):
        lengths.append(length_name(parse_length(str(length), dataset), dataset))
    if not lengths:
        raise RulerError(f'\'{path}\': lengths must be a list of names, such as ["4k", "8k"].')
    return _make_suite(name, dataset, tasks, groups, table.get("families", {}), tuple(lengths))


def _read_groups(
    table: Mapping[str, Any], path: Path, dataset: str, tasks: Mapping[str, Any]
) -> dict[str, tuple[str, ...]]:
    """Return the groups of a suite's file: the data set's, all tasks, and those that it names."""
    groups: dict[str, tuple[str, ...]] = {}
    for group, members in GROUPS[dataset].items():
        if tasks.keys() >= {*members}:
            groups[group] = members
    groups["all"] = tuple(tasks)
    for group, listed in table.get("groups", {}).items():
        groups[group] = tuple(listed)
    for group, members in groups.items():
        for member in members:
            check_name(f"task in group '{group}'", member, tasks, str(path))
        if group in tasks:
            raise RulerError(f"'{path}': '{group}' names both a task and a group.")
    for each in (*tasks, *groups):
        if not _NAME.fullmatch(each):
            raise RulerError(f"'{path}': '{each}' cannot name a task or group: use {_NAME_HINT}.")
    return groups


def _make_suite(
    name: str,
    dataset: str,
    tasks: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, tuple[str, ...]],
    wording: Mapping[str, Mapping[str, Any]],
    lengths: tuple[str, ...] = (),
) -> Suite:
    """Return a suite of these tables, checked."""
    families_of_dataset = [family for family, code in FAMILIES.items() if code.dataset == dataset]
    see = f"ruler_builder/suites/{dataset}.toml"
    for family in wording:
        check_name("family", family, families_of_dataset, see)
    families, family_of, params = {}, {}, {}
    for task, table in tasks.items():
        if "family" not in table:
            raise RulerError(f"Task '{task}' names no family: add family = \"niah\", for example.")
        family_of[task] = check_name("family", str(table["family"]), families_of_dataset, see)
    standard = read_toml(FOLDER / f"{dataset}.toml")["tasks"].values()
    used = {*family_of.values(), *wording, *(table["family"] for table in standard)}
    for family in families_of_dataset:
        if family in used:
            templates = FAMILIES[family].templates
            families[family] = reworded(family, templates, wording.get(family, {}))
    for task, table in tasks.items():
        usual = {"max_new_tokens": families[family_of[task]]["max_new_tokens"]}
        params[task] = read_params(task, {**usual, **table})
        if same_as := getattr(params[task], "same_as", ""):
            check_name(f"task that '{task}' is the same as", same_as, tasks, name)
    return Suite(
        name=name,
        dataset=dataset,
        groups=dict(groups),
        families=families,
        family_of=family_of,
        params=params,
        lengths=lengths,
    )


def suite_in(manifest: Manifest) -> Suite:
    """Return the suite that a release was built with.

    One of the project's, or what its manifest says.

    Raises RulerError for parameters that no task can have, and for wording that no family can have.
    """
    name, dataset = manifest.get("suite", OWN_SUITE), manifest["dataset"]
    if name in suite_names():
        suite = read_suite(name)
        if suite.dataset == dataset:
            return suite
    wording: dict[str, dict[str, Any]] = {}
    for family, templates in manifest["families"].items():
        usual = FAMILIES[family].templates if family in FAMILIES else {}
        wording[family] = {key: text for key, text in templates.items() if usual.get(key) != text}
    groups = {group: tuple(tasks) for group, tasks in manifest["groups"].items()}
    return _make_suite(OWN_SUITE, dataset, manifest["tasks"], groups, wording)
