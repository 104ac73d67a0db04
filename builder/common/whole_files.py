"""Write a file so that it is there whole or not at all.

    write_whole(path, "text")              # under a temporary name, synced, then renamed

A reader sees the old file or the new one, never a part; after a crash no more than a temporary file
`.NAME.PID` is left behind.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it when the block ends well, else removed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a UTF-8 text file with line feeds; raises OSError where it cannot."""
    with temporary_beside(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
