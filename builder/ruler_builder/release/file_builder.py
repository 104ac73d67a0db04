"""Make one file of a release: a job in, a Parquet file and its manifest entry out.

builder = FileBuilder(suite, mirror, choice, root)
builder.check(job, on_progress)          # can the window hold the task? before any work
made = builder.build(job, on_progress)   # its manifest entry
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pyarrow import Schema

from ruler_builder.context.counted_sources import CountedSources
from ruler_builder.context.fit import Impossible
from ruler_builder.families.task import DATA_VERSION, NewRow, Task, TaskKey
from ruler_builder.release.parquet_files import (
    parquet_file,
    rows_in_group,
)
from ruler_builder.release.suite import Suite
from ruler_builder.sources.chosen_sources import SourceChoice, Sources
from ruler_builder.sources.download import Store
from ruler_builder.tokens.counters import TokenCounter
from ruler_builder.tokens.second_engine import EngineMismatch, confirm, is_sampled, with_engine
from ruler_builder.tokens.tokenizers import load_counter
from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from ruler_common.manifest_form import FileEntry
from ruler_common.names import Config
from ruler_common.rows import arrow_schema, full_rows, row_order
from ruler_common.work import OnRows

_LEVEL_SHARED, _LEVEL_OTHER = 9, 5  # zstd: rows that share their haystack repay the harder level


class FileJob(NamedTuple):
    """One file to make: its configuration, tokenizer as given, rows asked for, seed, reserve.

    With `skip_impossible` it is left out where its window cannot hold the task; if `fast`, a second
    engine may count, where there is one (tokens/second_engine.py). With `mini` the rows are the
    first of the frozen order.
    """

    config: Config
    tokenizer: str
    rows: int
    seed: int
    reserve: int
    skip_impossible: bool = False
    fast: bool = True
    mini: bool = False

    @property
    def tokens(self) -> int:
        """Those of its rows, were every window full."""
        return self.rows * self.config.max_length


class Checked(NamedTuple):
    """What the check of a job found: how many rows there can be; the sources and tokenizer read.

    `impossible` says why a file that may be left out cannot be built.
    """

    config: Config
    rows: int
    read: Mapping[str, object]
    impossible: str = ""


class MadeFile(NamedTuple):
    """A file's manifest entry; or why it was not made: the engine's count was wrong."""

    config: Config
    entry: FileEntry | None
    mismatch: str = ""


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

    def check(self, job: FileJob, report: OnRows) -> Checked:
        """Refuse a job that cannot be done; RulerError."""
        task = self.task(job)
        rows = min(job.rows, task.limit() or job.rows)
        tried = full_rows(job.config.dataset, task.limit()) if job.mini else rows
        try:
            task.check_answers(tried)
            task.check(tried)
        except Impossible as error:
            if job.skip_impossible:
                report(0)
                return Checked(job.config, 0, {}, str(error))
            raise RulerError(
                f"{job.config.name} cannot be built. {error} --skip-impossible builds the others."
            ) from None
        found = task.counted_sources
        languages = job.config.language, job.config.instruction_language
        read = {
            "sources": {name: found.sources.used[name] for name in task.params.sources(*languages)},
            "tokenizers": {job.config.tokenizer: found.counter.about},
            "languages": {code: text for code, text in found.wording.items() if code in languages},
        }
        report(0)
        return Checked(job.config, rows, read)

    def build(self, job: FileJob, report: OnRows) -> MadeFile:
        """Write the job's file, unless the second engine's counts turn out wrong."""
        try:
            return MadeFile(job.config, self._build(job, report))
        except EngineMismatch as error:
            return MadeFile(job.config, None, str(error))

    def _build(self, job: FileJob, report: OnRows) -> FileEntry:
        path, task = self.root / job.config.path, self.task(job)
        with parquet_file(path, *self._form(job)) as file:
            figures = RowFigures()
            for index in indices_of(job, task):
                row = self.row(job, index)
                file.add(row.columns())
                figures.add(row)
                report(1)
        self.forget(job)
        digest = file.digest.hexdigest()
        return entry_of(job, task, figures, digest, path.stat().st_size, sha256_of(path))

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

    def forget(self, job: FileJob) -> None:
        """Let go of a job's task, which holds its texts."""
        self._tasks.pop(job.config.path, None)

    def _form(self, job: FileJob) -> tuple[Schema, int, int]:
        """Columns, rows of a row group and level of compression of the job's file."""
        level = _LEVEL_SHARED if self.task(job).same_beginning else _LEVEL_OTHER
        return self.schema, rows_in_group(job.config.max_length), level


def indices_of(job: FileJob, task: Task[Any]) -> Iterable[int]:
    """The indices of the rows of a job's file, in their order there."""
    if not job.mini:
        return range(job.rows)
    config = job.config
    rows = full_rows(config.dataset, task.limit())
    order = row_order(DATA_VERSION, config.dataset, config.task, config.length, rows)
    return sorted(order[: job.rows])


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
