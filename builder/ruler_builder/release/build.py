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
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path

from ruler_builder.card.card_files import card_files
from ruler_builder.common.build_folder import (
    BUILD_FOLDER,
    add_to_journal,
    claim_for_shard,
    clear_build,
    read_journal,
    read_plan,
    write_plan,
)
from ruler_builder.common.processes import worker_pool
from ruler_builder.common.ray_workers import ray_pool
from ruler_builder.release.file_builder import FileBuilder, FileJob
from ruler_builder.release.new_manifest import merge_settings, new_settings, with_files
from ruler_builder.release.order import (
    BuildOrder,
    file_jobs,
    jobs_of_shard,
    length_names,
    refuse_two_kinds,
)
from ruler_builder.release.suite import read_suite
from ruler_builder.sources.chosen_sources import parse_choice
from ruler_builder.sources.folder_lock import alone_in
from ruler_common.errors import RulerError
from ruler_common.files import write_whole
from ruler_common.manifest import manifest_text, read_manifest
from ruler_common.manifest_form import MANIFEST, FileEntry, Manifest
from ruler_common.terminal import RowsBar
from ruler_common.work import processes_for

log = logging.getLogger(__name__)
# Of the builds in tests/bench/RELEASE.md, which had the extra `fast`; texts of other languages or
# sources may differ by half.
_BYTES = {"ruler": 0.34, "oneruler": 0.18}  # a token; ONERULER's rows share their books
_SECONDS_OF_ROW = 0.004
_SECONDS_OF_TOKEN = 1.1e-7


@dataclass(frozen=True)
class Built:
    """What a build made: the manifest, and the paths that are new in it."""

    manifest: Manifest = field(repr=False)  # long, and a notebook shows what a call returns
    new: list[str]


def build(order: BuildOrder, report: RowsBar) -> Built:
    """Make what the order asks for and the release lacks. Raises RulerError before any work.

    Also where another build or fetch is at work in the same folder.
    """
    with alone_in(order.root):
        return _build(order, report)


def _build(order: BuildOrder, report: RowsBar) -> Built:
    suite, root = read_suite(order.suite), order.root
    jobs = file_jobs(order, suite)
    lengths_asked = length_names(order, suite)
    shared = new_settings(suite, order.seed, order.reserve, lengths_asked, order.mini)
    release = existing_release(root)
    if order.shard:
        planned = {job.config.path: job.config.name for job in jobs}
        jobs = jobs_of_shard(order, jobs)
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
    arguments = (suite, mirror, parse_choice(order.sources, order.own_sources), root.resolve())
    pool = partial(ray_pool, address=order.address) if order.engine == "ray" else worker_pool
    workers = order.workers or processes_for(sum(job.tokens for job in todo))
    with pool(workers, FileBuilder, arguments, report.rows) as run:
        report.planned(len(todo), sum(job.rows for job in todo), len(jobs) - len(todo))
        checked = list(run(FileBuilder.check, todo))
        impossible = {found.config.name: found.impossible for found in checked if found.impossible}
        shared["left_out"] = {**shared.get("left_out", {}), **impossible}
        checked = [found for found in checked if not found.impossible]
        for found in checked:
            shared = merge_settings(shared, {**shared, **found.read}, root)
        rows = {found.config.path: found.rows for found in checked}
        todo = [job._replace(rows=rows[job.config.path]) for job in todo if job.config.path in rows]
        if not (there or todo or order.shard):
            raise RulerError(f"Nothing can be built. {next(iter(shared['left_out'].values()))}")
        write_plan(root, shared, [*done, *rows])
        report.planned(len(todo), sum(job.rows for job in todo), len(jobs) - len(todo))
        mismatches: dict[str, str] = {}  # tokenizer -> what the second engine counted wrongly
        while todo:  # once more where the second engine counted wrongly, without it
            for config, entry, mismatch in run(FileBuilder.build, todo):
                if entry is None:
                    mismatches[config.tokenizer] = mismatch
                else:
                    done[config.path] = entry
                    add_to_journal(root, config.path, entry)
                    log.debug("%s: %d rows", config.path, entry["rows"])
            if not todo[0].fast:
                break
            for text in mismatches.values():
                report.note(text)
            rows |= {path: entry["rows"] for path, entry in done.items()}
            todo = [
                job._replace(rows=rows[job.config.path], fast=False)
                for job in jobs
                if job.config.tokenizer in mismatches and job.config.path in rows
            ]
    return Built(complete(root, shared, {**there, **done}), sorted(done))


def complete(root: Path, shared: Manifest, files: Mapping[str, FileEntry]) -> Manifest:
    """Write card and manifest of a release whose files are all there."""
    manifest = with_files(shared, files)
    _write_card_files(root, manifest)
    write_whole(root / MANIFEST, manifest_text(manifest))
    clear_build(root)
    return manifest


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


@dataclass(frozen=True)
class BuildSize:
    """What an order asks for and the release lacks; tokens are those of full windows."""

    dataset: str
    files: int
    rows: int
    tokens: int

    @property
    def bytes(self) -> float:
        """What its files take on disk, about."""
        return self.tokens * _BYTES[self.dataset]

    @property
    def cpu_seconds(self) -> float:
        """What all processes together take, about, with the extra `fast`."""
        return self.rows * _SECONDS_OF_ROW + self.tokens * _SECONDS_OF_TOKEN


def size_of(order: BuildOrder) -> BuildSize:
    """The size of what is to be made; of a shard its part. Raises RulerError as `build` does."""
    suite = read_suite(order.suite)
    jobs = jobs_of_shard(order, file_jobs(order, suite))
    release = existing_release(order.root)
    todo = [job for job in jobs if not release or job.config.path not in release["files"]]
    rows, tokens = sum(job.rows for job in todo), sum(job.tokens for job in todo)
    return BuildSize(suite.dataset, len(todo), rows, tokens)
