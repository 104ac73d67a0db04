"""Files: their digests, and writing them whole or not at all."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNREADABLE = (OSError, ValueError, TypeError, LookupError, MemoryError, NotImplementedError)
"""What pyarrow raises for a Parquet file that is none, or is damaged."""


def sha256_of(path: Path) -> str:
    """The hex sha256 of a file, read in chunks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it when the block ends well, else removed.

    A reader sees the old file or the new one, never a part; a killed process leaves no more than
    `.NAME.PID.tmp` behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a UTF-8 text file with line feeds, whole or not at all; raises OSError.

    Half of a surrogate pair, which has no UTF-8 form, is written as JSON escapes it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_beside(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", "backslashreplace"))
