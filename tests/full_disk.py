"""A disk with little room: a real one where this machine lets us mount one, else a limit on files.

with small_disk(tmp_path / "disk", 40_000) as disk:     # a folder with 40,000 bytes of room
    …                                                   # OSError: No space left on device
"""

from __future__ import annotations

import contextlib
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

_PAGE = 4096  # bytes; a file takes whole pages, a folder none


@contextlib.contextmanager
def files_of_at_most(size: int, process: int = 0) -> Iterator[None]:
    """A disk that takes no file of more than size bytes, for this process or another alone."""
    soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def small_disk(folder: Path, room: int, process: int = 0) -> Iterator[Path]:
    """A new folder with so many bytes of room; what is in it can be listed until the block ends.

    Where nothing can be mounted, `process` (0: this one) may write no file longer than `room`.
    """
    folder.mkdir()
    pages = max(1, room // _PAGE)  # 0 would be no limit
    mount = ["mount", "-t", "tmpfs", "-o", f"size={pages * _PAGE}", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    try:
        with contextlib.nullcontext() if mounted else files_of_at_most(room, process):
            yield folder
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
