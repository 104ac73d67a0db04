"""Complete names in the shell (`ruler run --configs <TAB>`; see `ruler --install-completion`).

NAMES["languages"]({}, "pl,k")        # ["pl,ko"]

Each function gets the options before the cursor and the text typed so far. Options with a fixed
list of choices need no function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ruler_common.names import GROUPS, LANGUAGES, LENGTHS, TASKS, Names


def suites(flags: Mapping[str, Any], incomplete: str) -> list[str]:
    """Complete the project's suites."""
    from ruler_builder.options import suite_names

    return _completions(incomplete, suite_names())


def tokenizers(flags: Mapping[str, Any], incomplete: str) -> list[str]:
    """Complete the named tokenizers."""
    from ruler_builder.tokens.tokenizers import named

    return _completions(incomplete, named())


def tasks(flags: Mapping[str, Any], incomplete: str) -> list[str]:
    """Complete the groups and tasks of the suite, if it is one of the project's."""
    from ruler_builder.options import suite_names
    from ruler_builder.tasks.registry import read_suite

    name = str(flags.get("suite") or "ruler")
    if name not in suite_names():
        return []
    suite = read_suite(name)
    return _completions(incomplete, [*suite.groups, *suite.params])  # the keys of params are tasks


def lengths(flags: Mapping[str, Any], incomplete: str) -> list[str]:
    """Complete the lengths of the papers."""
    dataset = "oneruler" if str(flags.get("suite")) == "oneruler" else "ruler"
    return _completions(incomplete, LENGTHS[dataset])


def languages(flags: Mapping[str, Any], incomplete: str) -> list[str]:
    """Complete languages."""
    return _completions(incomplete, ("all", "default", *LANGUAGES))


def configurations(flags: Mapping[str, Any], incomplete: str) -> list[str]:
    """Complete configurations of the release if it is a folder, else of the published ones."""
    from ruler_common.manifest import read_manifest

    release = str(flags.get("dataset") or flags.get("source") or "")
    if release and (Path(release) / "manifest.json").is_file():
        manifest = read_manifest(Path(release))
        return _completions(incomplete, sorted(Names.from_manifest(manifest).available(manifest)))
    dataset = "oneruler" if "oneruler" in release else "ruler"
    names = (*GROUPS[dataset], *TASKS[dataset])
    return _completions(
        incomplete, [f"{name}_{length}" for name in names for length in LENGTHS[dataset]]
    )


def _completions(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the completions of the last name in a list separated by commas."""
    before, comma, beginning = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(beginning)]


NAMES: dict[str, Callable[[Mapping[str, Any], str], list[str]]] = {
    "suite": suites,
    "tokenizers": tokenizers,
    "tasks": tasks,
    "lengths": lengths,
    "languages": languages,
    "config": configurations,
    "configs": configurations,
}
"""The function that completes the names of an option, by the option's field."""
