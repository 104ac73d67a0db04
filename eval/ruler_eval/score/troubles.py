"""How many rows are missing, failed, were truncated and so on: the counts beside scores.

    count_troubles(results["configurations"].values())  # {"failed": 3, "truncated": 1}
    troubles_in_words({"failed": 3, "truncated": 1})    # ["3 failed", "1 truncated"]

The counts of configurations are those of score/cells.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from ruler_common.text import number_of
from ruler_eval.score.results import Cell

Trouble = Literal[
    "missing", "failed", "does_not_fit", "truncated", "truncated_scored",
    "thinking", "thinking_truncated", "duplicated",
]  # fmt: skip
TROUBLES: Mapping[Trouble, str] = {
    "missing": "missing",
    "failed": "failed",
    "does_not_fit": "did not fit the context window",
    "truncated": "truncated",
    "truncated_scored": "truncated but scored",
    "thinking": "with reasoning",
    "thinking_truncated": "ended within reasoning",
    "duplicated": "answered twice",
}
"""The counts of rows, in words. A truncated row that was scored by its text is counted as that."""
HARMLESS: Collection[Trouble] = ("truncated_scored", "thinking")
"""Counts that cast no doubt on a score."""
NOT_WHOLE: tuple[Trouble, ...] = ("missing", "failed", "does_not_fit", "truncated")
"""The counts of rows without a whole answer."""


def count_troubles(cells: Iterable[Cell]) -> dict[Trouble, int]:
    """Return how many rows are missing, failed, truncated and so on, without zeros.

    Rows that did not fit are not among those that failed, nor those that were scored by their text
    among the truncated ones.
    """
    counts = dict.fromkeys(TROUBLES, 0)
    for cell in cells:
        for trouble in TROUBLES:
            counts[trouble] += cell[trouble]
        counts["failed"] -= cell["does_not_fit"]
        counts["truncated"] -= cell["truncated_scored"]
    return {trouble: count for trouble, count in counts.items() if count}


def not_whole(counts: Mapping[Trouble, int]) -> dict[Trouble, int]:
    """Return the counts of rows without a whole answer, which count as wrong."""
    return {trouble: counts[trouble] for trouble in NOT_WHOLE if trouble in counts}


def rows_not_whole(cells: Collection[Cell]) -> str:
    """Return the numbers of rows that have no whole answer: `3 failed (of 500 rows)`, or ""."""
    named = troubles_in_words(not_whole(count_troubles(cells)))
    rows = sum(cell["rows_requested"] for cell in cells)
    return f"{', '.join(named)} (of {number_of(rows, 'row')})" if named else ""


def troubles_in_words(counts: Mapping[Trouble, int]) -> list[str]:
    """Return counts in words, without zeros: `3 failed`, `1 truncated`."""
    return [f"{count:,} {TROUBLES[trouble]}" for trouble, count in counts.items() if count]


def is_doubtful(counts: Collection[Trouble]) -> bool:
    """Return whether any of these counts makes the score of the rows doubtful."""
    return any(trouble not in HARMLESS for trouble in counts)
