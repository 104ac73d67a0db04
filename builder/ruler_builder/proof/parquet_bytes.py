"""Hold every byte of a Parquet file to what the rows need: nothing stands between or behind them.

    footer = read_footer(path)
    found = [*check_layout(footer), *check_row_group(footer, 0, table)]     # sentences

A reader of Parquet follows the offsets of the footer and passes over all else: bytes that no column
has, texts in the metadata of a field, a field that no specification knows, a second frame behind a
page's own. So the rows of a row group are written again, without compression, and all is compared:
pages byte for byte once they are unpacked, the footer field by field but for the sizes, which are
added up anew.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ruler_builder.common.parquet_rows import FORM
from ruler_common.files import UNREADABLE
from ruler_common.outside.thrift_compact import read_struct
from ruler_common.rows import arrow_schema

_MAGIC = b"PAR1"
_TAIL = 8  # bytes after the footer: its length and the magic
_LONGEST_COPY = 1 << 16  # bytes of what is said of a column
_ZSTD, _ZSTD_MAGIC = 6, b"\x28\xb5\x2f\xfd"
_WRITER = re.compile(r"parquet-cpp-arrow version [0-9]+\.[0-9]+\.[0-9]+(-SNAPSHOT)?")
# Numbers of the fields in parquet.thrift, of which the rest are compared as they are.
_SCHEMA, _ROWS, _GROUPS, _KEY_VALUES, _CREATED_BY = 2, 3, 4, 5, 6
_DESCRIBED = {_SCHEMA: "columns", _KEY_VALUES: "rows", _GROUPS: "pages"}
_COLUMNS, _GROUP_BYTES, _GROUP_OFFSET, _GROUP_PACKED, _ORDINAL = 1, 2, 5, 6, 7
_CHUNK_OFFSET, _CHUNK = 2, 3
_CODEC, _UNPACKED, _PACKED, _FIRST_PAGE = 4, 6, 7, 9
_PAGE_UNPACKED, _PAGE_PACKED = 2, 3


class Footer(NamedTuple):
    """A file's footer: its fields by their numbers, and the bytes at which it begins and ends."""

    path: Path
    fields: dict[int, Any]
    start: int
    end: int

    @property
    def writer(self) -> str:
        """What says that it wrote the file."""
        return str(self.fields.get(_CREATED_BY, b"").decode(errors="replace"))

    def chunks(self, group: int) -> list[dict[int, Any]]:
        """The columns of a row group."""
        found: list[dict[int, Any]] = self.fields[_GROUPS][group][_COLUMNS]
        return found


def own_writer() -> str:
    """How the pyarrow of this environment signs its files."""
    import pyarrow as pa

    return f"parquet-cpp-arrow version {pa.cpp_version}"


def read_footer(path: Path) -> Footer:
    """The footer of a file. Raises ValueError or IndexError for one that is none."""
    with path.open("rb") as file:
        return _footer(file, path)


def _footer(file: io.BufferedIOBase, path: Path) -> Footer:
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _TAIL))
    tail = file.read()
    start = size - _TAIL - int.from_bytes(tail[:4], "little")
    file.seek(max(0, start))
    data = file.read(size - _TAIL - start)
    fields, end = read_struct(data)
    return Footer(path, fields, start, start + end)


def check_layout(footer: Footer) -> Iterator[str]:
    """Every byte of the file is the magic, a column of a row group, or the footer."""
    with footer.path.open("rb") as file:
        first = file.read(len(_MAGIC))
        size = file.seek(-len(_MAGIC), io.SEEK_END) + len(_MAGIC)
        if (first, file.read()) != (_MAGIC, _MAGIC):
            yield f"the file does not begin and end with {_MAGIC.decode()}"
        if footer.end != size - _TAIL:
            yield f"{size - _TAIL - footer.end} bytes stand behind the footer's fields"
        at, rows = len(_MAGIC), 0
        for number, group in enumerate(footer.fields[_GROUPS]):
            right = {_GROUP_BYTES: 0, _GROUP_OFFSET: at, _GROUP_PACKED: 0, _ORDINAL: number}
            for chunk in group[_COLUMNS]:
                about = chunk[_CHUNK]
                if about[_FIRST_PAGE] != at:
                    yield f"the bytes from {at} to {about[_FIRST_PAGE]} of the file are no column's"
                    return
                right[_GROUP_BYTES] += about[_UNPACKED]
                right[_GROUP_PACKED] += about[_PACKED]
                at = _end_of_chunk(file, chunk)
            if any(group.get(field, value) != value for field, value in right.items()):
                yield f"the sizes of row group {number} are not those of its columns"
            rows += group[_ROWS]
    if at != footer.start:
        yield f"the bytes from {at} to {footer.start} of the file are no column's"
    if footer.fields[_ROWS] != rows:
        yield f"the footer counts {footer.fields[_ROWS]} rows, its row groups {rows}"


def _end_of_chunk(file: io.BufferedIOBase, chunk: dict[int, Any]) -> int:
    """Where a column ends: its pages, and the copy that old versions of pyarrow put behind them."""
    about = chunk[_CHUNK]
    end: int = about[_FIRST_PAGE] + about[_PACKED]
    if chunk.get(_CHUNK_OFFSET) != end:
        return end
    file.seek(end)
    try:
        said, length = read_struct(file.read(_LONGEST_COPY))
    except (ValueError, IndexError):
        return end
    return end + length if said == chunk else end


