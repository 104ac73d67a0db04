"""Build a release: files -> card -> manifest. The same options continue a stopped build.

    build(BuildOptions("ruler", lengths=("4k",), tokenizers="qwen2.5"))

A file is the unit of work: a worker (FileBuilder) writes `vt.parquet` and then its manifest,
`vt.json`. A file that has both is not made again. The release's manifest is joined from these and
written last, so that every file in it is complete. Neither the number of workers, nor their order,
nor interruptions change a byte.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ruler_builder.options import BuildOptions
from ruler_builder.release.card import collect_facts
from ruler_builder.release.card_files import card_files
from ruler_builder.release.executor import processes_for, worker_pool
from ruler_builder.release.folder import (
    BUILD_FOLDER,
    begin_build,
    is_unfinished,
    locked_folder,
    write_finished,
)
from ruler_builder.release.manifest import join_manifests, new_settings, with_files
from ruler_builder.release.parquet import rows_in_group, write_rows
from ruler_builder.release.plan import BuildPlan, FileJob, plan_build
from ruler_builder.tasks.base import NewRow, Task, TaskKey
from ruler_builder.tasks.registry import Suite, sources_of
from ruler_builder.text.sources import SourceChoice, Sources, Store, parse_choice
from ruler_builder.tokens.counting import EngineMismatch, TokenCounter, with_engine
from ruler_builder.tokens.tokenizers import load_counter
from ruler_builder.window.haystacks import CountedSources
from ruler_builder.window.prompt import Impossible
from ruler_common.errors import RulerError
from ruler_common.files import sha256_of, write_whole
from ruler_common.manifest import MANIFEST, FileEntry, Manifest, manifest_text
from ruler_common.options import several
from ruler_common.rows import Row
from ruler_common.text import files_bar

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Built:
    """The result of a build."""

    manifest: Manifest = field(repr=False)  # long, and a notebook shows what a call returns
    new: list[str]  # paths of the files that this build added
    # Configurations that cannot be built (`--skip-impossible`), and why
    left_out: dict[str, str] = field(default_factory=dict)


def build(options: BuildOptions, confirm: Callable[[BuildPlan], None] | None = None) -> Built:
    """Make the files that the options ask for and the release does not have yet.

    `confirm` is called with the plan before any work, and can stop the build by raising an error.
    Raises RulerError before any work, also if another build or fetch is running in the folder.
    """
    root = Path(options.root)
    with locked_folder(root):
        plan = plan_build(options)
        if confirm:
            confirm(plan)
        if plan.release and not plan.missing and not is_unfinished(root):
            _write_card_files(root, plan.release)  # a newer version may word the card differently
            return Built(plan.release, [])
        free = shutil.disk_usage(root if root.is_dir() else root.resolve().parent).free
        if free < plan.bytes / 2:
            raise RulerError(
                f"The files take about {plan.bytes / 1e6:,.0f} MB, and the disk of '{root}' has "
                f"{free / 1e6:,.0f} MB free: make room, or give a folder on another disk."
            )
        made, left_out = _make_files(options, plan, root)
        manifest = join_manifests([plan.shared, *made], root)
        _write_card_files(root, manifest)
        write_whole(root / MANIFEST, manifest_text(manifest))
        shutil.rmtree(root / BUILD_FOLDER, ignore_errors=True)
    new = [*plan.finished]
    for file in made:
        new += file["files"]
    return Built(manifest, sorted(new), left_out)


def _make_files(
    options: BuildOptions, plan: BuildPlan, root: Path
) -> tuple[list[Manifest], dict[str, str]]:
    """Make the missing files. Return their manifests, and why some are left out, by configuration.

    All files are checked before the first one is made.
    """
    mirror = str(Path(options.mirror).resolve()) if options.mirror else None
    choice = parse_choice(several(options.sources), plan.custom_sources)
    arguments = (plan.suite, root.resolve(), options.seed, options.reserve, mirror, choice)
    workers = options.workers or processes_for(plan.tokens)
    with (
        files_bar("Building", options.progress) as bar,
        worker_pool(workers, FileBuilder, arguments, options.engine, options.address) as run,
    ):
        checked = {file.job.config.path: file for file in run(FileBuilder.check, plan.missing)}
        possible, settings, left_out, tokens = [], [plan.shared], {}, 0
        for job in plan.missing:
            file = checked[job.config.path]
            if not file.impossible:
                possible.append(file)
                settings.append(file.settings)
                tokens += file.job.tokens
            elif options.skip_impossible:
                left_out[job.config.name] = file.impossible
            else:
                raise RulerError(
                    f"{job.config.name} cannot be built. {file.impossible} "
                    "--skip-impossible builds the others."
                )
        shared = join_manifests(settings, root)  # raises if sources or tokenizers differ
        if not possible and not shared["files"]:
            raise RulerError(f"Nothing can be built. {next(iter(left_out.values()))}")
        bar.planned(len(possible), tokens, kept=plan.files - len(possible))
        begin_build(root)
        made = []
        for manifest in run(FileBuilder.build, possible):
            made.append(manifest)
            for path, entry in manifest["files"].items():
                bar.finished(entry["rows"] * entry["max_length"])
                log.debug("%s: %d rows", path, entry["rows"])
    return made, left_out


def _write_card_files(root: Path, manifest: Manifest) -> None:
    """Write the card, eval.yaml and croissant.json if they are missing or out of date."""
    for name, text in card_files(collect_facts(manifest, root)).items():
        path = root / name
        if not path.is_file() or path.read_bytes() != text.encode("utf-8"):
            write_whole(path, text)


_LEVEL_SHARED, _LEVEL_OTHER = 9, 5  # zstd: rows that share their haystack repay the harder level
_SAMPLED = 100  # every 100th row, from the first on, is also counted whole


class CheckedJob(NamedTuple):
    """A job that was checked before any work.

    `job` has the number of rows that can be made, `settings` is the manifest of its file without
    the file, and `impossible` says why the file cannot be built.
    """

    job: FileJob
    settings: Manifest
    impossible: str


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

    def task(self, job: FileJob) -> Task[Any]:
        """Return the task of a job, with the counted sources that all jobs of a tokenizer share."""
        config = job.config
        if self._counted_by != (job.tokenizer, job.fast):
            store = Store(self.mirror)
            counter = self.load(job.tokenizer, store)
            counter = with_engine(counter) if job.fast else counter
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
        return self.suite.task(key, self._counted_sources)

    def check(self, job: FileJob) -> CheckedJob:
        """Check whether a job can be done, and collect the settings of its file."""
        config, task = job.config, self.task(job)
        job = job._replace(rows=min(job.rows, task.limit() or job.rows))
        impossible = ""
        try:
            task.check_answers(job.rows)
            task.check(job.rows)
        except Impossible as error:
            impossible = str(error)
        settings = new_settings(self.suite, self.seed, self.reserve, config.max_length)
        for language in task.languages:
            settings["languages"][language.code] = language.entry
        for name in sources_of(settings, config):
            settings["sources"][name] = self._counted_sources.sources.used[name]
        settings["tokenizers"][config.tokenizer] = task.counter.about
        return CheckedJob(job, settings, impossible)

    def build(self, checked: CheckedJob) -> Manifest:
        """Write the job's file, then its manifest, which is returned.

        If the second engine counts a sampled row wrongly, the file is made again without it.
        """
        try:
            entry = self._write_file(checked.job)
        except EngineMismatch as error:
            log.warning("%s", error)
            entry = self._write_file(checked.job._replace(fast=False))
        manifest = with_files(checked.settings, {checked.job.config.path: entry})
        write_finished(self.root, manifest)
        return manifest

    def _write_file(self, job: FileJob) -> FileEntry:
        """Write the rows of a job; return the manifest's entry."""
        path, task = self.root / job.config.path, self.task(job)
        level = _LEVEL_SHARED if task.same_beginning else _LEVEL_OTHER
        figures: list[RowFigures] = []

        def rows() -> Iterator[Row]:
            for index in range(job.rows):
                row = make_row(task, index, job.config.name)
                figures.append(RowFigures(row.columns["length"], row.next_unit_tokens, row.repeats))
                yield row.columns

        digest = write_rows(path, rows(), rows_in_group(job.config.max_length), level)
        entry = entry_of(job, task, figures)
        entry["rows_sha256"] = digest
        entry["bytes"], entry["sha256"] = path.stat().st_size, sha256_of(path)
        return entry


