"""Build a release: files -> card -> manifest; stopped anywhere, the same order continues.

    build(BuildOrder(Path("ruler"), tokenizers=("tekken",), lengths=("4k",)), report)

A file is the unit of work: a worker (FileBuilder) writes `vt.parquet` and then its manifest entry,
`vt.json`. What has both is not made again. The release's manifest joins that of an earlier build
and those of the finished files, and is written last, so that what it lists is complete. Neither
workers, order nor interruptions change a byte.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ruler_builder.release.card_files import card_files
from ruler_builder.release.executor import worker_pool
from ruler_builder.release.folder_lock import alone_in
from ruler_builder.release.manifest import (
    begin_build,
    end_build,
    is_unfinished,
    join_manifests,
    new_settings,
    read_finished,
    with_files,
    write_finished,
)
from ruler_builder.release.parquet import parquet_file, rows_in_group
from ruler_builder.release.plan import (
    BuildOrder,
    FileJob,
    build_size,
    existing_release,
    file_jobs,
    refuse_full_disk,
    refuse_read_only,
    refuse_two_kinds,
)
from ruler_builder.suites.suite import Suite, read_suite
from ruler_builder.tasks.base import NewRow, Task, TaskKey
from ruler_builder.tasks.registry import sources_of
from ruler_builder.text.sources import SourceChoice, Sources, Store, parse_choice
from ruler_builder.tokens.counting import (
    EngineMismatch,
    TokenCounter,
    confirm,
    is_sampled,
    with_engine,
)
from ruler_builder.tokens.tokenizers import load_counter
from ruler_builder.window.counted_sources import CountedSources
from ruler_builder.window.fit import Impossible
from ruler_common.errors import RulerError
from ruler_common.files import sha256_of, write_whole
from ruler_common.manifest import MANIFEST, FileEntry, Manifest, manifest_text
from ruler_common.terminal import FilesBar
from ruler_common.work import processes_for

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Built:
    """What a build made."""

    manifest: Manifest = field(repr=False)  # long, and a notebook shows what a call returns
    new: list[str]  # the paths that are new in it
    # Configurations that cannot be built (`--skip-impossible`), and why
    left_out: dict[str, str] = field(default_factory=dict)


def build(order: BuildOrder, bar: FilesBar) -> Built:
    """Make what the order asks for and the release does not have yet.

    Raises RulerError before any work, also if another build or fetch is at work in the folder.
    """
    refuse_read_only(order.root)
    with alone_in(order.root):
        return _build(order, bar)


def _build(order: BuildOrder, bar: FilesBar) -> Built:
    suite, root = read_suite(order.suite), order.root
    jobs = file_jobs(order, suite)
    release, finished = existing_release(root), read_finished(root)
    made = [release, *finished.values()] if release else [*finished.values()]
    shared = join_manifests([*made, new_settings(suite, order.seed, order.reserve)], root)
    _refuse_other_rows(shared["files"], jobs, root)
    lengths = [entry["length"] for entry in shared["files"].values()]
    refuse_two_kinds([*lengths, *(job.config.length for job in jobs)], root)
    missing = [job for job in jobs if job.config.path not in shared["files"]]
    if release and not missing and not is_unfinished(root):
        _write_card_files(root, release)  # a newer version may word the card differently
        return Built(release, [])
    refuse_full_disk(root, build_size(suite.dataset, missing))
    mirror = str(order.mirror.resolve()) if order.mirror else None
    arguments = (suite, mirror, parse_choice(order.sources, order.custom_sources), root.resolve())
    workers = order.workers or processes_for(sum(job.tokens for job in missing))
    with worker_pool(workers, FileBuilder, arguments, order.engine, order.address) as run:
        _plan_bar(bar, missing, jobs)
        checked = {found.job.config.path: found for found in run(FileBuilder.check, missing)}
        in_order = [checked[job.config.path] for job in missing]
        left_out = {one.job.config.name: one.impossible for one in in_order if one.impossible}
        shared = join_manifests(
            [shared, *(one.settings for one in in_order if not one.impossible)], root
        )
        if not shared["files"] and len(left_out) == len(in_order):
            raise RulerError(f"Nothing can be built. {next(iter(left_out.values()))}")
        possible = [found.job for found in in_order if not found.impossible]
        _plan_bar(bar, possible, jobs)
        begin_build(root)
        for manifest in run(FileBuilder.build, possible):
            for path, entry in manifest["files"].items():
                finished[path] = manifest
                bar.finished(entry["rows"] * entry["max_length"])
                log.debug("%s: %d rows", path, entry["rows"])
    joined = join_manifests([shared, *finished.values()], root)
    _write_card_files(root, joined)
    write_whole(root / MANIFEST, manifest_text(joined))
    end_build(root)
    return Built(joined, sorted(finished), left_out)


def _plan_bar(bar: FilesBar, todo: list[FileJob], jobs: list[FileJob]) -> None:
    bar.planned(len(todo), sum(job.tokens for job in todo), kept=len(jobs) - len(todo))


def _write_card_files(root: Path, manifest: Manifest) -> None:
    """Write the card, eval.yaml and croissant.json if they are not what they should be."""
    for name, text in card_files(root, manifest).items():
        path = root / name
        if not path.is_file() or path.read_bytes() != text.encode("utf-8"):
            write_whole(path, text)


def _refuse_other_rows(files: Mapping[str, FileEntry], jobs: list[FileJob], root: Path) -> None:
    for job in jobs:
        entry = files.get(job.config.path)
        if entry and entry["rows"] != min(job.rows, entry["most_rows"] or job.rows):
            raise RulerError(
                f"'{root}' holds {entry['rows']} rows of '{job.config.name}', not {job.rows}: "
                f"ask for --samples {entry['rows']} or give a new folder."
            )


_LEVEL_SHARED, _LEVEL_OTHER = 9, 5  # zstd: rows that share their haystack repay the harder level


@dataclass(frozen=True, kw_only=True)
class CheckedJob:
    """A job that was checked before any work.

    `job` has the number of rows that can be made, `settings` is the manifest of its file without
    the file, and `impossible` says why a file that may be left out cannot be built.
    """

    job: FileJob
    settings: Manifest
    impossible: str = ""


class FileBuilder:
    """Makes files; keeps the counted_sources of the tokenizer it used last.

    `choice` says which sources the project's own texts replace, and in which folders others are.
    """

    def __init__(
        self,
        suite: Suite,
        mirror: str | None,
        choice: SourceChoice,
        root: Path,
        load: Callable[[str, Store], TokenCounter] = load_counter,
    ) -> None:
        self.suite, self.mirror, self.choice, self.root = suite, mirror, choice, root
        self.load = load
        self._counted_sources: CountedSources
        self._counted_by: tuple[str, bool] | None = None
        self._tasks: dict[str, Task[Any]] = {}

    def task(self, job: FileJob) -> Task[Any]:
        """Return the task of a job, made once for its check and its building.

        It holds the counted sources of the job's tokenizer, which all its jobs share.
        """
        config, counted_by = job.config, (job.tokenizer, job.fast)
        if counted_by != self._counted_by:
            store = Store(self.mirror)
            counter = self.load(job.tokenizer, store)
            counter = with_engine(counter) if job.fast else counter
            self._counted_sources = CountedSources(Sources(store, self.choice), counter)
            self._counted_by = counted_by
            self._tasks.clear()
        if config.path not in self._tasks:
            key = TaskKey(
                dataset=config.dataset,
                task=config.task,
                max_length=config.max_length,
                reserve=job.reserve,
                seed=job.seed,
                language=config.language,
                instruction_language=config.instruction_language,
            )
            self._tasks[config.path] = self.suite.task(key, self._counted_sources)
        return self._tasks[config.path]

    def check(self, job: FileJob) -> CheckedJob:
        """Check that a job can be done. Raises RulerError if not, unless it may be left out."""
        task = self.task(job)
        job = job._replace(rows=min(job.rows, task.limit() or job.rows))
        impossible = ""
        try:
            task.check_answers(job.rows)
            task.check(job.rows)
        except Impossible as error:
            impossible = str(error)
            if not job.skip_impossible:
                raise RulerError(
                    f"{job.config.name} cannot be built. {error} "
                    "--skip-impossible builds the others."
                ) from None
        return CheckedJob(job=job, settings=self._settings(job), impossible=impossible)

    def build(self, job: FileJob) -> Manifest:
        """Write the job's file, then its manifest, which is returned.

        If the second engine counts a sampled row wrongly, the file is made again without it.
        """
        try:
            return self._build(job)
        except EngineMismatch as error:
            log.warning("%s", error)
            return self._build(job._replace(fast=False))

    def _build(self, job: FileJob) -> Manifest:
        path, task = self.root / job.config.path, self.task(job)
        level = _LEVEL_SHARED if task.same_beginning else _LEVEL_OTHER
        figures = []
        with parquet_file(path, rows_in_group(job.config.max_length), level) as file:
            for index in range(job.rows):
                row = self.row(job, index)
                file.add(row.columns())
                figures.append(RowFigures(row.length, row.next_unit_tokens, row.repeats))
        digest = file.digest.hexdigest()
        entry = entry_of(job, task, figures, digest, path.stat().st_size, sha256_of(path))
        manifest = with_files(self._settings(job), {job.config.path: entry})
        write_finished(self.root, manifest)
        self.forget(job)
        return manifest

    def row(self, job: FileJob, index: int) -> NewRow:
        """Make one row of a file; if it is a sampled one, count it whole too.

        Raises EngineMismatch; Impossible if the window cannot hold the task, and RulerError if a
        source is missing.
        """
        task = self.task(job)
        row = task.row(index)
        if is_sampled(index):
            _check_count(row, task, job.config.name)
        return row

    def _settings(self, job: FileJob) -> Manifest:
        """Return the manifest of the job's file, without the file."""
        config, task = job.config, self.task(job)
        counted_sources = task.counted_sources
        settings = new_settings(self.suite, job.seed, job.reserve, [config.length])
        for language in task.languages:
            settings["languages"][language.code] = language.entry
        for name in sources_of(settings, config):
            settings["sources"][name] = counted_sources.sources.used[name]
        settings["tokenizers"][config.tokenizer] = counted_sources.counter.about
        return settings

    def forget(self, job: FileJob) -> None:
        """Let go of a job's task, which holds its texts."""
        self._tasks.pop(job.config.path, None)


