"""Add up the files of a manifest, and write the sums as the tables of a dataset card.

    length_sums(manifest)        # {("tekken", "4k"): LengthSums(…), …}
    figures(manifest)            # variables of the templates: numbers and Markdown tables

A release of ONERULER has thousands of files, so the card shows sums; manifest.json has every file.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ruler_common.manifest import FileEntry, Manifest
from ruler_common.names import EVIDENCE_ALONE, in_tokens, languages_of

_SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B")


@dataclass
class Sum:
    """Several files added up. Fill is a row's `length` as a share of its window without reserve."""

    files: int = 0
    rows: int = 0
    bytes: int = 0
    exhausted: int = 0  # rows that hold all of a finite text or list
    tokens: float = 0.0  # of all rows
    fill: float = 0.0  # of all rows, added up
    min_fill: float = math.inf  # of the shortest row; 0 at `0k`, which has no window
    min_repeats: float = math.inf  # how many times the text of a row started over
    max_repeats: int = 0

    def add(self, entry: FileEntry, reserve: int) -> None:
        """Add a file."""
        repeats = [*entry.get("row_repeats", [entry["repeats"]]), entry["repeats"]]
        window = entry["max_length"] - reserve
        self.files += 1
        self.rows += entry["rows"]
        self.bytes += entry["bytes"]
        self.exhausted += entry["exhausted"]
        self.tokens += entry["tokens"]["mean"] * entry["rows"]
        self.fill += entry["fill"] * entry["rows"]
        self.min_fill = min(self.min_fill, entry["tokens"]["min"] / window if window > 0 else 0.0)
        self.min_repeats = min(self.min_repeats, *repeats)
        self.max_repeats = max(self.max_repeats, *repeats)


class LengthSums(NamedTuple):
    """The files of one tokenizer and length: all of them, and those whose rows are full."""

    max_length: int
    all: Sum
    full: Sum


Cell = tuple[str, str, str]
"""A cell of a table of figures: its tokenizer, the label of its line, and its length."""


def length_sums(manifest: Manifest) -> dict[tuple[str, str], LengthSums]:
    """Return the sums of each tokenizer and length, the shortest length first."""
    entries = sorted(manifest["files"].values(), key=lambda e: (e["tokenizer"], e["max_length"]))
    sums: dict[tuple[str, str], LengthSums] = {}
    for entry in entries:
        place = entry["tokenizer"], entry["length"]
        if place not in sums:
            sums[place] = LengthSums(entry["max_length"], Sum(), Sum())
        sums[place].all.add(entry, manifest["reserve"])
        if entry["max_length"] and not entry["exhausted"]:  # as full as the window allows
            sums[place].full.add(entry, manifest["reserve"])
    return sums


def figures(manifest: Manifest) -> dict[str, Any]:
    """Return a card's numbers of files, rows and bytes, its lengths, and its tables of figures."""
    files = rows = size = 0
    columns: dict[str, list[str]] = {}  # lengths by tokenizer
    windows: dict[str, int] = {}
    table = []
    sums = length_sums(manifest)
    for (tokenizer, length), (max_length, every, full) in sums.items():
        columns.setdefault(tokenizer, []).append(length)
        windows[length] = max_length
        files, rows, size = files + every.files, rows + every.rows, size + every.bytes
        counts = [f"{every.files:,}", f"{every.rows:,}", f"{every.tokens / every.rows:,.1f}"]
        fill = ["–", "–"]
        if full.files:
            fill = [_percent(full.min_fill), _percent(full.fill / full.rows)]
        table.append([tokenizer, length, f"{max_length:,}", *counts, *fill, f"{every.exhausted:,}"])
    lengths = sorted(windows, key=windows.__getitem__)
    header = ["tokenizer", "length", "window", "files", "rows", "mean length", "least fill"]
    return {
        "files": files,
        "rows": rows,
        "bytes": size,
        "size": _size_category(rows),
        "lengths": lengths,
        "has_0k": EVIDENCE_ALONE in lengths,
        "has_decimal_length": any(map(in_tokens, lengths)),
        "length_table": markdown_table(
            [*header, "mean fill", "rows that use up a text or list"], table
        ),
        **fill_tables(manifest, columns),
    }


def fill_tables(manifest: Manifest, columns: Mapping[str, list[str]]) -> dict[str, str]:
    """Return how full the rows are, how often a text starts over, and where all of it is used.

    By task in ruler and by language in oneruler. The second and the third are "" if no row has such
    a text.

    Args:
        manifest: The manifest of the release.
        columns: The lengths of each tokenizer.
    """
    by_task = manifest["dataset"] == "ruler"
    tasks = list(manifest["tasks"])
    files = sorted(
        (len(languages_of(entry)), languages_of(entry), tasks.index(entry["task"]), path)
        for path, entry in manifest["files"].items()
    )
    repeating: set[str] = set()  # tasks and labels of files in which a text starts over
    for _, languages, _, path in files:
        entry = manifest["files"][path]
        if entry["repeats"]:
            repeating.update((entry["task"], languages))
    fill: dict[Cell, Sum] = defaultdict(Sum)
    repeats: dict[Cell, Sum] = defaultdict(Sum)
    exhausted: dict[Cell, Sum] = defaultdict(Sum)
    for _, languages, _, path in files:
        entry = manifest["files"][path]
        task, tokenizer, length = entry["task"], entry["tokenizer"], entry["length"]
        label = task if by_task else languages
        if entry["max_length"] and not entry["exhausted"]:  # as full as the window allows
            fill[tokenizer, label, length].add(entry, manifest["reserve"])
        if task in repeating and label in repeating:
            repeats[tokenizer, label, length].add(entry, manifest["reserve"])
        if entry["exhausted"]:
            name = task if by_task else f"{languages} {task}"
            exhausted[tokenizer, name, length].add(entry, manifest["reserve"])
    cells: dict[Cell, str] = {}
    for cell, total in fill.items():
        cells[cell] = f"{_percent(total.fill / total.rows)} ({_percent(total.min_fill)})"
    head = "task" if by_task else "language"
    tables = {"fill_tables": _grids(head, columns, cells)}
    cells = {}
    for cell, total in repeats.items():
        shown = f"{total.min_repeats} … {total.max_repeats}"
        cells[cell] = shown if total.min_repeats < total.max_repeats else f"{total.max_repeats}"
    tables["repeat_tables"] = _grids("repeats", columns, cells)
    cells = {}
    for cell, total in exhausted.items():
        rows = f"{total.exhausted:,} of {total.rows:,} rows"
        cells[cell] = f"{_percent(total.fill / total.rows)}, {rows}"
    head = "task" if by_task else "language and task"
    tables["exhausted_tables"] = _grids(head, columns, cells)
    return tables


def _grids(head: str, columns: Mapping[str, list[str]], cells: Mapping[Cell, str]) -> str:
    """Return a table for each tokenizer: a line for each label, a column for each length."""
    tables = []
    for tokenizer, lengths in columns.items():
        rows = []
        for label in dict.fromkeys(cell[1] for cell in cells if cell[0] == tokenizer):
            rows.append([label])
            for length in lengths:
                rows[-1].append(cells.get((tokenizer, label, length), "–"))
        if rows:
            tables.append(markdown_table([f"{tokenizer}: {head}", *lengths], rows))
    return "\n\n".join(tables)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; its cells are Markdown already."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _size_category(rows: int) -> str:
    """Return the Hub's `size_categories` value for a number of rows."""
    digits = len(str(rows))
    return "n<1K" if digits <= 3 else f"{_SIZES[digits - 4]}<n<{_SIZES[digits - 3]}"
