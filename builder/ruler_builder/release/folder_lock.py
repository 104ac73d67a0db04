"""Let one command at a time write into a release's folder.

    with alone_in(Path("ruler")):
        ...

Two builds in one folder would each write a manifest without the other's files. The lock is a file
beside the folder (`.ruler.building`), so that it also holds between machines that share a disk. The
system releases it when a process ends, however it ends.
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
from ruler_common.files import check_writable


@contextmanager
def alone_in(root: Path) -> Iterator[None]:
    """Keep other builds and fetches out of a folder. Raises RulerError if one is running there."""
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
            "wait until it has ended, or give another folder."
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
    """Lock a file beside the folder; in the cache if none can be locked there. Raises Timeout."""
    beside = FileLock(folder.with_name(f".{folder.name}.building"), timeout=0)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside.acquire()
    except Timeout:
        raise
    except OSError:  # the parent is read-only, or its disk has no locks
        name = hashlib.sha256(str(folder).encode()).hexdigest()
        in_cache = FileLock(cache_dir() / ".locks" / f"folder-{name}", timeout=0)
        Path(in_cache.lock_file).parent.mkdir(parents=True, exist_ok=True)
        in_cache.acquire()
        return in_cache
    return beside
