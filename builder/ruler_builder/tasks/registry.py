"""The task families, and the suites (TOML) that choose tasks from them; a family is one line.

    FAMILIES["variable_tracking"].task          # makes rows

    suite = read_suite("ruler_2024")          # ruler_builder/suites/ruler_2024.toml
    suite = read_suite(Path("mine.toml"))     # a custom suite
    task = suite.task(key, counted_sources)   # the task named by key.task

Table 5 of RULER and section 2 of ONERULER have the usual parameters. Unknown or impossible ones are
refused with a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple, get_type_hints

from typing_extensions import TypedDict

from ruler_builder.options import SUITES, suite_names
from ruler_builder.tasks import (
    common_words,
    frequent_words,
    niah,
    oneruler_niah,
    question_answering,
    variable_tracking,
)
from ruler_builder.tasks.base import Task, TaskKey, TaskParams
from ruler_builder.tasks.templates import CONTEXT
from ruler_builder.text.counted import CountedSources
from ruler_builder.text.sources import language_sources
from ruler_common.errors import RulerError
from ruler_common.files import check_type, read_toml
from ruler_common.languages import custom_languages
from ruler_common.manifest import CUSTOM_SUITE, Manifest
from ruler_common.names import (
    GROUPS,
    LENGTHS,
    TASKS,
    Config,
    Names,
    check_name,
    check_release_names,
    length_name,
    parse_length,
)


class Family(NamedTuple):
    """The code of a task family."""

    params: type[TaskParams]
    task: type[Task[Any]]  # makes rows
    templates: dict[str, Any]  # its wording, and `max_new_tokens` of its tasks
    dataset: str = "ruler"


FAMILIES = {
    "niah": Family(niah.NiahParams, niah.Niah, niah.TEMPLATES),
    "variable_tracking": Family(
        variable_tracking.ChainParams,
        variable_tracking.VariableTracking,
        variable_tracking.TEMPLATES,
    ),
    "common_words": Family(
        common_words.CommonParams,
        common_words.CommonWords,
        common_words.TEMPLATES,
    ),
    "frequent_words": Family(
        frequent_words.FrequentParams,
        frequent_words.FrequentWords,
        frequent_words.TEMPLATES,
    ),
    "question_answering": Family(
        question_answering.QaParams,
        question_answering.QuestionAnswering,
        question_answering.TEMPLATES,
    ),
    "multilingual_niah": Family(
        oneruler_niah.MultilingualNiahParams,
        oneruler_niah.MultilingualNiah,
        oneruler_niah.TEMPLATES,
        "oneruler",
    ),
    "multilingual_words": Family(
        common_words.MultilingualWordsParams,
        common_words.MultilingualWords,
        common_words.MULTILINGUAL_TEMPLATES,
        "oneruler",
    ),
}


def read_params(task: str, described: Mapping[str, Any]) -> TaskParams:
    """Return a task's parameters from its table, `family` and `max_new_tokens` among them.

    Raises RulerError for what is unknown, of a wrong type or impossible.
    """
    family = check_name("family", str(described["family"]), FAMILIES, "ruler_builder/suites")
    params_type = FAMILIES[family].params
    types = _types_of(family)
    values: dict[str, Any] = {}
    for name, value in described.items():
        if name == "family":
            continue
        check_name(f"parameter of task '{task}':", name, types, "ruler_builder/suites")
        kind = types[name]
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise RulerError(f"Task '{task}': {name} must be {kind.__name__}, not {value!r}.")
        values[name] = value
    try:
        return params_type(**values)
    except RulerError as error:
        raise RulerError(f"Task '{task}': {error}") from None


@cache
def _types_of(family: str) -> dict[str, type]:
    """Return the type of each parameter of a family: int, float, str or bool."""
    params = FAMILIES[family].params
    hints = get_type_hints(params)
    return {item.name: hints[item.name] for item in fields(params)}


def usual_of(family: str) -> dict[str, Any]:
    """Return a family's optional parameters with their usual values."""
    if family not in FAMILIES:
        return {}
    params, usual = FAMILIES[family].params, {}
    for item in fields(params):
        if item.name in params.optional:
            usual[item.name] = item.default
    return usual


def sources_of(manifest: Manifest, config: Config) -> list[str]:
    """Return the names of the sources that the rows of a release's configuration are made of."""
    params = read_params(config.task, manifest["tasks"][config.task])
    custom = custom_languages(manifest)
    text = language_sources(config.language, config.language in custom)
    instruction_language = config.instruction_language
    instruction = language_sources(instruction_language, instruction_language in custom)
    return list(dict.fromkeys(params.sources(text, instruction)))


