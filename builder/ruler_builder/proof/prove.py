"""Prove the laws of a release from its files alone, re-tokenising every row.

    report = prove(ReleaseAtHand(Path("ruler"), manifest), left=False, workers=2)
    report.ok, report.files["data/tekken/4k/vt.parquet"].breaches

Each row is checked alone (inspect_rows.py), then each file as a whole (file_checks.py), then what
the files have in common (release_checks.py), and what is rendered from the manifest
(folder_checks.py). The laws are listed in breaches.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from ruler_builder.common.processes import worker_pool
from ruler_builder.proof.described_tasks import check_described
from ruler_builder.proof.file_checks import check_file, readable_parts
from ruler_builder.proof.folder_checks import beside, check_card_files, strangers
from ruler_builder.proof.inspect_rows import InspectedRowGroup, Inspector
from ruler_builder.proof.parquet_bytes import own_writer
from ruler_builder.proof.release_checks import (
    check_frozen,
    check_most_rows,
    check_same_asked,
    check_same_texts,
    corpora_of,
)
from ruler_builder.proof.verify_report import FileReport, VerifyReport
from ruler_builder.reading.breaches import Law
from ruler_builder.tokens.reference_counter import ReleaseAtHand, absent
from ruler_common.manifest_form import MANIFEST, OWN_SUITE, Manifest
from ruler_common.text import printable
from ruler_common.work import OnRows

_NAMED = 20  # of what stands beside a release


def prove(
    here: ReleaseAtHand,
    left: bool,
    workers: int,
    planned: Callable[[int], None],
    on_progress: OnRows,
) -> VerifyReport:
    """Prove a release; `left`: whether its build is unfinished; the rest as in verify.py.

    Raises RulerError if its tasks cannot be read by its manifest, or a tokenizer is missing or
    another.
    """
    root, manifest = here.root, here.manifest
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
    parts.sort(key=lambda part: entries[part.path]["tokenizer"])
    with worker_pool(workers, Inspector, (here,)) as run:
        mismatches: dict[str, str] = {}  # tokenizer -> what the second engine counted wrongly
        for group in run(Inspector.inspect, parts):
            groups[group.path].append(group)
            on_progress(len(group.rows))
            if group.mismatch:
                mismatches[entries[group.path]["tokenizer"]] = group.mismatch
        again = [part for part in parts if entries[part.path]["tokenizer"] in mismatches]
        for part in again:
            groups[part.path].clear()
        for group in run(Inspector.inspect, [part._replace(fast=False) for part in again]):
            groups[group.path].append(group)
        digests = {part.path: groups[part.path][0].digest for part in parts if part.whole_file}
        digests.update(run(Inspector.digest, [path for path in readable if path not in digests]))
        questions = dict(run(Inspector.questions, corpora_of(manifest)))
    for path, digest in digests.items():
        reports[path].rows_sha256 = digest
        if digest != entries[path]["rows_sha256"]:
            reports[path].add("rows_sha256 in the manifest is not that of the rows")
    for path, report in reports.items():
        check_file(root / path, manifest, entries[path], groups[path], report)
    check_same_asked(manifest, reports)
    check_same_texts((group for found in groups.values() for group in found), reports)
    check_frozen(manifest, reports)
    for name, what in () if left else strangers(root, manifest):
        reports[name] = FileReport(name)
        reports[name].add(what, Law.DIGESTS)
    whole = FileReport(MANIFEST)
    check_most_rows(manifest, questions, whole)
    if whole.count:
        reports[MANIFEST] = whole
    notes = [*mismatches.values()]
    if not left:
        notes += check_card_files(root, manifest, reports)
    if others := beside(root):
        named = ", ".join(map(printable, others[:_NAMED])) + ", …" * (len(others) > _NAMED)
        notes.append(f"Not of the release, and not checked: {named}.")
    if writers := {report.writer for report in reports.values()} - {"", own_writer()}:
        by = f"Files by {', '.join(sorted(writers))}, not {own_writer()}"
        notes.append(f"{by}: their figures of pages are not compared.")
    missing = {name for found in groups.values() for group in found for name in group.missing}
    missing |= {corpus for corpus, asked in questions.items() if asked is None}
    notes += _notes(manifest, missing)
    return VerifyReport(reports, left, notes=notes, uncounted=absent(here))


def _notes(manifest: Manifest, missing: set[str]) -> list[str]:
    """What could not be checked, and why."""
    notes = []
    if missing:
        notes.append(
            f"Not checked without the source: {', '.join(sorted(missing))}, and whether more of it "
            "would fit than the file's other rows show. "
            "With --mirror FOLDER, or after `ruler sources fetch`, these are checked too."
        )
    if manifest.get("suite") == OWN_SUITE:
        notes.append("The wording is a suite's of its own: not checked against the project's.")
    return notes
