"""Build a release: plan -> files -> card -> manifest, resumable at every point.

    build(BuildOrder(Path("ruler"), tokenizers=("tekken",), lengths=("4k",)), report)

A file is the unit of work: it is written under a temporary name, renamed when whole and entered in
`.build/journal.jsonl`. The manifest is written last, so that what it lists is complete; until then
`.build/plan.json` says what is under way. Neither workers, order nor interruptions change a byte.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Protocol, cast

from builder.card.card_files import card_files
from builder.common.build_folder import (
    BUILD_FOLDER,
    claim_for_shard,
    clear_build,
    read_plan,
)
from builder.common.processes import worker_pool
from builder.common.ray_workers import ray_pool
from builder.release.file_builder import Checked, FileBuilder, FileJob, SourceSettings
from builder.release.journal import append, read_journal, write_plan
from builder.release.manifest import merge_settings, new_settings, with_files
from builder.release.order import BuildOrder, file_jobs, refuse_two_kinds
from builder.sources.folder_lock import alone_in
from builder.sources.registry import parse_choice
from builder.tasks.suite import read_suite
from ruler_dataset import (
    MANIFEST,
    FileEntry,
    Manifest,
    RulerError,
    read_manifest,
    write_whole,
)

log = logging.getLogger(__name__)


class BuildProgress(Protocol):
    """Is called as the work goes on."""

    def planned(self, files: int, rows: int, kept: int) -> None:
        """So many files and rows are to be made; so many files are there already.

        Called twice: before every window is checked, and after, with the true number of rows.
        """

    def rows(self, count: int) -> None:
        """So many more rows are made."""

    def note(self, text: str) -> None:
        """Something that the user should know."""


@dataclass(frozen=True)
class Built:
    """What a build made: the manifest, and the paths that are new in it."""

    manifest: Manifest
    new: list[str]


def build(order: BuildOrder, report: BuildProgress) -> Built:
    """Make what the order asks for and the release lacks. Raises RulerError before any work.

    Also where another build or fetch is at work in the same folder.
    """
    with alone_in(order.root):
        return _build(order, report)


def _build(order: BuildOrder, report: BuildProgress) -> Built:
    suite, root = read_suite(order.suite, order.dataset), order.root
    jobs = file_jobs(order, suite)
    shared = new_settings(order, suite)
    release = existing_release(root)
    if order.shard:
        planned = {job.config.path: job.config.name for job in jobs}
        mine = order.shard.chosen({job.config.path: _size(job) for job in jobs})
        jobs = [job for job in jobs if job.config.path in mine]
        if not jobs:
            report.note(f"Shard {order.shard} has no file: there are {len(planned)} in all.")
            return Built(shared, [])
        claim_for_shard(root, order.shard, planned)
    begun, done = read_plan(root), read_journal(root)
    for earlier in (release, begun):
        shared = merge_settings(earlier, shared, root) if earlier else shared
    there = {**(release["files"] if release else {}), **done}
    _refuse_other_rows(there, jobs, root)
    lengths = [entry["length"] for entry in there.values()]
    refuse_two_kinds([*lengths, *(job.config.length for job in jobs)], root)
    todo = [job for job in jobs if job.config.path not in there]
    if release and not todo and not begun:
        report.planned(0, 0, len(jobs))
        _write_card_files(root, release)  # a newer version may word the card anew
        return Built(release, [])
    mirror = str(order.mirror.resolve()) if order.mirror else None
    settings = SourceSettings(mirror, parse_choice(order.sources))
    arguments = (suite, settings, root.resolve())
    pool = partial(ray_pool, address=order.address) if order.engine == "ray" else worker_pool
    with pool(order.workers, FileBuilder, arguments, report.rows) as run:
        report.planned(len(todo), sum(job.rows for job in todo), len(jobs) - len(todo))
        checked = list(run(FileBuilder.check, todo))
        shared["left_out"] = {**shared.get("left_out", {}), **_left_out(todo, checked)}
        checked = [found for found in checked if not found.impossible]
        for found in checked:
            shared = merge_settings(shared, cast(Manifest, {**shared, **found.read}), root)
        rows = {found.path: found.rows for found in checked}
        todo = [job._replace(rows=rows[job.config.path]) for job in todo if job.config.path in rows]
        if not (there or todo or order.shard):
            raise RulerError(f"Nothing can be built. {next(iter(shared['left_out'].values()))}")
        write_plan(root, shared, [*done, *rows])
        report.planned(len(todo), sum(job.rows for job in todo), len(jobs) - len(todo))
        mismatches: dict[str, str] = {}  # tokenizer -> what the second engine counted wrongly
        for made in run(FileBuilder.build, todo):
            if made.entry is None:
                mismatches[made.job.config.tokenizer] = made.mismatch
            else:
                done[made.path] = made.entry
                append(root, made.path, made.entry)
                log.debug("%s: %d rows", made.path, made.entry["rows"])
        for text in mismatches.values():
            report.note(text)
        rows |= {path: entry["rows"] for path, entry in done.items()}
        again = [
            job._replace(rows=rows[job.config.path], fast=False)
            for job in jobs
            if job.config.tokenizer in mismatches and job.config.path in rows
        ]
        for made in run(FileBuilder.build, again):
            if made.entry is not None:
                done[made.path] = made.entry
                append(root, made.path, made.entry)
                log.debug("%s: %d rows", made.path, made.entry["rows"])
    return Built(complete(root, shared, {**there, **done}), sorted(done))


def complete(root: Path, shared: Manifest, files: Mapping[str, FileEntry]) -> Manifest:
    """Write card and manifest of a release whose files are all there."""
    manifest = with_files(shared, files)
    _write_card_files(root, manifest)
    write_whole(root / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    clear_build(root)
    return manifest


def _size(job: FileJob) -> int:
    """The tokens of a file, by which shards share the files out."""
    return job.rows * job.config.max_length


def _left_out(jobs: list[FileJob], checked: list[Checked]) -> dict[str, str]:
    """Why the files that cannot be built cannot, by the names of their configurations."""
    names = {job.config.path: job.config.name for job in jobs}
    return {names[found.path]: found.impossible for found in checked if found.impossible}


def _write_card_files(root: Path, manifest: Manifest) -> None:
    """The card, eval.yaml and croissant.json, where they are not what they should be.

    A shard whose window holds none of its tasks has no file, and no card.
    """
    if not manifest["files"]:
        return
    for name, text in card_files(root, manifest).items():
        path = root / name
        if not path.is_file() or path.read_bytes() != text.encode("utf-8"):
            write_whole(path, text)


def existing_release(root: Path) -> Manifest | None:
    """The manifest of the release that is there; None if there is none."""
    if (root / MANIFEST).exists():
        return read_manifest(root)
    strangers = [path.name for path in root.iterdir()] if root.is_dir() else []
    if strangers and BUILD_FOLDER not in strangers:
        raise RulerError(f"'{root}' holds other files ({strangers[0]}): give a new folder.")
    return None


def _refuse_other_rows(files: Mapping[str, FileEntry], jobs: list[FileJob], root: Path) -> None:
    for job in jobs:
        entry = files.get(job.config.path)
        if entry and entry["rows"] != min(job.rows, entry["most_rows"] or job.rows):
            raise RulerError(
                f"'{root}' holds {entry['rows']} rows of '{job.config.name}', not {job.rows}: "
                f"ask for --samples {entry['rows']} or give a new folder."
            )


def digest_of(manifest: Manifest) -> str:
    """One digest of all rows of a release, whatever wrote the files."""
    rows = {path: entry["rows_sha256"] for path, entry in manifest["files"].items()}
    return sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