def check_row_group(footer: Footer, number: int, table: Any) -> Iterator[str]:
    """The pages and the metadata of a row group are those of its rows, a pyarrow.Table."""
    written = _written(table)
    right, same = _footer(written, footer.path), footer.writer == own_writer()
    own_bytes = written.getbuffer()  # no copies: these are tens of megabytes
    found = {**footer.fields, _GROUPS: [_without_sizes(footer.fields[_GROUPS][number])], _ROWS: 0}
    wanted = {**right.fields, _GROUPS: [_without_sizes(right.fields[_GROUPS][0])], _ROWS: 0}
    if not same:
        if not _WRITER.fullmatch(footer.writer):
            yield f"a build does not sign its files as {footer.writer[:40]!r}"
        found |= {_KEY_VALUES: _with_schema_read(found), _CREATED_BY: 0}
        wanted |= {_KEY_VALUES: _with_schema_read(wanted)}
    for field, what in _DESCRIBED.items():
        if _other(found.pop(field, None), wanted.pop(field), same):
            yield f"the file describes its {what} otherwise than a release does (its metadata)"
    if _other(found, wanted, same):
        yield "the footer says more of the file than a release's does"
    with footer.path.open("rb") as file:
        for chunk, own in zip(footer.chunks(number), right.chunks(0), strict=False):
            about, expected = chunk[_CHUNK], own[_CHUNK]
            file.seek(about[_FIRST_PAGE])
            data, start = file.read(about[_PACKED]), expected[_FIRST_PAGE]
            column = ".".join(name.decode(errors="replace") for name in about[3])
            for what in _pages(data, about, own_bytes[start : start + expected[_PACKED]], same):
                yield f"the column {column} of row group {number} {what}"
                return


def _written(table: Any) -> io.BytesIO:
    """A file of these rows alone, as a build writes it but for the compression."""
    import pyarrow.parquet as pq

    to = io.BytesIO()
    with pq.ParquetWriter(to, arrow_schema(), compression="none", **FORM) as writer:
        writer.write_table(table.replace_schema_metadata(arrow_schema().metadata).combine_chunks())
    return to


def _pages(data: bytes, about: dict[int, Any], right: memoryview, same: bool) -> Iterator[str]:
    """What is wrong with the one page of a column, compared with that of the same rows."""
    import pyarrow as pa

    expected, body = read_struct(right)
    try:
        head, at = read_struct(data)
        packed, unpacked = head[_PAGE_PACKED], head[_PAGE_UNPACKED]
    except UNREADABLE:
        yield "has no page that can be read"
        return
    if about[_CODEC] != _ZSTD:
        yield "is not compressed as a release's is"
        return
    if len(data) != at + packed or frame_size(data[at:]) != packed:
        yield "has bytes behind its page"
        return
    if about[_UNPACKED] != at + unpacked:
        yield "has another size than its page"
    head[_PAGE_PACKED] = expected[_PAGE_PACKED]
    if _other(head, expected, same):
        yield "describes its page otherwise than a release does"
    elif not pa.py_buffer(right[body:]).equals(
        pa.Codec("zstd").decompress(data[at:], max(0, unpacked))
    ):
        yield "has a page that is not that of its rows"


def frame_size(data: bytes) -> int:
    """The bytes of the zstd frame that data begin with; -1 if they begin with none.

    What unpacks a page passes over further frames, one to be skipped among them.
    """
    try:
        flags = data[4]
        at = 5 + (not flags & 32) + (0, 1, 2, 4)[flags & 3]
        at += (flags >> 5 & 1, 2, 4, 8)[flags >> 6]
        last = data[:4] != _ZSTD_MAGIC
        if last:
            return -1
        while not last:
            block = int.from_bytes(data[at : at + 3], "little")
            last = bool(block & 1) or at >= len(data)
            at += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)
        return at + 4 * (flags >> 2 & 1)
    except IndexError:
        return -1


def _without_sizes(group: dict[int, Any]) -> dict[int, Any]:
    """A row group's fields but for offsets, sizes and the compression: check_layout has these."""
    sizes = {_GROUP_BYTES, _GROUP_OFFSET, _GROUP_PACKED, _ORDINAL}
    of_chunk = {_CODEC, _UNPACKED, _PACKED, _FIRST_PAGE}
    columns = []
    for chunk in group[_COLUMNS]:
        about = {field: value for field, value in chunk[_CHUNK].items() if field not in of_chunk}
        columns.append({**chunk, _CHUNK_OFFSET: 0, _CHUNK: about})
    return {**{f: value for f, value in group.items() if f not in sizes}, _COLUMNS: columns}


def _other(found: Any, right: Any, same: bool) -> bool:
    """Whether a structure is another, or, by another writer than the `same`, has another text."""
    return bool(found != right if same else _texts(found) - _texts(right))


def _with_schema_read(fields: dict[int, Any]) -> list[Any]:
    """The key-value metadata with Arrow's schema read: its bytes are its version's own."""
    import pyarrow as pa

    found: list[Any] = []
    for pair in fields.get(_KEY_VALUES, []):
        if pair.get(1) == b"ARROW:schema":
            schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(pair[2], validate=True)))
            same = schema.equals(arrow_schema(), check_metadata=True)
            pair = {**pair, 2: b"" if same else pair[2]}
        found.append(pair)
    return found


def _texts(value: Any) -> set[bytes]:
    """Every text in a structure."""
    if isinstance(value, bytes):
        return {value}
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {text for part in parts for text in _texts(part)}
