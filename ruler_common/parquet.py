"""Open Parquet files: whatever is wrong with one is a sentence.

with open_parquet(path) as file:      # a pyarrow.parquet.ParquetFile
file.read_row_group(0)
rows = rows_of(path, ["doc.id"])      # of a file with more columns than are read
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import UNREADABLE


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file as a pyarrow.parquet.ParquetFile.

    Raises RulerError for a file that is not one, and if reading within the block shows damage.
    """
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (*UNREADABLE, RecursionError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        why = str(error).partition("\n")[0]
        raise RulerError(
            f"'{path}' is not a readable Parquet file: {why}. Get it or build it again."
        ) from error


def leaf_columns(path: Path) -> list[str]:
    """The columns of a Parquet file, those within others by their path: `doc.choices.list.item`.

    Raises RulerError as `open_parquet` does.
    """
    with open_parquet(path) as file:
        return [file.schema.column(place).path for place in range(len(file.schema))]


def rows_of(path: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, of these leaf columns alone; no row if there are none.

    Raises RulerError as `open_parquet` does.
    """
    if not columns:
        return
    with open_parquet(path) as file:
        for group in range(file.num_row_groups):
            yield from file.read_row_group(group, columns=list(columns)).to_pylist()
