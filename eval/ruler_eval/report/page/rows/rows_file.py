"""Every row behind the page, in a file beside it: the page itself holds a few of each cell.

    with rows_file(Path("report.rows.gz")) as rows:
        rows.add("Qwen", "vt_4k", shown)          # (0, 5210): where they stand

A page that is opened from disk may read no file by itself, so its reader opens this one from it,
and the browser reads the parts that are asked for; nothing in it is run. A part is a gzip member of
JSON Lines, so that `zcat` reads the whole file too.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ruler_common.files import temporary_beside
from ruler_eval.report.page.row_model import RowsPart, ShownRow

_LEVEL = 6  # of 1 to 9: at 9 it takes twice as long for one percent


class RowsFile:
    """A file of rows that is being written."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self.name, self.size, self._file = name, 0, file

    def add(self, model: str, config: str, rows: Sequence[ShownRow]) -> RowsPart:
        """Write a run's rows of one configuration; where they stand."""
        lines = (
            json.dumps({"model": model, "config": config, **row}, separators=(",", ":"))
            for row in rows
        )
        part = gzip.compress("".join(f"{line}\n" for line in lines).encode(), _LEVEL, mtime=0)
        start, self.size = self.size, self.size + self._file.write(part)
        return start, self.size


@contextmanager
def rows_file(path: Path) -> Iterator[RowsFile]:
    """The file, there once the block has ended well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_beside(path) as temporary, temporary.open("wb") as file:
        yield RowsFile(path.name, file)
