"""Verify a release: prove its laws from its files alone, re-tokenising every row.

    report = verify(Path("ruler"), workers=2)
    report.ok, report.files["data/tekken/4k/vt.parquet"].breaches

Each row is checked alone (inspect_rows.py), then each file as a whole (file_checks.py), then what
the files have in common (release_checks.py), and what is rendered from the manifest
(card_checks.py). The laws are listed in breaches.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from builder.checks.breaches import Law
from builder.checks.card_checks import check_card_files
from builder.checks.described_tasks import check_described
from builder.checks.file_checks import check_file, readable_parts
from builder.checks.inspect_rows import InspectedRowGroup, Inspector
from builder.checks.release_checks import (
    check_frozen,
    check_manifest,
    check_same_asked,
    check_same_texts,
    is_own_suite,
    unlisted,
)
from builder.checks.sources_at_hand import SourcesAtHand
from builder.checks.verify_report import WHOLE_FILE, FileReport, VerifyReport
from builder.common.build_folder import unfinished
from builder.common.processes import OnProgress, worker_pool
from builder.tokens.reference_counter import places
from ruler_dataset import MANIFEST, Manifest, read_manifest


def verify(
    root: Path,
    workers: int = 1,
    mirror: Path | None = None,
    tokenizers: Iterable[str] = (),
    planned: Callable[[int], None] = lambda rows: None,
    on_progress: OnProgress = lambda rows: None,
) -> VerifyReport:
    """Verify a whole release; `tokenizers` says where unnamed ones lie now, as `NAME=FOLDER`.

    `planned` is called with the number of rows, `on_progress` with each number of rows more.
    Raises RulerError if there is no release, its manifest is damaged, or a tokenizer is missing or
    another.
    """
    left = unfinished(root)
    if left and not (root / MANIFEST).exists():
        return VerifyReport({}, left)
    manifest = read_manifest(root)
    check_described(manifest, root / MANIFEST)
    entries = manifest["files"]
    reports = {path: FileReport(entry["config"]) for path, entry in entries.items()}
    parts = [
        part
        for path, report in reports.items()
        for part in readable_parts(root, path, entries[path], report)
    ]
    readable = {part.path: None for part in parts}
    planned(sum(entries[path]["rows"] for path in readable))
    groups: dict[str, list[InspectedRowGroup]] = defaultdict(list)
    specs = places(manifest, tokenizers)
    arguments = (root, manifest, str(mirror.resolve()) if mirror else None, specs)
    parts.sort(key=lambda part: entries[part.path]["tokenizer"])
    with worker_pool(workers, Inspector, arguments, on_progress) as run:
        mismatches: dict[str, str] = {}  # tokenizer -> what the second engine counted wrongly
        for group in run(Inspector.inspect, parts):
            groups[group.path].append(group)
            if group.mismatch:
                mismatches[entries[group.path]["tokenizer"]] = group.mismatch
        again = [part for part in parts if entries[part.path]["tokenizer"] in mismatches]
        for part in again:
            groups[part.path].clear()
        for group in run(Inspector.inspect, [part._replace(fast=False) for part in again]):
            groups[group.path].append(group)
        digests = {part.path: groups[part.path][0].digest for part in parts if part.whole_file}
        digests.update(run(Inspector.digest, [path for path in readable if path not in digests]))
    for path, digest in digests.items():
        if digest != entries[path]["rows_sha256"]:
            what = "rows_sha256 in the manifest is not that of the rows"
            reports[path].add(WHOLE_FILE, Law.ACCOUNTED, what)
    for path, report in reports.items():
        check_file(root / path, entries[path], manifest["reserve"], groups[path], report)
    check_same_asked(manifest, reports)
    check_same_texts((group for found in groups.values() for group in found), reports)
    check_frozen(manifest, reports)
    for name in () if left else unlisted(root, manifest):
        reports[name] = FileReport(name)
        reports[name].add(WHOLE_FILE, Law.DIGESTS, "the file is not in the manifest")
    sources = SourcesAtHand(manifest, str(mirror) if mirror else None)
    whole = FileReport(MANIFEST)
    check_manifest(manifest, sources, whole)
    if whole.count:
        reports[MANIFEST] = whole
    notes = [*mismatches.values()]
    if not left:
        notes += check_card_files(root, manifest, reports)
    missing = {name for found in groups.values() for group in found for name in group.missing}
    notes += _notes(manifest, missing | sources.missing)
    return VerifyReport(reports, left, notes)


def _notes(manifest: Manifest, missing: set[str]) -> list[str]:
    """What could not be checked, and why."""
    notes = []
    if missing:
        notes.append(
            f"Not checked without the source: {', '.join(sorted(missing))}. "
            "With --mirror FOLDER, or after `ruler sources fetch`, these are checked too."
        )
    if is_own_suite(manifest):
        notes.append("The wording is a suite's of its own: not checked against the project's.")
    return notes
