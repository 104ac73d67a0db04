"""Let one command at a time write into a release's folder.

    with alone_in(Path("ruler")):
        ...

Two builds in one folder would each write a manifest without the other's files. The lock lies in the
cache, so that nothing of it is part of a release; the system gives it back when a process ends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from builder.sources.download import cache_dir
from ruler_dataset import RulerError


@contextmanager
def alone_in(root: Path) -> Iterator[None]:
    """Keep other builds and fetches out of a folder; RulerError if one is at work there."""
    from filelock import FileLock, Timeout

    locks = cache_dir() / ".locks"
    locks.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(str(root.resolve()).encode()).hexdigest()
    lock = FileLock(locks / f"folder-{name}", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise RulerError(
            f"Another `ruler build` or `ruler fetch` is at work in '{root}': "
            "wait until it has ended, or give another folder."
        ) from None
    try:
        yield
    finally:
        lock.release()
