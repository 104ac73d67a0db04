"""Check one file of a release as a whole: its bytes, its columns, its entry in the manifest.

parts = readable_parts(root, path, entry, report)        # its row groups, if it can be read
check_file(root / path, manifest, entry, groups, report)  # after they were inspected
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from ruler_builder.proof.folder_checks import no_plain_file
from ruler_builder.proof.inspect_rows import InspectedRow, InspectedRowGroup, RowGroup
from ruler_builder.proof.parquet_bytes import check_layout, read_footer
from ruler_builder.proof.verify_report import FileReport
from ruler_builder.reading.breaches import Law
from ruler_common.errors import RulerError
from ruler_common.files import UNREADABLE, sha256_of
from ruler_common.manifest_form import FileEntry, Manifest
from ruler_common.outside.parquet_bounds import open_parquet
from ruler_common.rows import COLUMNS, arrow_schema, indices_of


def readable_parts(root: Path, path: str, entry: FileEntry, report: FileReport) -> list[RowGroup]:
    """The file's row groups, if it is there and has the right columns; its digest is checked."""
    if odd := no_plain_file(root, path):
        report.add(f"it is {odd}: put the file itself there", Law.DIGESTS)
        return []
    if not (root / path).is_file():
        report.add("the manifest lists the file, but it is missing", Law.DIGESTS)
        return []
    try:
        if (found := sha256_of(root / path)) != entry["sha256"]:
            report.add(f"sha256 is {found}, the manifest says {entry['sha256']}", Law.DIGESTS)
        with open_parquet(root / path) as file:
            if not file.schema_arrow.equals(arrow_schema()):
                what = f"the columns are not {', '.join(COLUMNS)} of the right types"
                report.add(what, Law.DIGESTS)
                return []
            for what in check_layout(footer := read_footer(root / path)):
                report.add(what, Law.DIGESTS)
            report.writer = footer.writer
            alone = file.num_row_groups == 1
            return [RowGroup(path, group, whole_file=alone) for group in range(file.num_row_groups)]
    except (RulerError, *UNREADABLE) as error:
        why = str(error).partition("\n")[0]
        report.add(f"the file cannot be read: {why}", Law.DIGESTS)
        return []


def check_file(
    path: Path,
    manifest: Manifest,
    entry: FileEntry,
    groups: list[InspectedRowGroup],
    report: FileReport,
) -> None:
    """What only all rows together show: indices, spread of the gold places, the entry's figures."""
    groups = sorted(groups, key=lambda group: group.number)
    for found in sorted(found for group in groups for found in group.breaches):
        report.add(found.what, found.law, found.row)
    if report.count and not groups:  # it is missing, or was not opened
        return
    rows = [row for group in groups for row in group.rows]
    in_order = [row.index for row in rows]
    indices = sorted(in_order)
    report.rows = len(indices)
    doubled = next((a for a, b in pairwise(indices) if a == b), None)
    if doubled is not None:
        report.add(f"index {doubled} occurs twice", Law.DIGESTS, row=doubled)
    elif len(indices) != entry["rows"] or indices != sorted(indices_of(manifest, entry)):
        report.add(f"the indices are not 0 … {entry['rows'] - 1}", Law.DIGESTS)
    elif in_order != indices:
        report.add("the rows are not in the order of their index")
    if not indices:
        report.add("the file has no row that can be read")
        return
    report.asked = {row.index: row.asked for row in rows}
    if entry["max_length"]:  # at `0k` the context is gold alone
        _spread(rows, report)
    _asked_twice(rows, report)
    for given, row in zip(entry.get("questions", []), rows, strict=False):
        if row.question not in ("", given):
            what = "question, references and gold documents are not those of the manifest's digest"
            report.add(what, row=row.index)
    _, text = max((group.longest for group in groups), default=(0, ""))
    if entry.get("text_sha256", "") != text:
        report.add(
            "text_sha256 in the manifest is not that of the longest text without its needles"
        )
    for what in _wrong_figures(path, entry, manifest["reserve"], rows):
        report.add(what)


