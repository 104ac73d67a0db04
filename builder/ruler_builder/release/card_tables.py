"""Add up the files of a manifest, and write the sums as the tables of a dataset card.

    lengths(manifest)             # a sum for each tokenizer and length
    fill_tables(manifest)         # Markdown: how full the rows of each task or language are

A release of ONERULER has thousands of files, so the card shows sums; manifest.json has every file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruler_common.manifest import FileEntry, Manifest
from ruler_common.names import languages_of
from ruler_common.text import markdown_text


@dataclass(frozen=True, kw_only=True)
class Sum:
    """Several files together."""

    files: int
    rows: int
    bytes: int
    mean_length: float  # tokens of a row
    # Fill is `length` as a share of the window, `max_length` - reserve; 0 at `0k`.
    min_fill: float  # of the shortest row
    mean_fill: float
    exhausted: int  # rows that hold all of a finite text or list
    min_repeats: int  # how many times the text of a row started over
    max_repeats: int


@dataclass(frozen=True, kw_only=True)
class LengthSum:
    """The files of one tokenizer and length: all of them, and those whose rows are full."""

    tokenizer: str
    length: str
    max_length: int
    all: Sum
    full: Sum | None


def add_up(entries: Sequence[FileEntry], reserve: int) -> Sum:
    """Return the sum of some files, at least one."""
    rows = size = exhausted = 0
    length = fill = 0.0  # of all rows together
    fills, repeats = [], []
    for entry in entries:
        rows += entry["rows"]
        size += entry["bytes"]
        exhausted += entry["exhausted"]
        length += entry["tokens"]["mean"] * entry["rows"]
        fill += entry["fill"] * entry["rows"]
        window = entry["max_length"] - reserve
        fills.append(entry["tokens"]["min"] / window if window > 0 else 0.0)
        repeats += [*entry.get("row_repeats", [entry["repeats"]]), entry["repeats"]]
    return Sum(
        files=len(entries),
        rows=rows,
        bytes=size,
        mean_length=length / rows,
        min_fill=min(fills),
        mean_fill=fill / rows,
        exhausted=exhausted,
        min_repeats=min(repeats),
        max_repeats=max(repeats),
    )


def tokenizers(manifest: Manifest) -> list[str]:
    """Return the tokenizers that have files, in the order of the manifest."""
    return list(dict.fromkeys(entry["tokenizer"] for entry in manifest["files"].values()))


def lengths(manifest: Manifest) -> list[LengthSum]:
    """Return a sum for each tokenizer and length, the shortest length first."""
    groups: dict[tuple[str, str], list[FileEntry]] = {}
    for entry in sorted(manifest["files"].values(), key=lambda entry: entry["max_length"]):
        groups.setdefault((entry["tokenizer"], entry["length"]), []).append(entry)
    found = []
    for tokenizer in tokenizers(manifest):
        for (name, length), entries in groups.items():
            if name == tokenizer:
                full = [entry for entry in entries if is_full(entry)]
                found.append(
                    LengthSum(
                        tokenizer=tokenizer,
                        length=length,
                        max_length=entries[0]["max_length"],
                        all=add_up(entries, manifest["reserve"]),
                        full=add_up(full, manifest["reserve"]) if full else None,
                    )
                )
    return found


def is_full(entry: FileEntry) -> bool:
    """Return whether every row of a file is as full as its window allows."""
    return not entry["exhausted"] and not entry.get("evidence_alone", False)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; its cells are Markdown already."""
    lines = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
    lines.insert(1, "|" + "---|" * len(header))
    return "\n".join(lines) + "\n"


def task_table(tasks: Mapping[str, Mapping[str, Any]], usual: Mapping[str, Any]) -> str:
    """Return the parameters of a family's tasks; `usual` are those that a task may leave out."""
    names: dict[str, None] = {}
    for params in tasks.values():
        names |= dict.fromkeys(params)
    del names["family"]
    rows = []
    for task, params in tasks.items():
        row = [task]
        for name in names:
            value = params[name] if name in params else usual[name]
            if isinstance(value, bool):
                row.append("yes" if value else "no")
            else:
                row.append("–" if value == "" else markdown_text(value))
        rows.append(row)
    return markdown_table(["task", *map(markdown_text, names)], rows)


