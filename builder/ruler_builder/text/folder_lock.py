"""Let one command at a time write into a release's folder.

    with alone_in(Path("ruler")):
        ...

Two builds in one folder would each write a manifest without the other's files. Two locks keep them
apart: one in the user's cache, which is always writable, and for machines that share a disk a file
beside the folder (`.ruler.building`), which is removed in the end: nothing of it is ever part of a
release. The system gives both back when a process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from ruler_builder.text.download import cache_dir
from ruler_common.errors import RulerError


@contextmanager
def alone_in(root: Path) -> Iterator[None]:
    """Keep other builds and fetches out of a folder; RulerError if one is at work there."""
    folder, locks = root.resolve(), cache_dir() / ".locks"
    locks.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(str(folder).encode()).hexdigest()
    lock = FileLock(locks / f"folder-{name}", timeout=0)
    _take(lock, root)
    try:
        with _beside(folder, root):
            yield
    finally:
        lock.release()


@contextmanager
def _beside(folder: Path, root: Path) -> Iterator[None]:
    """Hold the lock beside a folder, unless nobody may write there."""
    made = [parent for parent in folder.parents if not parent.exists()]
    path = folder.with_name(f".{folder.name}.building") if folder.name else None
    try:
        if path is None:
            raise PermissionError
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=0)
        _take(lock, root)
    except OSError:  # a folder for reading alone, or a disk that knows no locks
        yield
        return
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held: nobody else's is removed
        lock.release()
        for parent in made:
            with contextlib.suppress(OSError):  # the release is in it
                parent.rmdir()


def _take(lock: BaseFileLock, root: Path) -> None:
    try:
        lock.acquire()
    except Timeout:
        raise RulerError(
            f"Another `ruler build` or `ruler fetch` is at work in '{root}': "
            "wait until it has ended, or give another folder."
        ) from None
