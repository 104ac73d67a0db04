"""The figures of a dataset card, added up from a manifest's files.

    lengths(manifest)                         # a row for each tokenizer and length
    grids(manifest, by_task(manifest), full)  # tasks by lengths, one grid a tokenizer

A release of ONERULER has some thousand files, so the card shows sums; manifest.json has every file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ruler_common.manifest_form import FileEntry, Manifest
from ruler_common.names import Names, languages_of

Label = Callable[[FileEntry], tuple[Any, str]]
"""What a file is counted under: a key to sort by, and the words to show."""


@dataclass(frozen=True, kw_only=True)
class Sum:
    """Some files together: numbers of files, rows and bytes, and how full the rows are.

    `tokens` is the mean `length` of a row; `least` the share of `max_length` - reserve that the
    shortest row fills (0 at `0k`), `mean` that of the mean row; `exhausted` the rows that hold all
    there is of a finite text or list; `repeats` the fewest and the most times that the haystack of
    a row began again.
    """

    files: int
    rows: int
    bytes: int
    tokens: float
    least: float
    mean: float
    exhausted: int
    repeats: tuple[int, int]


def add_up(entries: Sequence[FileEntry], reserve: int) -> Sum | None:
    """The sum of some files; None of no files."""
    if not entries:
        return None
    rows = sum(entry["rows"] for entry in entries)

    def mean(values: Callable[[FileEntry], float]) -> float:
        return float(sum(values(entry) * entry["rows"] for entry in entries) / rows)

    return Sum(
        files=len(entries),
        rows=rows,
        bytes=sum(entry["bytes"] for entry in entries),
        tokens=mean(lambda entry: entry["tokens"]["mean"]),
        least=min(
            entry["tokens"]["min"] / window if (window := entry["max_length"] - reserve) > 0 else 0
            for entry in entries
        ),
        mean=mean(lambda entry: entry["fill"]),
        exhausted=sum(entry["exhausted"] for entry in entries),
        repeats=(
            min(min(entry.get("row_repeats", [entry["repeats"]])) for entry in entries),
            max(entry["repeats"] for entry in entries),
        ),
    )


def full(entry: FileEntry) -> bool:
    """Whether every row of a file was filled as far as its units go."""
    return not entry["exhausted"] and not entry.get("evidence_alone", False)


def ran_out(entry: FileEntry) -> bool:
    """Whether some rows hold all there is: a small dictionary, a whole corpus."""
    return bool(entry["exhausted"])


def begun_again(manifest: Manifest, label: Label) -> Callable[[FileEntry], bool]:
    """Which files to show where finite texts begin again: of tasks and labels of which any does."""
    there = [entry for entry in manifest["files"].values() if entry["repeats"]]
    tasks, labels = {entry["task"] for entry in there}, {label(entry) for entry in there}
    return lambda entry: entry["task"] in tasks and label(entry) in labels


def by_task(manifest: Manifest) -> Label:
    """Files by task, in the order of the suite."""
    order = {task: place for place, task in enumerate(Names.in_manifest(manifest).tasks)}
    return lambda entry: (order[entry["task"]], entry["task"])


def by_languages(_: Manifest) -> Label:
    """Files by language, pairs of languages last."""
    return lambda entry: ((len(languages_of(entry)), languages_of(entry)), languages_of(entry))


def by_languages_and_task(manifest: Manifest) -> Label:
    """Files by language and task."""
    task, languages = by_task(manifest), by_languages(manifest)
    return lambda entry: (
        (languages(entry)[0], task(entry)[0]),
        f"{languages_of(entry)} {entry['task']}",
    )


@dataclass(frozen=True)
class Grid:
    """Sums of one tokenizer's files: a row for each label, a column for each length."""

    tokenizer: str
    lengths: list[str]
    rows: dict[str, list[Sum | None]]


def grids(manifest: Manifest, label: Label, chosen: Callable[[FileEntry], bool]) -> list[Grid]:
    """A grid for each tokenizer that has chosen files; labels without any have no row."""
    found = []
    for tokenizer, columns, mine in _by_tokenizer(manifest):
        cells: dict[tuple[Any, str], dict[str, list[FileEntry]]] = {}
        for entry in filter(chosen, mine):
            cells.setdefault(label(entry), {}).setdefault(entry["length"], []).append(entry)
        rows = {
            key[1]: [add_up(cells[key].get(length, []), manifest["reserve"]) for length in columns]
            for key in sorted(cells)
        }
        if rows:
            found.append(Grid(tokenizer, columns, rows))
    return found


def lengths(manifest: Manifest) -> list[dict[str, Any]]:
    """A row for each tokenizer and length: `all` its files, and `full` those that are."""
    return [
        {
            "tokenizer": tokenizer,
            "length": length,
            "max_length": here[0]["max_length"],
            "all": add_up(here, manifest["reserve"]),
            "full": add_up([*filter(full, here)], manifest["reserve"]),
        }
        for tokenizer, columns, mine in _by_tokenizer(manifest)
        for length in columns
        if (here := [entry for entry in mine if entry["length"] == length])
    ]


def tokenizers(manifest: Manifest) -> list[str]:
    """The tokenizers that have files, in the manifest's order."""
    return list(dict.fromkeys(entry["tokenizer"] for entry in manifest["files"].values()))


def _by_tokenizer(manifest: Manifest) -> Iterator[tuple[str, list[str], list[FileEntry]]]:
    """Each tokenizer with its lengths, the shortest first, and its files."""
    for tokenizer in tokenizers(manifest):
        mine = [e for e in manifest["files"].values() if e["tokenizer"] == tokenizer]
        tokens = {entry["length"]: entry["max_length"] for entry in mine}
        yield tokenizer, sorted(tokens, key=tokens.__getitem__), mine


def size_category(rows: int) -> str:
    """The Hub's name for so many rows."""
    bounds = ["1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B"]
    place = max(0, len(str(rows)) - 3)
    return f"{bounds[place - 1]}<n<{bounds[place]}" if place else "n<1K"
