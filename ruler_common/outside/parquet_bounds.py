"""A Parquet file from outside: opened only if reading a row group of it takes bounded memory.

    with open_parquet(path) as file:      # a pyarrow.parquet.ParquetFile
        file.read_row_group(0)
    rows = rows_of(path, ["doc.id"])      # of a file with more columns than are read

A few bytes can stand for any number of rows, or unpack to any size, and pyarrow takes the memory
before it looks. What a file's footer says of its sizes it need not hold to; so the header before
each page is read too, in Thrift's compact protocol as the format's definition
(github.com/apache/parquet-format) numbers the fields, and the bounds are of these.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ruler_common.errors import RulerError
from ruler_common.files import UNREADABLE, open_file
from ruler_common.outside.thrift_compact import read_struct

MOST_FOOTER = 16 << 20
"""Bytes of the list of row groups at a file's end."""
MOST_UNPACKED = 1 << 30
"""Bytes of a row group's pages: twice the longest rows there are, ten of ten million tokens."""
MOST_VALUES = 2_000_000
"""Of a row group, those in lists counted one by one."""
_HEADER = 1 << 16  # bytes in which a page's header lies
_TYPE, _SIZE, _PACKED = 1, 2, 3  # fields of a PageHeader
_DICTIONARY, _DATA = 2, {0: (5, 2), 3: (8, 4)}  # types; of data: the fields of header and encoding
_PLAIN, _CODED = 0, (2, 8)  # encodings: values as they are, or as numbers of a dictionary's
_REMEDY = "Get or build it anew."


def open_parquet(path: Path) -> Any:
    """Open a Parquet file as a pyarrow.parquet.ParquetFile.

    Raises RulerError for a file that is none, and where a row group would take more memory than
    MOST_UNPACKED and MOST_VALUES allow.
    """
    import pyarrow.parquet as pq

    with _one_sentence(path):
        _check(path)
        return pq.ParquetFile(path)


def schema_of(path: Path) -> Any:
    """The pyarrow.Schema of a Parquet file. Raises RulerError as `open_parquet` does."""
    with open_parquet(path) as file, _one_sentence(path):
        return file.schema_arrow


def leaf_columns(path: Path) -> list[str]:
    """The columns of a Parquet file, those within others by their path: `doc.choices.list.item`.

    Raises RulerError for a file that is none.
    """
    import pyarrow.parquet as pq

    with _one_sentence(path), open_file(path) as file:
        _check_footer(file)
        with pq.ParquetFile(file) as opened:
            schema = opened.schema
            return [schema.column(at).path for at in range(len(schema))]


def rows_of(path: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, of these leaf columns alone: the bounds are of what they take.

    Raises RulerError as `open_parquet` does.
    """
    import pyarrow.parquet as pq

    if not columns:
        return
    with _one_sentence(path):
        _check(path, set(columns))
        with pq.ParquetFile(path) as opened:
            for group in range(opened.num_row_groups):
                yield from opened.read_row_group(group, columns=list(columns)).to_pylist()


@contextmanager
def _one_sentence(path: Path) -> Iterator[None]:
    try:
        yield
    except (*UNREADABLE, RecursionError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        why = str(error).partition("\n")[0]
        raise RulerError(f"'{path}' is no Parquet file: {why}. {_REMEDY}") from error


def _check(path: Path, columns: Collection[str] | None = None) -> None:
    """Raise ValueError for a file over the bounds; None: of all its columns."""
    import pyarrow.parquet as pq

    with open_file(path) as file:
        _check_footer(file)
        with pq.ParquetFile(file) as opened:
            groups = (opened.metadata.row_group(at) for at in range(opened.num_row_groups))
            rows = sum(_checked_rows(file, group, columns) for group in groups)
            if rows != opened.metadata.num_rows:
                raise ValueError(f"it claims {opened.metadata.num_rows:,} rows and has {rows:,}")


def _check_footer(file: BinaryIO) -> None:
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 8))
    last = file.read(8)
    if last[4:] == b"PAR1" and int.from_bytes(last[:4], "little") > MOST_FOOTER:
        raise ValueError(f"its footer has more than {MOST_FOOTER:,} bytes")


def _checked_rows(file: BinaryIO, group: Any, columns: Collection[str] | None) -> int:
    """The rows of a row group. Raises ValueError for one over the bounds."""
    unpacked, values = 0, group.num_rows
    for number in range(group.num_columns):
        chunk = group.column(number)
        if columns is not None and chunk.path_in_schema not in columns:
            continue
        dictionary, coded, counts = 0, 0, [0]
        for page in _pages(file, chunk):
            unpacked += page[_SIZE]
            dictionary += page[_SIZE] * (page[_TYPE] == _DICTIONARY)
            if page[_TYPE] in _DATA:
                header, place = _DATA[page[_TYPE]]
                counts.append(page[header][1])
                encoding = page[header][place]
                if encoding != _PLAIN and encoding not in _CODED:
                    raise ValueError(f"a page has the encoding {encoding}, which no release has")
                coded += counts[-1] * (encoding in _CODED)
        if min(*counts, chunk.num_values, group.num_rows) < 0:
            raise ValueError("a page has a number of values below 0")
        unpacked += coded * dictionary  # each value may be the whole of the dictionary
        values += max(sum(counts), chunk.num_values)
    if unpacked > MOST_UNPACKED or values > MOST_VALUES:
        raise ValueError(
            f"a row group would unpack to {unpacked:,} bytes and {values:,} values, over the "
            f"bounds of {MOST_UNPACKED:,} and {MOST_VALUES:,}"
        )
    return int(group.num_rows)


def _pages(file: BinaryIO, chunk: Any) -> Iterator[dict[int, Any]]:
    """The headers of a column chunk's pages, by number of the field."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    end = start + chunk.total_compressed_size
    while start < end:
        file.seek(start)
        page, size = read_struct(file.read(_HEADER))
        if min(page[_SIZE], page[_PACKED]) < 0:
            raise ValueError("a page has a size below 0")
        yield page
        start += size + page[_PACKED]
