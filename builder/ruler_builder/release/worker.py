"""Workers that make the files of a release, and the processes that they run in.

    with process_pool(FileBuilder(suite, root, …), 2) as run:
        for checked in run(FileBuilder.check, jobs):
            ...
        for manifest in run(FileBuilder.build, checked_jobs):
            ...

A worker writes `vt.parquet` and then the manifest of this one file, `vt.json`. `ruler verify` lets
it write the same file into a temporary folder and compares the two.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, NamedTuple

from ruler_builder.pinned import Store
from ruler_builder.release.folder import (
    new_manifest,
    with_files,
    write_finished,
    write_rows,
)
from ruler_builder.tasks.base import Task, TaskKey
from ruler_builder.tasks.registry import Suite, sources_of
from ruler_builder.text.counted import CountedSources
from ruler_builder.text.sources import SourceChoice, Sources
from ruler_builder.tokens.counting import CountsDiffer, TokenCounter, with_gigatoken
from ruler_builder.tokens.tokenizers import load_counter
from ruler_builder.window.prompt import Impossible
from ruler_common.errors import RulerError, missing_packages
from ruler_common.files import sha256_of
from ruler_common.manifest import FileEntry, Manifest
from ruler_common.names import Config
from ruler_common.rows import Row
from ruler_common.text import one_line

log = logging.getLogger(__name__)

# ---- Workers -------------------------------------------------------------------------------------

_LEVEL_SHARED, _LEVEL_OTHER = 9, 5  # of zstd: the higher one pays for rows with a shared haystack
_SAMPLED = 100  # every 100th row, from the first on, is also counted by the reference


class FileJob(NamedTuple):
    """One file to make: its configuration, its tokenizer as the user named it, and how many rows.

    With `fast`, gigatoken counts if it is installed (tokens/counting.py).
    """

    config: Config
    tokenizer: str
    rows: int
    fast: bool = True

    @property
    def tokens(self) -> int:
        """The tokens of its rows, if every window is full."""
        return self.rows * self.config.max_length


class CheckedJob(NamedTuple):
    """A job that was checked before any work."""

    job: FileJob  # with the number of rows that can be made
    manifest: Manifest  # of the file, without the file
    impossible: str  # why the file cannot be built; "" if it can


class FileBuilder:
    """Makes files in a worker process; keeps the texts of the tokenizer that it used last.

    `choice` says which sources are replaced by the project's texts, and where custom languages are.
    """

    def __init__(
        self,
        suite: Suite,
        root: Path,
        seed: int,
        reserve: int,
        mirror: str | None,
        choice: SourceChoice,
        load: Callable[[str, Store], TokenCounter] = load_counter,
    ) -> None:
        self.suite, self.root, self.seed, self.reserve = suite, root, seed, reserve
        self.mirror, self.choice, self.load = mirror, choice, load
        self._counted_sources: CountedSources
        self._counted_by: tuple[str, bool] | None = None

    def rows(self, job: FileJob) -> FileRows:
        """Return the rows of a job. Jobs of the same tokenizer share the counted sources."""
        config = job.config
        if self._counted_by != (job.tokenizer, job.fast):
            store = Store(self.mirror)
            counter = self.load(job.tokenizer, store)
            counter = with_gigatoken(counter) if job.fast else counter
            self._counted_sources = CountedSources(Sources(store, self.choice), counter)
            self._counted_by = job.tokenizer, job.fast
        key = TaskKey(
            dataset=config.dataset,
            task=config.task,
            max_length=config.max_length,
            reserve=self.reserve,
            seed=self.seed,
            language=config.language,
            instruction_language=config.instruction_language,
        )
        return FileRows(job, self.suite.task(key, self._counted_sources))

    @property
    def counts_fast(self) -> bool:
        """Whether the last job was counted by gigatoken."""
        return self._counted_sources.counter.reference is not None

    def check(self, job: FileJob) -> CheckedJob:
        """Check whether a job can be done, and collect the settings of its file."""
        rows = self.rows(job)
        config, task = job.config, rows.task
        impossible = ""
        try:
            task.check_answers(rows.count)
            task.check(rows.count)
        except Impossible as error:
            impossible = str(error)
        manifest = new_manifest(self.suite, self.seed, self.reserve, config.max_length)
        for language in task.languages:
            manifest["languages"][language.code] = language.entry
        for name in sources_of(manifest, config):
            manifest["sources"][name] = self._counted_sources.sources.entry(name)
        manifest["tokenizers"][config.tokenizer] = task.counter.about
        return CheckedJob(job._replace(rows=rows.count), manifest, impossible)

    def build(self, checked: CheckedJob) -> Manifest:
        """Write the job's file, then its manifest, which is returned.

        If gigatoken counts a sampled row wrongly, the file is rebuilt without it.
        """
        job = checked.job
        try:
            entry = self._write_file(job)
        except CountsDiffer as error:
            log.warning("%s", error)
            entry = self._write_file(job._replace(fast=False))
        manifest = with_files(checked.manifest, {job.config.path: entry})
        write_finished(self.root, manifest)
        return manifest

    def _write_file(self, job: FileJob) -> FileEntry:
        """Write the rows of a job; return the manifest's entry."""
        path, rows = self.root / job.config.path, self.rows(job)
        level = _LEVEL_SHARED if rows.task.same_beginning else _LEVEL_OTHER
        digest = write_rows(path, rows, job.config.max_length, level)
        entry = rows.entry()
        entry["rows_sha256"] = digest
        entry["bytes"], entry["sha256"] = path.stat().st_size, sha256_of(path)
        return entry


