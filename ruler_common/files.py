"""Read files, compute their digests, and write them whole or not at all.

data = read_bytes(path)                    # a manifest, a suite, a results.json
for number, line in lines_of(path): …      # predictions and records
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ruler_common.errors import RulerError

UNREADABLE = (OSError, ValueError, TypeError, LookupError, MemoryError, NotImplementedError)
"""What pyarrow raises for a file that is not Parquet, or is damaged."""


def sha256_of(path: Path) -> str:
    """The hex sha256 of a file, read in chunks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file. Raises RulerError for a folder."""
    if path.is_dir():
        raise RulerError(f"'{path}' is a folder: name a file.")
    return path.read_bytes()


def read_text(path: Path) -> str:
    """Return the UTF-8 text of a file without a byte order mark. Raises RulerError."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RulerError(f"'{path}' is not UTF-8 text.") from error


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, from 1, and their line feeds."""
    if path.is_dir():
        raise RulerError(f"'{path}' is a folder: name a file.")
    with path.open("rb") as file:
        yield from enumerate(file, 1)


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