def make_row(task: Task[Any], index: int, config: str) -> NewRow:
    """Return a row of a configuration; every 100th is also counted whole, by the reference.

    Raises EngineMismatch; Impossible if the window cannot hold the task, and RulerError if a
    source is missing.
    """
    row = task.row(index)
    if index % _SAMPLED == 0:
        columns, name = row.columns, f"row {index} of {config}"
        text = columns["input"] + columns["answer_prefix"]
        length = task.counter.confirmed_count(text, name) + columns["max_new_tokens"]
        if length != columns["length"]:
            raise AssertionError(f"{name} has {length} tokens, not {columns['length']}")
    return row


class RowFigures(NamedTuple):
    """The figures of a row that the manifest sums up: two numbers of tokens, and the repeats."""

    length: int
    next_unit_tokens: int | None
    repeats: int


def entry_of(job: FileJob, task: Task[Any], figures: Sequence[RowFigures]) -> FileEntry:
    """Return a file's entry in the manifest, without its size and digests."""
    config = job.config
    lengths, units, repeats = [], [], []
    for row in figures:
        lengths.append(row.length)
        repeats.append(row.repeats)
        if row.next_unit_tokens is not None:
            units.append(row.next_unit_tokens)
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
        "fill": 0.0 if task.evidence_only else mean / (config.max_length - task.key.reserve),
        "unit": max(units, default=0),
        "exhausted": 0 if task.evidence_only else len(lengths) - len(units),
        "repeats": max(repeats),
        "counted_by": task.counter.counted_by,
        "bytes": 0,
        "sha256": "",
        "rows_sha256": "",
    }
    if any(repeats):
        entry["row_repeats"] = repeats
    if task.evidence_only:
        entry["evidence_alone"] = True
    return entry