class FileRows:
    """The rows of one file, made one by one, and the manifest's entry of the file."""

    def __init__(self, job: FileJob, task: Task[Any]) -> None:
        self.config, self.task = job.config, task
        self.count = min(job.rows, task.max_rows or job.rows)
        """The number of rows: as many as the job asks for, or fewer if the corpus has fewer."""
        self._lengths: list[int] = []
        self._repeats: list[int] = []
        self._next_unit_tokens: list[int] = []  # of the rows whose haystack has more units

    def __iter__(self) -> Iterator[Row]:
        """Make the rows; every 100th is also counted by the reference.

        Raises CountsDiffer if the reference counts differently, Impossible if the window cannot
        hold the task, and RulerError if a source is missing.
        """
        for index in range(self.count):
            row = self.task.row(index)
            columns = row.columns
            if index % _SAMPLED == 0:
                name = f"row {index} of {self.config.name}"
                text = columns["input"] + columns["answer_prefix"]
                length = self.task.counter.confirmed_count(text, name) + columns["max_new_tokens"]
                if length != columns["length"]:
                    raise AssertionError(f"{name} has {length} tokens, not {columns['length']}")
            self._lengths.append(columns["length"])
            self._repeats.append(row.repeats)
            if row.next_unit_tokens is not None:
                self._next_unit_tokens.append(row.next_unit_tokens)
            yield columns

    def entry(self) -> FileEntry:
        """Return the file's entry in the manifest, without its size and digests.

        It describes the rows that were made.
        """
        config, task, lengths = self.config, self.task, self._lengths
        mean = sum(lengths) / len(lengths)
        entry: FileEntry = {
            "config": config.name,
            "task": config.task,
            "tokenizer": config.tokenizer,
            "length": config.length,
            "max_length": config.max_length,
            "language": config.language,
            "instruction_language": config.instruction_language,
            "rows": len(lengths),
            "max_rows": task.max_rows,
            "tokens": {"min": min(lengths), "mean": mean, "max": max(lengths)},
            "fill": 0.0 if task.is_control else mean / (config.max_length - task.key.reserve),
            "unit": max(self._next_unit_tokens, default=0),
            "exhausted": 0 if task.is_control else len(lengths) - len(self._next_unit_tokens),
            "repeats": max(self._repeats),
            "counted_by": task.counter.counted_by,
            "bytes": 0,
            "sha256": "",
            "rows_sha256": "",
        }
        if any(self._repeats):
            entry["row_repeats"] = self._repeats
        if task.is_control:
            entry["control"] = True
        return entry


# ---- The processes of the workers ----------------------------------------------------------------

