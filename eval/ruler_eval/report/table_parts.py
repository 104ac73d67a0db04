"""How tables write numbers, and a table under its title; numbers are rounded here and nowhere else.

titled("Scores", ["task", "4k"], [["vt", number(98.04)]])          # "" without rows
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ruler_common.terminal import sentences, table


def number(value: float | None) -> str:
    """Return a score with one decimal, as the papers print it."""
    return "-" if value is None else f"{value:.1f}"


def bounds(interval: Sequence[float] | None) -> str:
    """Return an interval with one decimal."""
    return "-" if interval is None else f"[{interval[0]:.1f}, {interval[1]:.1f}]"


def p_value(value: float | None) -> str:
    """Return a p with three decimals, and never 0.000."""
    if value is None:
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def titled(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    markdown: bool = False,
    left: Sequence[int] = (0,),
) -> str:
    """Return a table under its title; an empty text without rows."""
    if not rows:
        return ""
    return f"{sentences(title, markdown)}\n\n{table(header, rows, markdown, left)}"


def picked(
    rows: Sequence[Mapping[str, str]],
    columns: Sequence[str],
    *kept: str,
    empty: Collection[str] = ("", "-", "0", "0.0"),
) -> tuple[list[str], list[list[str]]]:
    """Return the columns that are not empty in every row, the first one, and those `kept`."""
    header = []
    for column in columns:
        if column in (columns[0], *kept) or any(row[column] not in empty for row in rows):
            header.append(column)
    return header, [[row[column] for column in header] for row in rows]
