"""Make one file of a release: a job in, a Parquet file and its manifest out.

builder = FileBuilder(suite, mirror, choice, root)
builder.check(job)               # can the window hold the task? before any work
manifest = builder.build(job)    # the manifest of this file alone
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pyarrow import Schema

from ruler_builder.common.build_folder import write_finished
from ruler_builder.context.counted_sources import CountedSources
from ruler_builder.context.fit import Impossible
from ruler_builder.release.new_manifest import new_settings, with_files
from ruler_builder.release.parquet_files import (
    parquet_file,
    rows_in_group,
)
from ruler_builder.release.suite import Suite
from ruler_builder.tasks.base import NewRow, Task, TaskKey
from ruler_builder.tasks.registry import sources_of
from ruler_builder.text.chosen_sources import SourceChoice, Sources
from ruler_builder.text.download import Store
from ruler_builder.tokens.counters import TokenCounter
from ruler_builder.tokens.second_engine import EngineMismatch, confirm, is_sampled, with_engine
from ruler_builder.tokens.tokenizers import load_counter
from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from ruler_common.manifest_form import FileEntry, Manifest
from ruler_common.names import Config
from ruler_common.rows import arrow_schema

log = logging.getLogger(__name__)
_LEVEL_SHARED, _LEVEL_OTHER = 9, 5  # zstd: rows that share their haystack repay the harder level


class FileJob(NamedTuple):
    """One file to make: its configuration, tokenizer as given, rows asked for, seed, reserve.

    With `skip_impossible` it is left out if its window cannot hold the task; with `fast` a second
    engine may count, if there is one (tokens/second_engine.py).
    """

    config: Config
    tokenizer: str
    rows: int
    seed: int
    reserve: int
    skip_impossible: bool = False
    fast: bool = True

    @property
    def tokens(self) -> int:
        """The tokens of its rows if every window is full."""
        return self.rows * self.config.max_length


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

    `choice` says which sources the project's own texts stand in for, and where others are.
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
        self.schema = arrow_schema()
        self._materials: tuple[tuple[str, bool], CountedSources] | None = None
        self._tasks: dict[str, Task[Any]] = {}

    def counted_sources(self, tokenizer: str, fast: bool) -> CountedSources:
        """Sources and counts for one tokenizer, by a second engine where `fast`."""
        key = tokenizer, fast
        if self._materials is None or self._materials[0] != key:
            store = Store(self.mirror)
            counter = self.load(tokenizer, store)
            counter = with_engine(counter) if fast else counter
            self._materials = key, CountedSources(Sources(store, self.choice), counter)
            self._tasks.clear()
        return self._materials[1]

    def task(self, job: FileJob) -> Task[Any]:
        """The task of a job, made once for its check and its building."""
        config, counted_sources = job.config, self.counted_sources(job.tokenizer, job.fast)
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
            self._tasks[config.path] = self.suite.task(key, counted_sources)
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
        with parquet_file(path, *self._form(job)) as file:
            figures = RowFigures()
            for index in range(job.rows):
                row = self.row(job, index)
                file.add(row.columns())
                figures.add(row)
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
        """The manifest of the job's file, without the file."""
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

    def _form(self, job: FileJob) -> tuple[Schema, int, int]:
        """Columns, rows of a row group and level of compression of the job's file."""
        level = _LEVEL_SHARED if self.task(job).same_beginning else _LEVEL_OTHER
        return self.schema, rows_in_group(job.config.max_length), level


def entry_of(
    job: FileJob, task: Task[Any], made: RowFigures, rows_sha256: str, size: int, sha256: str
) -> FileEntry:
    """What the manifest says of a file of `size` bytes."""
    config, lengths = job.config, made.lengths
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
        "fill": 0.0 if task.alone else mean / (config.max_length - job.reserve),
        "unit": max(made.units, default=0),
        "exhausted": 0 if task.alone else len(lengths) - len(made.units),
        "repeats": max(made.repeats),
        "counted_by": task.counter.counted_by,
        "bytes": size,
        "sha256": sha256,
        "rows_sha256": rows_sha256,
    }
    if any(made.repeats):
        entry["row_repeats"] = made.repeats
    if task.alone:
        entry["evidence_alone"] = True
    return entry


def _check_count(row: NewRow, task: Task[Any], name: str) -> None:
    """Count a sampled row whole, with the reference library too: a row is counted in pieces."""
    text = row.input + row.answer_prefix
    tokens = confirm(task.counter, text, task.counter.count(text), f"row {row.index} of {name}")
    found = tokens + row.max_new_tokens
    if found != row.length:
        raise AssertionError(f"{row.key}: row {row.index} has {found} tokens, not {row.length}")


@dataclass
class RowFigures:
    """What the manifest sums up of a file's rows: lengths and units in tokens."""

    lengths: list[int] = field(default_factory=list)
    units: list[int] = field(default_factory=list)
    repeats: list[int] = field(default_factory=list)

    def add(self, row: NewRow) -> None:
        """Take a row."""
        self.lengths.append(row.length)
        if row.unit is not None:
            self.units.append(row.unit)
        self.repeats.append(row.repeats)
