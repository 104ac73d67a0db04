"""Files: their digests, reading them within bounds, and writing them whole or not at all.

    data = read_bytes(path)                    # a document: a manifest, a suite, a results.json
    for number, line in lines_of(path): …      # predictions and records, however many

A folder may come from anyone: a pipe or device in it would make a program wait for ever, or read
without an end, so that what is no file or too large is refused (RulerError).
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from ruler_common.errors import RulerError

MOST_BYTES = 128 << 20
"""Of a document that is read whole: twenty times the largest results.json of a benchmark."""
MOST_LINE = 64 << 20
"""Bytes of a line of JSON Lines: a prompt of ten million tokens."""
MOST_LINES = 4_000_000
"""Lines of a file: RULER has 52,000 rows, ONERULER 36,400."""
UNREADABLE = (OSError, ValueError, TypeError, LookupError, MemoryError, NotImplementedError)
"""What pyarrow raises for a Parquet file that is none, or is damaged."""


def sha256_of(path: Path) -> str:
    """The hex sha256 of a file, read in chunks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def open_file(path: Path) -> BufferedReader:
    """Open a regular file, or a link to one, to read its bytes.

    Raises RulerError for a folder, a pipe or a device, which is not waited for.
    """
    waits = getattr(os, "O_NONBLOCK", 0)  # Windows has no pipes among its files

    def at_once(name: str, flags: int) -> int:
        return os.open(name, flags | waits)

    if not path.is_dir():
        file = open(path, "rb", opener=at_once)  # noqa: SIM115 (the caller closes it)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
    raise RulerError(f"'{path}' is no file that can be read, but a folder, pipe or device.")


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """All bytes of a file. Raises RulerError for one of more than `most`."""
    with open_file(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise RulerError(f"'{path}' has more than {most:,} bytes: it is not read.")
    return data


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The UTF-8 text of a file, a byte order mark left out. Raises RulerError for another."""
    try:
        return read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RulerError(f"'{path}' is no text in UTF-8.") from error


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file and their numbers, from 1, each with its line feed if it has one.

    Raises RulerError for a line of more than MOST_LINE bytes, and for more than MOST_LINES lines.
    """
    with open_file(path) as file:
        number = 0
        while line := file.readline(MOST_LINE + 1):
            number += 1
            if len(line) > MOST_LINE:
                raise RulerError(
                    f"'{path}', line {number}, has more than {MOST_LINE:,} bytes: it is not read."
                )
            if number > MOST_LINES:
                raise RulerError(f"'{path}' has more than {MOST_LINES:,} lines: give it in parts.")
            yield number, line


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
