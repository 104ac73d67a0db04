"""Complete names in the shell (`ruler run --configs <TAB>`; see `ruler --install-completion`).

NAMES["languages"]({}, "pl,k")        # ["pl,ko"]

Each function gets the options before the cursor and the text typed so far. An option with fixed
choices needs no function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ruler_common.names import GROUPS, LANGUAGES, LENGTHS, TASKS, Names


def suites(flags: Mapping[str, Any], incomplete: str) -> list[str]:
    """Complete the names of suites."""
    from ruler_builder.options import suite_names

    return _completions(incomplete, suite_names())


def tokenizers(flags: Mapping[str, Any], incomplete: str) -> list[str]:
    """Complete the named tokenizers."""
    from ruler_builder.tokens.tokenizers import named

    return _completions(incomplete, named())


def tasks(flags: Mapping[str, Any], incomplete: str) -> list[str]:
    """Complete the groups and tasks of a named suite."""
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
    """Complete the configurations of a release folder, or those of the full releases."""
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
    """Return the completions of the last name in a comma-separated list."""
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
"""For each field, the function that completes its names."""
