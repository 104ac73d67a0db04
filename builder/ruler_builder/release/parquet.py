"""Write and read the rows of a configuration as a Parquet file, and compute their digest.

    write_rows(path, rows, rows_in_group(131072), level=9)     # the manifest's `rows_sha256`

The digest is over the rows themselves: equal rows have the same digest, whatever wrote the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from ruler_common.files import temporary_beside
from ruler_common.rows import COLUMNS, Row, arrow_schema

_STATISTICS = ["index", "length", "max_length"]  # of long texts they would bloat the footer
FORM: dict[str, Any] = {
    "use_dictionary": False,
    "data_page_size": 1 << 30,
    "write_statistics": _STATISTICS,
}
"""Arguments of pyarrow's ParquetWriter, except for the compression.

Long rows share most of their text, so a row group is one page: the compressor then sees the rows
side by side (an essay file of 500 rows of 600 KB takes a few MB)."""


def digest_row(digest: hashlib._Hash, row: Mapping[str, Any]) -> None:
    """Feed one row to a digest: its input as it is, the other columns as JSON.

    Depths are taken from the offsets: a file keeps them in 32 bits, and rows read from it must have
    the digest of those that were written.
    """
    rest = {name: row[name] for name in COLUMNS}
    start, width = row["context_start"], max(1, row["context_end"] - row["context_start"])
    rest["evidence"] = [{**s, "depth": (s["start"] - start) / width} for s in row["evidence"]]
    digest.update(rest.pop("input").encode())
    digest.update(json.dumps(rest, ensure_ascii=False, separators=(",", ":")).encode())


def rows_of(file: pq.ParquetFile) -> Iterator[Row]:
    """Yield the rows of a file, with one row group in memory.

    Rows are converted one at a time: as Python objects they take twice the memory of their group.
    """
    for group in range(file.num_row_groups):
        for batch in file.read_row_group(group).to_batches(max_chunksize=1):
            yield from cast(list[Row], batch.to_pylist())


_GROUP_TOKENS = 50 * 131072  # rows a group: 50 up to 128k, fewer above, never below 10


def rows_in_group(max_length: int) -> int:
    """Return the number of rows of a row group at a length in tokens."""
    return max(10, min(50, _GROUP_TOKENS // max(1, max_length)))


def write_rows(path: Path, rows: Iterable[Row], group: int, level: int) -> str:
    """Write rows into a Parquet file of `group` rows per row group, and return their digest.

    The file has a temporary name until all rows are written, and is removed after an error.

    Args:
        path: The file; its folder is made.
        rows: The rows, with the columns of ruler_common/rows.py; one group is kept in memory.
        group: The number of rows of a row group.
        level: The compression level of zstd.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    schema, digest, unwritten = arrow_schema(), hashlib.sha256(), iter(rows)
    packing = {"compression": "zstd", "compression_level": level}
    with (
        temporary_beside(path) as temporary,
        pq.ParquetWriter(temporary, schema, **packing, **FORM) as writer,
    ):
        while batch := list(islice(unwritten, group)):
            for row in batch:
                digest_row(digest, row)
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))
    return digest.hexdigest()
