"""Write the rows of one configuration to one Parquet file, a row group at a time.

with parquet_file(path, schema, rows_in_group(131072), level=9) as file:
file.add(row)
file.digest.hexdigest()           # the manifest's `rows_sha256`
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ruler_builder.common.parquet_rows import FORM, Digest, digest_row
from ruler_common.files import temporary_beside
from ruler_common.rows import COLUMNS

_GROUP_TOKENS = 50 * 131072  # rows a group: 50 up to 128k, fewer above, never below 10


def rows_in_group(max_length: int) -> int:
    """How many rows a row group holds at a length in tokens."""
    return max(10, min(50, _GROUP_TOKENS // max(1, max_length)))


@dataclass
class RowWriter:
    """Collects rows into row groups of `group` rows, and a digest of them all."""

    writer: pq.ParquetWriter
    schema: pa.Schema
    group: int
    _: KW_ONLY
    rows: list[dict[str, Any]] = field(default_factory=list)
    digest: Digest = field(default_factory=hashlib.sha256)

    def add(self, row: dict[str, Any]) -> None:
        """Append a row, in the columns of ruler_common/rows.py."""
        digest_row(self.digest, row)
        self.rows.append(row)
        if len(self.rows) == self.group:
            self.flush()

    def flush(self) -> None:
        """Write the rows collected so far as a row group; none if there are none."""
        if not self.rows:
            return
        columns = [
            pa.array([row[name] for row in self.rows], type=self.schema.field(name).type)
            for name in COLUMNS
        ]
        self.writer.write_batch(pa.record_batch(columns, schema=self.schema))
        self.rows.clear()


@contextmanager
def parquet_file(path: Path, schema: pa.Schema, group: int, level: int) -> Iterator[RowWriter]:
    """What writes a Parquet file of `group` rows a row group; zstd at the given level.

    The file has a temporary name until the block ends well; if it does not, nothing stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    packing = {"compression": "zstd", "compression_level": level}
    with (
        temporary_beside(path) as temporary,
        pq.ParquetWriter(temporary, schema, **packing, **FORM) as writer,
    ):
        rows = RowWriter(writer, schema, group)
        yield rows
        rows.flush()
