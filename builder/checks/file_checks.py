"""Check one file of a release as a whole: its bytes, its columns, its entry in the manifest.

parts = readable_parts(root, path, entry, report)        # its row groups, if it can be read
check_file(root / path, entry, reserve, groups, report)  # after they were inspected
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from builder.checks.breaches import Law
from builder.checks.inspect_rows import InspectedRowGroup, RowGroup
from builder.checks.verify_report import WHOLE_FILE, FileReport
from ruler_dataset import COLUMNS, UNREADABLE, FileEntry, arrow_schema, sha256_of


def readable_parts(root: Path, path: str, entry: FileEntry, report: FileReport) -> list[RowGroup]:
    """The file's row groups, if it is there and has the right columns; its digest is checked."""
    import pyarrow.parquet as pq

    if not (root / path).is_file():
        report.add(WHOLE_FILE, Law.DIGESTS, "the manifest lists the file, but it is missing")
        return []
    try:
        if (found := sha256_of(root / path)) != entry["sha256"]:
            report.add(
                WHOLE_FILE, Law.DIGESTS, f"sha256 is {found}, the manifest says {entry['sha256']}"
            )
        with pq.ParquetFile(root / path) as file:
            if not file.schema_arrow.equals(arrow_schema()):
                what = f"the columns are not {', '.join(COLUMNS)} of the right types"
                report.add(WHOLE_FILE, Law.DIGESTS, what)
                return []
            if file.schema_arrow.metadata != arrow_schema().metadata:
                what = "the file describes its columns otherwise than a release does (its metadata)"
                report.add(WHOLE_FILE, Law.DIGESTS, what)
            alone = file.num_row_groups == 1
            return [RowGroup(path, group, whole_file=alone) for group in range(file.num_row_groups)]
    except UNREADABLE as error:
        why = str(error).partition("\n")[0]
        report.add(WHOLE_FILE, Law.DIGESTS, f"the file cannot be read: {why}")
        return []


def check_file(
    path: Path,
    entry: FileEntry,
    reserve: int,
    groups: list[InspectedRowGroup],
    report: FileReport,
) -> None:
    """What only all rows together show: indices, spread of the gold places, the entry's figures."""
    groups = sorted(groups, key=lambda group: group.number)
    for found in sorted(found for group in groups for found in group.breaches):
        report.add(*found)
    if not path.is_file():
        return
    in_order = [index for group in groups for index in group.indices]
    indices = sorted(in_order)
    report.rows = len(indices)
    doubled = next((a for a, b in pairwise(indices) if a == b), None)
    if doubled is not None:
        report.add(doubled, Law.DIGESTS, f"index {doubled} occurs twice")
    elif indices != list(range(len(indices))) or len(indices) != entry["rows"]:
        report.add(WHOLE_FILE, Law.DIGESTS, f"the indices are not 0 … {entry['rows'] - 1}")
    elif in_order != indices:
        report.add(WHOLE_FILE, Law.ACCOUNTED, "the rows are not in the order of their index")
    if not indices:
        report.add(WHOLE_FILE, Law.ACCOUNTED, "the file has no row that can be read")
        return
    report.asked = {index: asked for group in groups for index, asked in group.asked.items()}
    _spread(groups, report)
    _asked_twice(groups, report)
    questions = [digest for group in groups for digest in group.questions]
    for index, (given, right) in enumerate(
        zip(entry.get("questions", []), questions, strict=False)
    ):
        if given != right:
            what = "question, references and gold documents are not those of the manifest's digest"
            report.add(index, Law.ACCOUNTED, what)
    for what in _wrong_figures(path, entry, reserve, groups):
        report.add(WHOLE_FILE, Law.ACCOUNTED, what)


def _spread(groups: list[InspectedRowGroup], report: FileReport) -> None:
    """Gold positions are spread over the whole context; at `0k` the context is gold alone."""
    if any(group.alone for group in groups):
        return
    places = [place for group in groups for place in group.places]
    depths = [depth for group in groups for depth in group.depths]
    if places:
        depths = [(before + 0.5) / total for before, total in places]
    fewest = min((total for _, total in places), default=20)
    if (distance := _from_even(depths)) > 0.5 / fewest + 2.5 / math.sqrt(max(1, len(depths))):
        report.add(
            WHOLE_FILE,
            Law.POSITIONS,
            f"gold positions are not spread over the context (distance {distance:.2f})",
        )
    elif len(depths) >= 8 and fewest >= 4 and len(set(places or depths)) == 1:
        report.add(WHOLE_FILE, Law.POSITIONS, "the gold stands at the same place in every row")


def _asked_twice(groups: list[InspectedRowGroup], report: FileReport) -> None:
    """No row is another one again. A corpus may have a question twice, with the same answers."""
    first: dict[str, int] = {}
    for group in groups:
        for index, digest in group.texts.items():
            if (before := first.setdefault(digest, index)) != index:
                report.add(index, Law.ACCOUNTED, f"the row is row {before} again")


def _from_even(depths: list[float]) -> float:
    """Greatest distance of the depths' distribution from an even one (Kolmogorov–Smirnov)."""
    ordered, n = sorted(depths), len(depths)
    return max(
        (max(abs((i + 1) / n - depth), abs(i / n - depth)) for i, depth in enumerate(ordered)),
        default=0.0,
    )


def _wrong_figures(
    path: Path, entry: FileEntry, reserve: int, groups: list[InspectedRowGroup]
) -> Iterator[str]:
    """The figures of a file's entry in the manifest that are not those of its rows and bytes."""
    lengths = [length for group in groups for length in group.lengths]
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
    if any(group.alone for group in groups):
        figures["unit"] = (entry["unit"], 0)
    exhausted = [one for group in groups for one in group.exhausted]
    if None not in exhausted:
        figures["exhausted"] = (entry["exhausted"], sum(map(bool, exhausted)))
    repeats = [again for group in groups for again in group.repeats if again is not None]
    if len(repeats) == len(lengths):
        figures["repeats"] = (entry["repeats"], max(repeats))
        if entry.get("row_repeats", [0] * len(repeats)) != repeats:
            yield "row_repeats is not how often each row's haystack began again"
    for name, (given, right) in figures.items():
        if not math.isclose(given, right, rel_tol=1e-9):
            yield f"{name} is {given:g} in the manifest, {right:g} in the file"
    if len(entry.get("questions", [])) != sum(len(group.questions) for group in groups):
        yield "questions in the manifest are not as many as the rows"
    _, text = max((group.longest for group in groups), default=(0, ""))
    if entry.get("text_sha256", "") != text:
        yield "text_sha256 in the manifest is not that of the longest text without its needles"
    units = [unit for group in groups for unit in group.units]
    most = max((unit for unit in units if unit is not None), default=0)
    if None not in units and entry["unit"] > most:
        yield f"unit is {entry['unit']} in the manifest, no unit has more than {most} tokens"
