"""The finished files of a build that has no manifest yet: the folder `.build` of a release.

    .build/data/tekken/4k/vt.json      the manifest of data/tekken/4k/vt.parquet alone

A worker writes the Parquet file and then this one; each gets its name when it is whole. The
release's manifest is these joined, and is written last: then the folder is removed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ruler_common.errors import RulerError
from ruler_common.files import read_bytes, write_whole
from ruler_common.manifest import manifest_text, parse_manifest
from ruler_common.manifest_form import Manifest

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
    write_whole(_record(root, path), manifest_text(manifest))


def read_finished(root: Path) -> dict[str, Manifest]:
    """The manifests of the finished files, by path.

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


def _record(root: Path, path: str) -> Path:
    return (root / BUILD_FOLDER / path).with_suffix(".json")
