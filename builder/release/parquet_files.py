"""Write the rows of one configuration to one Parquet file, a row group at a time.

Long rows share most of their text, so a row group is one page: the compressor then sees the rows
side by side (an essay file of 500 rows of 600 KB takes a few MB).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ruler_dataset import COLUMNS, temporary_beside

_GROUP_TOKENS = 50 * 131072  # rows a group: 50 up to 128k, fewer above, never below 10
_STATISTICS = ["index", "length", "max_length"]  # of long texts they would bloat the footer


def rows_in_group(max_length: int) -> int:
    """How many rows a row group holds at a length in tokens."""
    return max(10, min(50, _GROUP_TOKENS // max_length))


@dataclass
class ParquetFile:
    """A file being written under a temporary name; `close` gives it its own.

    `digest` is over the rows themselves: equal rows give an equal digest whatever wrote the file.
    """

    path: Path
    schema: pa.Schema
    group: int
    level: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    digest: Any = field(default_factory=hashlib.sha256)

    def __enter__(self) -> ParquetFile:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._whole = temporary_beside(self.path)
        self._temporary = self._whole.__enter__()
        self._writer = pq.ParquetWriter(
            self._temporary,
            self.schema,
            compression="zstd",
            compression_level=self.level,
            use_dictionary=False,
            data_page_size=1 << 30,
            write_statistics=_STATISTICS,
        )
        return self

    def add(self, row: dict[str, Any]) -> None:
        """Append a row, in the columns of ruler_dataset.COLUMNS."""
        digest_row(self.digest, row)
        self.rows.append(row)
        if len(self.rows) == self.group:
            self._flush()

    def _flush(self) -> None:
        columns = [
            pa.array([row[name] for row in self.rows], type=self.schema.field(name).type)
            for name in COLUMNS
        ]
        self._writer.write_batch(pa.record_batch(columns, schema=self.schema))
        self.rows.clear()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None and self.rows:
                self._flush()
            self._writer.close()
        except BaseException as failed:
            self._whole.__exit__(type(failed), failed, failed.__traceback__)
            raise
        self._whole.__exit__(kind, error, trace)


def digest_row(digest: Any, row: dict[str, Any]) -> None:
    """Feed one row to a hash: its input as it is, the other columns as JSON."""
    rest = {name: row[name] for name in COLUMNS if name != "input"}
    digest.update(row["input"].encode())
    digest.update(json.dumps(rest, ensure_ascii=False, separators=(",", ":")).encode())


def read_groups(path: Path) -> Iterator[list[dict[str, Any]]]:
    """The rows of a file, a row group at a time."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group).to_pylist()