def length_table(sums: Sequence[LengthSum]) -> str:
    """Return the table of tokenizers and lengths."""
    header = ["tokenizer", "length", "window", "files", "rows", "mean length", "least fill"]
    rows = [
        [
            row.tokenizer,
            row.length,
            f"{row.max_length:,}",
            f"{row.all.files:,}",
            f"{row.all.rows:,}",
            f"{row.all.mean_length:,.1f}",
            _percent(row.full.min_fill) if row.full else "–",
            _percent(row.full.mean_fill) if row.full else "–",
            f"{row.all.exhausted:,}",
        ]
        for row in sums
    ]
    return markdown_table([*header, "mean fill", "rows that hold all there is"], rows)


def fill_tables(manifest: Manifest, sums: Sequence[LengthSum]) -> str:
    """Return how full the rows of each task (in oneruler: of each language) are."""
    by_task = manifest["dataset"] == "ruler"
    return _grids(
        manifest,
        sums,
        head="task" if by_task else "language",
        label=_task if by_task else languages_of,
        entries=[entry for entry in manifest["files"].values() if is_full(entry)],
        show=lambda total: f"{_percent(total.mean_fill)} ({_percent(total.min_fill)})",
    )


def repeat_tables(manifest: Manifest, sums: Sequence[LengthSum]) -> str:
    """Return how many times a finite text starts over in a row; "" if none does."""
    label = _task if manifest["dataset"] == "ruler" else languages_of
    repeating = [entry for entry in manifest["files"].values() if entry["repeats"]]
    tasks = {entry["task"] for entry in repeating}
    labels = {label(entry) for entry in repeating}
    return _grids(
        manifest,
        sums,
        head="repeats",
        label=label,
        entries=[
            entry
            for entry in manifest["files"].values()
            if entry["task"] in tasks and label(entry) in labels
        ],
        show=_shown_repeats,
    )


def exhausted_tables(manifest: Manifest, sums: Sequence[LengthSum]) -> str:
    """Return the rows that hold all of a finite text or list; "" if there are none."""
    by_task = manifest["dataset"] == "ruler"
    return _grids(
        manifest,
        sums,
        head="task" if by_task else "language and task",
        label=_task if by_task else _language_and_task,
        entries=[entry for entry in manifest["files"].values() if entry["exhausted"]],
        show=lambda total: (
            f"{_percent(total.mean_fill)}, {total.exhausted:,} of {total.rows:,} rows"
        ),
    )


def _grids(
    manifest: Manifest,
    sums: Sequence[LengthSum],
    head: str,
    label: Callable[[FileEntry], str],
    entries: list[FileEntry],
    show: Callable[[Sum], str],
) -> str:
    """Return a table for each tokenizer: a row for each label, a column for each length."""
    places = {task: place for place, task in enumerate(manifest["tasks"])}
    columns: dict[str, list[str]] = {}
    for total in sums:
        columns.setdefault(total.tokenizer, []).append(total.length)
    tables = []
    for tokenizer, lengths_of_it in columns.items():
        cells: dict[str, dict[str, list[FileEntry]]] = {}
        for entry in sorted(entries, key=lambda entry: _order(entry, places)):
            if entry["tokenizer"] == tokenizer:
                row = cells.setdefault(label(entry), {})
                row.setdefault(entry["length"], []).append(entry)
        rows = []
        for name, row in cells.items():
            shown = [name]
            for length in lengths_of_it:
                here = row.get(length)
                shown.append(show(add_up(here, manifest["reserve"])) if here else "–")
            rows.append(shown)
        if rows:
            tables.append(markdown_table([f"{tokenizer}: {head}", *lengths_of_it], rows))
    return "\n".join(tables)


def _order(entry: FileEntry, places: dict[str, int]) -> tuple[int, str, int]:
    """Order files by language, pairs of languages last, and by task as in the suite."""
    languages = languages_of(entry)
    return len(languages), languages, places[entry["task"]]


def _task(entry: FileEntry) -> str:
    return entry["task"]


def _language_and_task(entry: FileEntry) -> str:
    return f"{languages_of(entry)} {entry['task']}"


def _shown_repeats(total: Sum) -> str:
    if total.min_repeats == total.max_repeats:
        return str(total.min_repeats)
    return f"{total.min_repeats} … {total.max_repeats}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
