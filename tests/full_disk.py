"""Make a full disk: a small tmpfs if this machine allows mounts, else a limit on file sizes.

with small_disk(tmp_path / "disk", 40_000) as disk:     # a folder that holds 40,000 bytes
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
def limit_file_size(size: int, process: int = 0) -> Iterator[None]:
    """Let a process (0 is this one) write no file of more than `size` bytes."""
    soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def small_disk(folder: Path, size: int, process: int = 0) -> Iterator[Path]:
    """Make a folder that holds at most `size` bytes; its files are gone after the block.

    If nothing can be mounted, `process` (0 is this one) can write no file of more than `size`
    bytes, and the files remain.
    """
    folder.mkdir()
    pages = max(1, size // _PAGE)  # 0 would mean no limit
    mount = ["mount", "-t", "tmpfs", "-o", f"size={pages * _PAGE}", "tmpfs", str(folder)]
    try:
        is_mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        is_mounted = False
    try:
        with contextlib.nullcontext() if is_mounted else limit_file_size(size, process):
            yield folder
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