# ---- Suites: which tasks of the families, with which parameters ----------------------------------


@dataclass(frozen=True, kw_only=True)
class Suite:
    """The contents of a suite, checked."""

    name: str  # of the file in ruler_builder/suites, or CUSTOM_SUITE for a custom suite
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
        """Whether a task has rows at a length: one without documents has only a control."""
        return max_length == 0 or not getattr(self.params[task], "no_documents", False)

    def described(self) -> dict[str, dict[str, Any]]:
        """Return each task's family and parameters, for the manifest.

        Optional parameters are left out if they are as usual.
        """
        described: dict[str, dict[str, Any]] = {}
        for task, params in self.params.items():
            described[task] = {"family": self.family_of[task]}
            for item in fields(params):
                value = getattr(params, item.name)
                if item.name not in params.optional or value != item.default:
                    described[task][item.name] = value
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
    name = CUSTOM_SUITE
    if path in suite_names():
        name, path = str(path), SUITES / f"{path}.toml"
    elif isinstance(path, str) and not (path.endswith(".toml") or Path(path).is_file()):
        check_name("suite", path, suite_names(), "docs/build.md; a custom suite is a TOML file")
    path = Path(path)
    table = read_toml(path)
    for key in table:
        check_name("suite key", key, _SuiteFile.__annotations__, str(path))
    if name == CUSTOM_SUITE:  # the project's are valid, and every build would wait for pydantic
        check_type(table, _SuiteFile, path, "See docs/build.md.", "not a valid suite")
    dataset = check_name("dataset", table.get("dataset", "ruler"), TASKS, str(path))
    tasks = table.get("tasks", {})
    if "extends" in table:
        check_name("suite to extend", table["extends"], (dataset,), "docs/build.md")
        tasks = {**read_toml(SUITES / f"{dataset}.toml")["tasks"], **tasks}
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
    """Return the groups of a suite's file: the data set's, all tasks, and those that it names.

    In a suite of the data set's own tasks, `all_4k` and the like keep their meaning: its rows may
    be the frozen ones.
    """
    groups: dict[str, tuple[str, ...]] = {}
    for group, members in GROUPS[dataset].items():
        if tasks.keys() >= {*members}:
            groups[group] = members
    is_benchmark = tasks.keys() == {*TASKS[dataset]}
    if not is_benchmark:
        groups["all"] = tuple(tasks)
    for group, listed in table.get("groups", {}).items():
        if is_benchmark and {*listed} != {*groups.get(group, listed)}:
            raise RulerError(
                f"'{path}': '{group}' is a group of {dataset}, of {', '.join(groups[group])}: give "
                "the group another name."
            )
        groups[group] = tuple(listed)
    for group, members in groups.items():
        for member in members:
            check_name(f"task in group '{group}':", member, tasks, str(path))
    try:
        check_release_names(tasks, groups, tokenizers=(), languages=())
    except RulerError as error:
        raise RulerError(f"'{path}': {error}") from error
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
            raise RulerError(
                f"Task '{task}' names no family: add family = \"niah\", for example. A task that "
                "`extends` brought is replaced as a whole."
            )
        family_of[task] = check_name("family", str(table["family"]), families_of_dataset, see)
    used = {*family_of.values(), *wording}
    for table in read_toml(SUITES / f"{dataset}.toml")["tasks"].values():
        used.add(table["family"])
    for family in families_of_dataset:
        if family in used:
            templates = FAMILIES[family].templates
            families[family] = reworded(family, templates, wording.get(family, {}))
    for task, table in tasks.items():
        usual = {"max_new_tokens": families[family_of[task]]["max_new_tokens"]}
        params[task] = read_params(task, {**usual, **table})
        if same_as := getattr(params[task], "same_as", ""):
            check_name(f"task that '{task}' is the same as:", same_as, tasks, name)
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
    name, dataset = manifest.get("suite", CUSTOM_SUITE), manifest["dataset"]
    if name in suite_names():
        suite = read_suite(name)
        if suite.dataset == dataset:
            return suite
    wording: dict[str, dict[str, Any]] = {}
    for family, templates in manifest["families"].items():
        usual = FAMILIES[family].templates if family in FAMILIES else {}
        wording[family] = {key: text for key, text in templates.items() if usual.get(key) != text}
    groups = {group: tuple(tasks) for group, tasks in manifest["groups"].items()}
    return _make_suite(CUSTOM_SUITE, dataset, manifest["tasks"], groups, wording)


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
    for _, name, spec, conversion in parts:
        if name is not None:
            spec = f":{spec}" if spec else ""
            placeholders.append(f"{{{name}{'!' if conversion else ''}{conversion or ''}{spec}}}")
    return placeholders