def _spread(rows: list[InspectedRow], report: FileReport) -> None:
    """Gold positions are spread over the whole context."""
    places = [place for row in rows for place in row.reading.places]
    depths = np.concatenate([row.depths for row in rows])
    if places:
        depths = np.array([(before + 0.5) / total for before, total in places])
    fewest = min((total for _, total in places), default=20)
    if (distance := _from_even(depths)) > 0.5 / fewest + 2.5 / math.sqrt(max(1, len(depths))):
        report.add(
            f"gold positions are not spread over the context (distance {distance:.2f})",
            Law.POSITIONS,
        )
    elif len(depths) >= 8 and fewest >= 4 and len(np.unique(depths)) == 1:
        report.add("the gold stands at the same place in every row", Law.POSITIONS)


def _asked_twice(rows: list[InspectedRow], report: FileReport) -> None:
    """No row is another one again. A corpus may have a question twice, with the same answers."""
    first: dict[str, int] = {}
    for row in rows:
        if row.text and (before := first.setdefault(row.text, row.index)) != row.index:
            report.add(f"the row is row {before} again", row=row.index)


def _from_even(depths: np.ndarray) -> float:
    """Greatest distance of the depths' distribution from an even one (Kolmogorov–Smirnov)."""
    ordered, n = np.sort(depths), len(depths)
    steps = np.arange(n + 1) / max(1, n)
    apart = np.maximum(np.abs(steps[1:] - ordered), np.abs(steps[:-1] - ordered))
    return float(apart.max(initial=0.0))


def _wrong_figures(
    path: Path, entry: FileEntry, reserve: int, rows: list[InspectedRow]
) -> Iterator[str]:
    """The figures of a file's entry in the manifest that are not those of its rows and bytes."""
    lengths = [row.length for row in rows]
    mean = sum(lengths) / len(lengths)
    window = entry["max_length"] - reserve
    tokens = entry["tokens"]
    figures: dict[str, tuple[float, float]] = {
        "rows": (entry["rows"], len(lengths)),
        "bytes": (entry["bytes"], path.stat().st_size),
        "tokens.min": (tokens["min"], min(lengths)),
        "tokens.mean": (tokens["mean"], mean),
        "tokens.max": (tokens["max"], max(lengths)),
        "fill": (entry["fill"], mean / window if window > 0 else 0.0),
    }
    if not entry["max_length"]:
        figures["unit"] = (entry["unit"], 0)
    exhausted = [row.reading.exhausted for row in rows]
    if None not in exhausted:
        figures["exhausted"] = (entry["exhausted"], sum(map(bool, exhausted)))
    repeats = [row.reading.repeats for row in rows if row.reading.repeats is not None]
    if len(repeats) == len(lengths):
        figures["repeats"] = (entry["repeats"], max(repeats))
        if entry.get("row_repeats", [0] * len(repeats)) != repeats:
            yield "row_repeats is not how often each row's haystack began again"
    for name, (given, right) in figures.items():
        if not math.isclose(given, right, rel_tol=1e-9):
            yield f"{name} is {given:g} in the manifest, {right:g} in the file"
    if len(entry.get("questions", [])) != sum(row.question != "" for row in rows):
        yield "questions in the manifest are not as many as the rows"
    yield from _wrong_unit(entry, window, rows)


def _wrong_unit(entry: FileEntry, window: int, rows: list[InspectedRow]) -> Iterator[str]:
    """The unit in the manifest is the largest that did not fit into a row, as the rows have it.

    It is more than what a row has free, but for rows that another law names.
    """
    if not entry["max_length"]:  # there is no haystack
        return
    least = 0
    for row in rows:
        spare, found = window - row.length, row.reading
        if found.exhausted is False or (found.exhausted is None and not entry["exhausted"]):
            free = spare + 1 if found.unit is None or spare < found.unit else 0
            least = max(least, free, found.unit_least)
    if entry["unit"] < least:
        yield f"unit is {entry['unit']} in the manifest, a row's has {least} tokens or more"
    units = [row.reading.unit for row in rows]
    most = max((unit for unit in units if unit is not None), default=0)
    if None not in units and entry["unit"] > most:
        yield f"unit is {entry['unit']} in the manifest, no unit has more than {most} tokens"
