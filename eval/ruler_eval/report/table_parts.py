"""How tables write numbers, and a table under its title; numbers are rounded here and nowhere else.

titled("Scores", ["task", "4k"], [["vt", number(98.04)]])          # "" where there are no rows
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
    """Return a table that table draws under its title; nothing where there are no rows."""
    text = table(header, rows, markdown, left)
    return f"{sentences(title, markdown)}\n\n{text}" if rows else ""


def picked(
    rows: Sequence[Mapping[str, str]],
    columns: Sequence[str],
    *kept: str,
    nothing: Collection[str] = ("", "-", "0", "0.0"),
) -> tuple[list[str], list[list[str]]]:
    """Of these columns those that say something in any row, those `kept`, and the first."""
    said = [
        name
        for name in columns
        if name in (columns[0], *kept) or any(row[name] not in nothing for row in rows)
    ]
    return said, [[row[name] for name in said] for row in rows]
