"""The rows behind the page as it holds them: compressed, and as many as fit.

fitted(page["rows"], 900_000).sentence        # "At most 12 rows of a configuration are …"
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ruler_eval.report.page.rows.shown_rows import (
    LONGEST_ANSWER,
    MOST_ROWS,
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
