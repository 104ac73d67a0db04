"""The manifest of a release: that of each finished file, and all of them joined.

    settings = new_settings(suite, 0, 128, ["4k"])        # a manifest without files
    write_finished(root, with_files(settings, files))     # .build/data/tekken/4k/vt.json
    manifest = join_manifests(read_finished(root).values(), root)

A worker writes vt.parquet and then its own manifest, vt.json in the folder `.build`; each gets its
name when it is whole. The manifest of the release joins them, refuses what does not go together,
and is written last; then the folder is removed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from ruler_builder.suites.suite import Suite
from ruler_builder.tasks.base import DATA_VERSION
from ruler_builder.text import word_lists
from ruler_common.errors import RulerError
from ruler_common.files import read_bytes, write_whole
from ruler_common.manifest import (
    FORMAT_VERSION,
    OWN_SUITE,
    FileEntry,
    Manifest,
    manifest_text,
    parse_manifest,
)
from ruler_common.names import parse_length
from ruler_common.rows import canary_of

# Settings that all files of a release share.
_EQUAL = ("format", "dataset", "data_version", "canary", "seed", "reserve", "families")
# Settings that files may add to, but not change.
_EXTENDED = ("tasks", "sources", "tokenizers", "words", "languages")
# Parts of an entry that describe a source or tokenizer and do not identify it.
_DESCRIPTION = (
    *("version", "backend_version", "spec", "urls"),  # of a tokenizer
    *("title", "licence", "citation", "book"),
)
SORTED = ("sources", "tokenizers", "words", "languages")
"""What is found in any order, and written in one."""


def join_manifests(manifests: Iterable[Manifest], root: Path) -> Manifest:
    """Return the manifest of all files that these list; `root` is the folder of the release.

    Raises RulerError if two were not made with equal settings.
    """
    first, *others = manifests
    joined = first
    for manifest in others:
        joined = _join(joined, manifest, root)
    return with_files(joined, joined["files"])


def _join(old: Manifest, new: Manifest, root: Path) -> Manifest:
    before: Mapping[str, Any] = old
    after: Mapping[str, Any] = new
    joined = {**before, **after}
    for key in _EQUAL:
        if before[key] != after[key]:
            shown = "" if key == "families" else f": {before[key]!r}, not {after[key]!r}"
            raise RulerError(f"'{root}' was made with another {key}{shown}. Give a new folder.")
    for key in _EXTENDED:
        for name, value in after[key].items():
            if _identity(before[key].get(name, value)) != _identity(value):
                raise RulerError(
                    f"'{root}' was made with another '{name}' among its {key}. Give a new folder."
                )
        joined[key] = {**before[key], **after[key]}
    joined["groups"] = {**old["groups"]}
    for name, tasks in new["groups"].items():
        joined["groups"][name] = list(dict.fromkeys([*old["groups"].get(name, ()), *tasks]))
    if old.get("suite") != new.get("suite"):
        joined["suite"] = OWN_SUITE
    joined["files"] = {**old["files"], **new["files"]}
    return cast(Manifest, joined)


def with_files(shared: Manifest, files: Mapping[str, FileEntry]) -> Manifest:
    """Return a manifest that lists these files, everything in its written order."""
    known: dict[str, Any] = {**shared}
    sorted_keys = {key: dict(sorted(known.get(key, {}).items())) for key in SORTED}
    return cast(Manifest, {**known, **sorted_keys, "files": dict(sorted(files.items()))})


def _identity(value: Any) -> Any:
    """Return what makes two manifest entries the same.

    Digests and settings, not titles and versions.
    """
    if not isinstance(value, dict):
        return value
    described = (*_DESCRIPTION, "backend_sha256") if value.get("sha256") else _DESCRIPTION
    return {key: part for key, part in value.items() if key not in described}


def new_settings(suite: Suite, seed: int, reserve: int, lengths: Iterable[str] = ()) -> Manifest:
    """Return a manifest without files, sources, tokenizers and languages.

    It lists the words of which rows at these lengths are made.
    """
    longest = max((parse_length(name, suite.dataset) for name in lengths), default=0)
    return {
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


BUILD_FOLDER = ".build"


def is_unfinished(root: Path) -> bool:
    """Whether a build of this folder was begun and has not written its manifest."""
    return (root / BUILD_FOLDER).is_dir()


def begin_build(root: Path) -> None:
    """Mark the folder as one that is being built; remove half-written files of a stopped build."""
    (root / BUILD_FOLDER).mkdir(parents=True, exist_ok=True)
    for begun in [*root.glob("data/**/.*.tmp"), *(root / BUILD_FOLDER).glob("**/.*.tmp")]:
        begun.unlink()


def end_build(root: Path) -> None:
    """Remove what only an unfinished build needs."""
    shutil.rmtree(root / BUILD_FOLDER, ignore_errors=True)


def write_finished(root: Path, manifest: Manifest) -> None:
    """Record that the one file of a manifest is finished."""
    (path,) = manifest["files"]
    record = (root / BUILD_FOLDER / path).with_suffix(".json")
    write_whole(record, manifest_text(manifest))


def read_finished(root: Path) -> dict[str, Manifest]:
    """Return the manifests of the finished files, by path.

    A damaged one is left out, and one whose file is missing or has another size: that file is
    built again.
    """
    found = {}
    for record in sorted((root / BUILD_FOLDER).glob("data/**/*.json")):
        try:
            manifest = parse_manifest(read_bytes(record), record)
        except RulerError:
            continue
        for path, entry in manifest["files"].items():
            if (root / path).is_file() and (root / path).stat().st_size == entry["bytes"]:
                found[path] = manifest
    return found
