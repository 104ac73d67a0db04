"""Build a release: files -> card -> manifest; stopped anywhere, the same order goes on.

    build(BuildOrder(Path("ruler"), tokenizers=("tekken",), lengths=("4k",)), report)

A file is the unit of work: a worker writes `vt.parquet` and then its own manifest, `vt.json` in
the folder `.build` (common/build_folder.py). What has both is not made again. The release's
manifest joins that of an earlier build and those of the finished files, and is written last, so
that what it lists is complete. Neither workers, order nor interruptions change a byte.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ruler_builder.common.build_folder import (
    begin_build,
    end_build,
    is_unfinished,
    read_finished,
)
from ruler_builder.common.folder_lock import alone_in
from ruler_builder.common.processes import worker_pool
from ruler_builder.release.card_files import card_files
from ruler_builder.release.file_builder import FileBuilder, FileJob
from ruler_builder.release.new_manifest import join_manifests, new_settings
from ruler_builder.release.order import BuildOrder, file_jobs, refuse_two_kinds
from ruler_builder.release.suite import read_suite
from ruler_builder.text.sources import parse_choice
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
    """Make what the order asks for and the release lacks.

    Raises RulerError before any work, also if another build or fetch is at work in the folder.
    """
    with alone_in(order.root):
        return _build(order, report)


def _build(order: BuildOrder, report: RowsBar) -> Built:
    suite, root = read_suite(order.suite), order.root
    jobs = file_jobs(order, suite)
    release, finished = existing_release(root), read_finished(root)
    parts = [*([release] if release else []), *finished.values()]
    shared = join_manifests([*parts, new_settings(suite, order.seed, order.reserve)], root)
    _refuse_other_rows(shared["files"], jobs, root)
    lengths = [entry["length"] for entry in shared["files"].values()]
    refuse_two_kinds([*lengths, *(job.config.length for job in jobs)], root)
    todo = [job for job in jobs if job.config.path not in shared["files"]]
    if release and not todo and not is_unfinished(root):
        _write_card_files(root, release)  # a newer version may word the card differently
        return Built(release, [])
    mirror = str(order.mirror.resolve()) if order.mirror else None
    arguments = (suite, mirror, parse_choice(order.sources, order.own_sources), root.resolve())
    workers = order.workers or processes_for(sum(job.tokens for job in todo))
    with worker_pool(workers, FileBuilder, arguments, order.engine, order.address) as run:
        report.planned(len(todo), sum(job.rows for job in todo), len(jobs) - len(todo))
        checked = {one.job.config.path: one for one in run(FileBuilder.check, todo)}
        possible = {path: one for path, one in checked.items() if not one.impossible}
        shared = join_manifests([shared, *(one.settings for one in possible.values())], root)
        left_out = {one.job.config.name: one.impossible for one in checked.values()}
        left_out = {name: why for name, why in left_out.items() if why}
        shared["left_out"] = {**shared.get("left_out", {}), **left_out}
        if not (shared["files"] or possible):
            raise RulerError(f"Nothing can be built. {next(iter(left_out.values()))}")
        todo = [possible[job.config.path].job for job in todo if job.config.path in possible]
        report.planned(len(todo), sum(job.rows for job in todo), len(jobs) - len(todo))
        begin_build(root)
        for manifest in run(FileBuilder.build, todo):
            for path, entry in manifest["files"].items():
                report.rows(entry["rows"])
                finished[path] = manifest
                log.debug("%s: %d rows", path, entry["rows"])
    joined = join_manifests([shared, *finished.values()], root)
    _write_card_files(root, joined)
    write_whole(root / MANIFEST, manifest_text(joined))
    end_build(root)
    return Built(joined, sorted(finished))


def _write_card_files(root: Path, manifest: Manifest) -> None:
    """Write the card, eval.yaml and croissant.json if they are not what they should be."""
    for name, text in card_files(root, manifest).items():
        path = root / name
        if not path.is_file() or path.read_bytes() != text.encode("utf-8"):
            write_whole(path, text)


def existing_release(root: Path) -> Manifest | None:
    """The manifest of the release in a folder; None if there is none.

    Raises RulerError for a folder with other files.
    """
    if (root / MANIFEST).exists():
        return read_manifest(root)
    others = [path.name for path in root.iterdir()] if root.is_dir() else []
    if others and not is_unfinished(root):
        raise RulerError(f"'{root}' holds other files ({others[0]}): give a new folder.")
    return None


def _refuse_other_rows(files: Mapping[str, FileEntry], jobs: list[FileJob], root: Path) -> None:
    for job in jobs:
        entry = files.get(job.config.path)
        if entry and entry["rows"] != min(job.rows, entry["most_rows"] or job.rows):
            raise RulerError(
                f"'{root}' holds {entry['rows']} rows of '{job.config.name}', not {job.rows}: "
                f"ask for --samples {entry['rows']} or give a new folder."
            )


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
    """The size of what is to be made. Raises RulerError as `build` does."""
    suite = read_suite(order.suite)
    jobs = file_jobs(order, suite)
    release = existing_release(order.root)
    todo = [job for job in jobs if not release or job.config.path not in release["files"]]
    rows, tokens = sum(job.rows for job in todo), sum(job.tokens for job in todo)
    return BuildSize(suite.dataset, len(todo), rows, tokens)
