"""Read the tables and sections of a rendered card."""

from __future__ import annotations

import re

Table = list[dict[str, str]]


def tables(text: str, first: str) -> list[Table]:
    """Return the Markdown tables with this first heading, each a list of rows by heading."""
    result = []
    for part in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        rows = [
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in part.splitlines()
        ]
        if rows[0][0] == first:
            assert {len(row) for row in rows} == {len(rows[0])}
            result.append([dict(zip(rows[0], row, strict=True)) for row in rows[2:]])
    return result


def section(text: str, title: str) -> str:
    """Return the text under a heading."""
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def labels(table: Table) -> list[str]:
    """Return the first column."""
    return [next(iter(row.values())) for row in table]
