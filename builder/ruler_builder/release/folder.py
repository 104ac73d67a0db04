"""The folder of a release during a build: its lock, and the files that are finished.

    with locked_folder(root):
        begin_build(root)
        write_finished(root, manifest)      # .build/data/tekken/4k/vt.json

A worker writes vt.parquet and then the manifest of this one file, vt.json in the folder `.build`;
each is renamed into place when it is complete. A file that has both is not made again. The folder
`.build` is removed when the manifest of the release has been written.

Two builds in one folder would each write a manifest without the other's files. The lock is a file
next to the folder (`.ruler.building`), so that it also works between machines that share a disk.
The system releases it when a process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from ruler_builder.text.sources import cache_dir
from ruler_common.errors import RulerError
from ruler_common.files import check_writable, read_bytes, write_whole
from ruler_common.manifest import Manifest, manifest_text, parse_manifest

BUILD_FOLDER = ".build"


def is_unfinished(root: Path) -> bool:
    """Return whether a build was started in this folder and has not finished."""
    return (root / BUILD_FOLDER).is_dir()


def begin_build(root: Path) -> None:
    """Mark the folder as being built, and remove half-written files of a stopped build."""
    (root / BUILD_FOLDER).mkdir(parents=True, exist_ok=True)
    for half_written in [*root.glob("data/**/.*.tmp"), *(root / BUILD_FOLDER).glob("**/.*.tmp")]:
        half_written.unlink()


def write_finished(root: Path, manifest: Manifest) -> None:
    """Record that the one file of a manifest is finished."""
    (path,) = manifest["files"]
    write_whole((root / BUILD_FOLDER / path).with_suffix(".json"), manifest_text(manifest))


def read_finished(root: Path) -> dict[str, Manifest]:
    """Return the manifests of the finished files, by path.

    A manifest is left out if it is damaged, or if its file is missing or has another size: that
    file is built again.
    """
    finished = {}
    for record in sorted((root / BUILD_FOLDER).glob("data/**/*.json")):
        try:
            manifest = parse_manifest(read_bytes(record), record)
        except RulerError:
            continue
        for path, entry in manifest["files"].items():
            if (root / path).is_file() and (root / path).stat().st_size == entry["bytes"]:
                finished[path] = manifest
    return finished


@contextmanager
def locked_folder(root: Path) -> Iterator[None]:
    """Keep other builds and fetches out of a folder.

    Raises RulerError if one is running there, and for a folder that cannot be written.
    """
    folder = root.resolve()
    if folder.is_file():
        raise RulerError(f"'{root}' is a file: give the folder to make or extend.")
    check_writable(folder)
    new_parents = [parent for parent in folder.parents if not parent.exists()]
    try:
        lock = _acquire(folder)
    except Timeout:
        raise RulerError(
            f"Another `ruler build` or `ruler fetch` is running in '{root}': "
            "wait until it ends, or give another folder."
        ) from None
    try:
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)  # while it is locked: it is ours
        lock.release()
        for parent in new_parents:
            with contextlib.suppress(OSError):  # the release is in it
                parent.rmdir()


def _acquire(folder: Path) -> BaseFileLock:
    """Lock a file next to the folder, or in the cache if that cannot be locked. Raises Timeout."""
    lock = FileLock(folder.with_name(f".{folder.name}.building"), timeout=0)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise
    except OSError:  # the parent is read-only, or its disk has no locks
        name = hashlib.sha256(str(folder).encode()).hexdigest()
        lock = FileLock(cache_dir() / ".locks" / f"folder-{name}", timeout=0)
        Path(lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    return lock
