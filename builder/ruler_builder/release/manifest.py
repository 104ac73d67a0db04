"""The manifest of a release: its settings, and the manifests of its files joined.

    settings = new_settings(suite, seed=0, reserve=128)        # a manifest without files
    manifest = join_manifests([settings, *read_finished(root).values()], root)

A build writes a small manifest for each finished file. The release's manifest is joined from them
and written last; files that were made with different settings are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from ruler_builder.tasks.base import DATA_VERSION
from ruler_builder.tasks.registry import Suite
from ruler_builder.text import corpora
from ruler_common.errors import RulerError
from ruler_common.manifest import FORMAT_VERSION, OWN_SUITE, FileEntry, Manifest
from ruler_common.names import parse_length
from ruler_common.rows import canary_of

# Settings that all files of a release share.
_EQUAL = ("format", "dataset", "data_version", "canary", "seed", "reserve", "families")
# Settings that files may add to, but not change.
_EXTENDED = ("tasks", "sources", "tokenizers", "words", "languages")
# Parts of the entry of a tokenizer or a source that describe it and do not identify it.
_DESCRIPTION = {
    "version",
    "backend_version",
    "spec",
    "title",
    "licence",
    "citation",
    "urls",
    "book",
}


def new_settings(suite: Suite, seed: int, reserve: int, max_length: int = 0) -> Manifest:
    """Return a manifest without files, sources, tokenizers and languages.

    Its word lists are those that rows of up to `max_length` tokens need.
    """
    extended = max_length > parse_length("128k", suite.dataset)
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
        "words": corpora.digests(extended),
        "languages": {},
        "tokenizers": {},
        "files": {},
    }


def join_manifests(manifests: Iterable[Manifest], root: Path) -> Manifest:
    """Return one manifest with the files of all; `root` is the folder of the release.

    Raises RulerError if two of them have different settings.
    """
    first, *others = manifests
    joined: dict[str, Any] = {**first}
    for key in (*_EXTENDED, "groups", "files"):
        joined[key] = {**joined[key]}
    for manifest in others:
        added: Mapping[str, Any] = manifest
        for key in _EQUAL:
            if joined[key] != added[key]:
                values = "" if key == "families" else f": {joined[key]!r}, not {added[key]!r}"
                raise RulerError(
                    f"'{root}' was made with another {key}{values}. Give a new folder."
                )
        for key in _EXTENDED:
            for name, value in added[key].items():
                if _identity(joined[key].setdefault(name, value)) != _identity(value):
                    raise RulerError(
                        f"'{root}' was made with another '{name}' among its {key}. "
                        "Give a new folder."
                    )
            joined[key] |= added[key]
        for name, tasks in added["groups"].items():
            joined["groups"][name] = list(dict.fromkeys([*joined["groups"].get(name, ()), *tasks]))
        if joined.get("suite") != added.get("suite"):
            joined["suite"] = OWN_SUITE
        joined["builder_version"] = added["builder_version"]
        joined["files"] |= added["files"]
    return with_files(cast(Manifest, joined), joined["files"])


def with_files(settings: Manifest, files: Mapping[str, FileEntry]) -> Manifest:
    """Return a manifest that lists these files, everything in its written order."""
    manifest: dict[str, Any] = {**settings, "files": files}
    for key in ("sources", "tokenizers", "words", "languages", "files"):
        manifest[key] = dict(sorted(manifest.get(key, {}).items()))
    return cast(Manifest, manifest)


def _identity(value: Any) -> Any:
    """Return the parts of a manifest entry that identify it: digests and settings, not titles."""
    if not isinstance(value, dict):
        return value
    described = set(_DESCRIPTION)
    if value.get("sha256"):
        described.add("backend_sha256")
    return {key: part for key, part in value.items() if key not in described}
