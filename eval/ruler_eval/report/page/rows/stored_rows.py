"""The rows behind the page as they are stored: in it as far as they fit, all in a file beside it.

    fitted(page["rows"], 900_000).sentence        # "At most 12 rows of a cell are here, …"
    with rows_file(Path("report.rows.gz")) as rows:
        rows.add("Qwen", "vt_4k", shown)          # (0, 5210): where they stand

A page that is opened from disk may read no file by itself, so its reader opens this one from it,
and the browser reads the parts that are asked for; nothing in it is run. A part is a gzip member of
JSON Lines, so that `zcat` reads the whole file too.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ruler_common.files import temporary_beside
from ruler_eval.report.page.rows.shown_rows import (
    LONGEST_ANSWER,
    MOST_ROWS,
    RowsPart,
    ShownRow,
    ShownRows,
)

MOST_BYTES = 1_900_000  # of the whole page
# Rows of a configuration and characters of an answer, as much as fits.
_STEPS = (
    (MOST_ROWS, LONGEST_ANSWER),
    (MOST_ROWS, 500),
    (MOST_ROWS, 200),
    (12, 200),
    (8, 160),
    (5, 160),
    (3, 120),
    (1, 120),
    (0, 0),
)
Rows = Mapping[str, Mapping[str, ShownRows]]


class FittedRows(NamedTuple):
    """The rows, compressed, and a sentence about what was left out."""

    text: str
    sentence: str


def fitted(rows: Rows, most_bytes: int) -> FittedRows:
    """As many rows and as much of their answers as fit into `most_bytes`."""
    for most_rows, most_characters in _STEPS:
        text = packed(json.dumps(_less(rows, most_rows, most_characters), separators=(",", ":")))
        if len(text) <= most_bytes:
            break
    return FittedRows(
        text,
        f"At most {most_rows} rows of a configuration are in the page, their answers shortened to "
        f"{most_characters:,} characters.",
    )


def packed(text: str) -> str:
    """A text, compressed, in base64."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _less(rows: Rows, most_rows: int, most_characters: int) -> dict[str, dict[str, Any]]:
    return {
        series: {
            name: {
                **known,
                "rows": [_short(row, most_characters) for row in known["rows"][:most_rows]],
            }
            for name, known in configurations.items()
        }
        for series, configurations in rows.items()
    }


def _short(row: ShownRow, most: int) -> ShownRow:
    answer = row["answer"]
    if answer is None or len(answer) <= most + 40:  # room for the number of characters left out
        return row
    return {**row, "answer": f"{answer[:most]} …"}


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
