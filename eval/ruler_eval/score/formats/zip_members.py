"""The members of a zip file from outside, each unpacked within bounds.

    with ZipMembers(Path("logs/2026-….eval")) as members:
        header = members.read("header.json")

Some hundred bytes of a zip can claim any size or unpack to gigabytes. Here nothing is believed that
the file says of sizes: what is read or unpacked is counted.
"""

from __future__ import annotations

import copy
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ruler_common.errors import RulerError
from ruler_common.files import open_file

MOST_LISTED = 16 << 20
"""Bytes of the list of members: more than 150,000 samples."""
MOST_UNPACKED = 64 << 20
"""Bytes of a member: a sample with a prompt of ten million tokens."""
_ZSTANDARD = 93  # Inspect's compression, which zipfile knows since Python 3.14 alone
_CHUNK = 1 << 20


class ZipMembers:
    """The members of a zip file, to be closed. Raises RulerError for what is over the bounds.

    What else is wrong with a file raises what `zipfile` and the decompressors raise.
    """

    def __init__(self, file: Path) -> None:
        self._file, self._open = file, _Listed(open_file(file).detach())
        try:
            self._zip = zipfile.ZipFile(self._open)
        except BaseException:
            self._open.close()
            raise
        self._found = {info.filename: info for info in self._zip.infolist()}  # the last counts

    def __enter__(self) -> ZipMembers:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def __iter__(self) -> Iterator[str]:
        """The names of the members, each once."""
        return iter(self._found)

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def read(self, name: str) -> bytes:
        """All of a member, unpacked. Raises KeyError for none of that name."""
        info = self._found[name]
        if info.compress_type == _ZSTANDARD:
            info = copy.copy(info)
            info.compress_type, info.file_size = zipfile.ZIP_STORED, info.compress_size
            info.CRC = None  # type: ignore[assignment]  # of what is unpacked: not compared
        elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} has an unknown compression")
        data = bytearray()
        with self._zip.open(info) as packed:
            source: Any = packed if info is self._found[name] else _unpacking(packed)
            while chunk := source.read(_CHUNK):
                data += chunk
                if len(data) > MOST_UNPACKED:
                    raise RulerError(
                        f"'{self._file}': {name[:80]!r} unpacks to more than {MOST_UNPACKED:,} "
                        "bytes: it is not read."
                    )
        return bytes(data)


def _unpacking(packed: IO[bytes]) -> Any:
    """A file that unpacks another by Zstandard as it is read."""
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd")


class _Listed(io.BufferedReader):
    """A file of which no more than MOST_LISTED bytes are read at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read as many bytes as asked for. Raises ValueError for too many."""
        most = MOST_LISTED + 1
        data = super().read(most if size is None or size < 0 else min(size, most))
        if len(data) == most:
            raise ValueError("its list of members is too long")
        return data