class RowFigures(NamedTuple):
    """What the manifest sums up of a row: its length and its next unit in tokens, and repeats."""

    length: int
    next_unit_tokens: int | None
    repeats: int


def entry_of(
    job: FileJob,
    task: Task[Any],
    figures: Sequence[RowFigures],
    rows_sha256: str,
    size: int,
    sha256: str,
) -> FileEntry:
    """Return what the manifest says of a file of `size` bytes."""
    config = job.config
    lengths = [row.length for row in figures]
    units = [row.next_unit_tokens for row in figures if row.next_unit_tokens is not None]
    repeats = [row.repeats for row in figures]
    mean = sum(lengths) / len(lengths)
    entry: FileEntry = {
        "config": config.name,
        "task": config.task,
        "tokenizer": config.tokenizer,
        "length": config.length,
        "max_length": config.max_length,
        "language": config.language,
        "instruction_language": config.instruction_language,
        "rows": job.rows,
        "most_rows": task.limit(),
        "tokens": {"min": min(lengths), "mean": mean, "max": max(lengths)},
        "fill": 0.0 if task.evidence_only else mean / (config.max_length - job.reserve),
        "unit": max(units, default=0),
        "exhausted": 0 if task.evidence_only else len(lengths) - len(units),
        "repeats": max(repeats),
        "counted_by": task.counter.counted_by,
        "bytes": size,
        "sha256": sha256,
        "rows_sha256": rows_sha256,
    }
    if any(repeats):
        entry["row_repeats"] = repeats
    if task.evidence_only:
        entry["evidence_alone"] = True
    return entry


def _check_count(row: NewRow, task: Task[Any], name: str) -> None:
    """Count a sampled row whole, with the reference library too: a row is counted in pieces."""
    text = row.input + row.answer_prefix
    tokens = confirm(task.counter, text, task.counter.count(text), f"row {row.index} of {name}")
    found = tokens + row.max_new_tokens
    if found != row.length:
        raise AssertionError(f"{row.key}: row {row.index} has {found} tokens, not {row.length}")