Step = Callable[[Any, Any], Any]
"""A method of the worker's class: it takes the worker and an item."""
Run = Callable[[Step, Iterable[Any]], Iterator[Any]]
"""Runs a step on each item, and yields the results in any order."""
_DIED = (
    "A worker process died, probably because memory ran out; finished files are kept. "
    "Run the command again, with fewer --workers."
)
_NOT_STARTED = (
    "The worker processes did not start. In a Python script, call `build` or `verify` under "
    '`if __name__ == "__main__":`, or with workers=1.'
)
_MIN_TOKENS = 1 << 24  # of rows, for a process: fewer take less time than its start


def processes_for(tokens: int) -> int:
    """Return how many processes to use for rows of this many tokens: at most one per core."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cores, tokens // _MIN_TOKENS))


@contextmanager
def process_pool(worker: Any, workers: int) -> Iterator[Run]:
    """Start processes on this machine, each with a copy of the worker; yield a function.

        with process_pool(FileBuilder(…), 2) as run:
            for manifest in run(FileBuilder.build, jobs):
                …

    The function calls a method of the worker with each item, and yields the results. One worker
    works in this process. An error and Ctrl-C end the work at once; if a process dies, RulerError
    is raised.
    """
    if workers == 1:
        yield lambda step, items: (step(worker, item) for item in items)
        return
    context = multiprocessing.get_context("spawn")
    until_closed, end = context.Pipe(duplex=False)
    started = context.Event()
    pool = ProcessPoolExecutor(workers, context, _start_process, (worker, until_closed, started))

    def run(step: Step, items: Iterable[Any]) -> Iterator[Any]:
        for future in as_completed([pool.submit(_run_step, step, item) for item in items]):
            yield future.result()

    try:
        yield run
    except BrokenProcessPool:
        raise RulerError(_DIED if started.is_set() else _NOT_STARTED) from None
    finally:
        end.close()  # ends the processes, also those that are at work
        pool.shutdown(cancel_futures=True)


_worker: Any = None  # of a process of the pool


def _start_process(worker: Any, until_closed: Connection, started: Event) -> None:
    """In a new process: keep the worker, leave Ctrl-C to the parent, and exit when it does."""
    global _worker
    _worker = worker
    started.set()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_after, args=(until_closed,), daemon=True).start()


def _exit_after(until_closed: Connection) -> None:
    """End this process when the parent closes the pipe, or is killed."""
    wait([until_closed])
    os._exit(1)


def _run_step(step: Step, item: Any) -> Any:
    return step(_worker, item)


@contextmanager
def ray_pool(worker: Any, workers: int, address: str | None) -> Iterator[Run]:
    """Start processes on the machines of a Ray cluster; otherwise like `process_pool`.

    There are at most as many as the cluster has CPUs. Every machine must see the same paths (shared
    storage) and have this project installed.
    """
    ray = connect(address)
    # A process that dies with its machine is started again, and repeats the item it worked on.
    process_type = ray.remote(num_cpus=1, max_restarts=2, max_task_retries=2)(_RayProcess)
    count = min(workers, int(ray.cluster_resources()["CPU"]))
    processes = [process_type.remote(worker) for _ in range(count)]

    def run(step: Step, items: Iterable[Any]) -> Iterator[Any]:
        pool = ray.util.ActorPool(processes)
        yield from pool.map_unordered(lambda process, item: process.run.remote(step, item), items)

    try:
        yield run
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError:
        raise RulerError(_DIED) from None
    finally:
        for process in processes:
            ray.kill(process)


class _RayProcess:
    def __init__(self, worker: Any) -> None:
        self.worker = worker

    def run(self, step: Step, item: Any) -> Any:
        return step(self.worker, item)


def connect(address: str | None) -> Any:
    """Return the ray package, connected to the cluster at HOST:PORT, or to this machine's.

    Raises RulerError if the package is missing, or if no cluster answers.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray

        if address:  # Ray itself would try for minutes
            host, _, port = address.rpartition(":")
            socket.create_connection((host, port), timeout=10).close()
        ray.init(address, ignore_reinit_error=True, log_to_driver=False, logging_level="ERROR")
    except ModuleNotFoundError as error:
        raise missing_packages("ray", "--pool ray") from error
    except (OSError, ValueError, RuntimeError) as error:
        raise RulerError(
            f"No Ray cluster at {address or 'this machine'}: {one_line(error)}. See --address."
        ) from error
    return ray
