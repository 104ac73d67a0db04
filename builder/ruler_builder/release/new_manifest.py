"""The manifest of a release while it is made: what its files share, and the files in the end.

shared = new_settings(suite, 0, 128, ["4k"])      # the manifest but for its files
shared = merge_settings(old, shared, root)        # refuses what does not go together
manifest = with_files(shared, files)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from ruler_builder.families.task import DATA_VERSION
from ruler_builder.release.suite import Suite
from ruler_builder.sources import word_lists
from ruler_common.errors import RulerError
from ruler_common.manifest_form import FORMAT_VERSION, OWN_SUITE, FileEntry, Manifest
from ruler_common.names import parse_length
from ruler_common.rows import canary_of

# What all files of a release share.
_FIXED = ("format", "dataset", "data_version", "canary", "seed", "reserve", "families")
# What files may add to, but not change.
_MERGED = ("tasks", "groups", "sources", "tokenizers", "words", "languages")
# Parts of an entry that describe a source or tokenizer and do not identify it.
_DESCRIPTION = (
    *("version", "backend_version", "spec", "urls"),  # of a tokenizer
    *("title", "licence", "citation", "book"),
)
SORTED = ("sources", "tokenizers", "words", "languages")
"""What is found in any order, and written in one."""


def merge_settings(old: Mapping[str, Any], new: Mapping[str, Any], root: Path) -> Manifest:
    """Two manifests of one release in one, without their files; RulerError where they disagree."""
    for key in _FIXED:
        if old[key] != new[key]:
            shown = "" if key == "families" else f": {old[key]!r}, not {new[key]!r}"
            raise RulerError(f"'{root}' was made with another {key}{shown}. Give a new folder.")
    if old.get("mini", False) != new.get("mini", False):
        kind = "a mini release" if old.get("mini") else "a release of whole files"
        raise RulerError(f"'{root}' is {kind}: give a new folder, or the same --mini as before.")
    merged = {key: value for key, value in {**old, **new}.items() if key != "todo"}
    for key in _MERGED:
        for name, value in new[key].items():
            if key != "groups" and _identity(old[key].get(name, value)) != _identity(value):
                raise RulerError(
                    f"'{root}' was made with another '{name}' among its {key}. Give a new folder."
                )
        merged[key] = {**old[key], **new[key]}
    merged["left_out"] = {**old.get("left_out", {}), **new.get("left_out", {})}
    if old.get("suite") != new.get("suite"):
        merged["suite"] = OWN_SUITE
    for name in merged["groups"]:
        both = [*old["groups"].get(name, ()), *new["groups"].get(name, ())]
        merged["groups"][name] = list(dict.fromkeys(both))
    return cast(Manifest, {**merged, "files": {}})


def with_files(shared: Manifest, files: Mapping[str, FileEntry]) -> Manifest:
    """A manifest that lists these files, everything in its written order."""
    known: dict[str, Any] = {**shared}
    sorted_keys = {key: dict(sorted(known.get(key, {}).items())) for key in SORTED}
    there = {entry["config"] for entry in files.values()}
    left = {name: why for name, why in known.pop("left_out", {}).items() if name not in there}
    left_out = {"left_out": dict(sorted(left.items()))} if left else {}
    entries = dict(sorted(files.items()))
    return cast(Manifest, {**known, **sorted_keys, **left_out, "files": entries})


def _identity(value: Any) -> Any:
    """What makes two manifest entries the same: digests and settings, not what is said of them."""
    if not isinstance(value, dict):
        return value
    described = (*_DESCRIPTION, "backend_sha256") if value.get("sha256") else _DESCRIPTION
    return {key: part for key, part in value.items() if key not in described}


def new_settings(
    suite: Suite, seed: int, reserve: int, lengths: Iterable[str], mini: bool = False
) -> Manifest:
    """The manifest but for its files, and for what is known only once sources are read."""
    longest = max((parse_length(name, suite.dataset) for name in lengths), default=0)
    found: Manifest = {
        "format": FORMAT_VERSION,
        "dataset": suite.dataset,
        "data_version": DATA_VERSION,
        "canary": canary_of(suite.dataset, DATA_VERSION),
        "builder_version": version("ruler-release"),
        "seed": seed,
        "reserve": reserve,
        "suite": suite.name,
        "families": suite.families,
        "tasks": suite.described(),
        "groups": {name: list(members) for name, members in suite.groups.items()},
        "sources": {},
        "words": word_lists.digests(extended=longest > parse_length("128k", suite.dataset)),
        "languages": {},
        "tokenizers": {},
        "files": {},
    }
    if mini:
        found["mini"] = True
    return found
