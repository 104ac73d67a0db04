"""Build a release: plan -> files -> card -> manifest. The same options continue a stopped build.

    options = BuildOptions("ruler", lengths=("4k",), tokenizers="qwen2.5")
    plan_build(options).missing       # one FileJob for each file that is not made yet
    build(options)

A file is the unit of work: a worker (worker.py) writes `vt.parquet` and then its manifest,
`vt.json`. A file that has both is not built again. The release's manifest is joined from these and
written last, so that every file in it is complete. Neither the number of workers, nor their order,
nor interruptions change a byte.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruler_builder.options import BuildOptions
from ruler_builder.parse_options import language_pairs, parse_sources_option
from ruler_builder.pinned import Store
from ruler_builder.release.card import write_card_files
from ruler_builder.release.folder import (
    BUILD_FOLDER,
    begin_build,
    is_unfinished,
    join_manifests,
    locked_folder,
    new_manifest,
    read_finished,
    refuse_other_files,
    with_files,
)
from ruler_builder.release.worker import (
    CheckedJob,
    FileBuilder,
    FileJob,
    process_pool,
    processes_for,
    ray_pool,
)
from ruler_builder.tasks.base import Task
from ruler_builder.tasks.registry import FAMILIES, Suite, read_suite, sources_of
from ruler_builder.text.language_folders import language_folders
from ruler_builder.text.sources import SourceChoice, SourceFile, Sources
from ruler_builder.tokens.tokenizers import is_same_tokenizer, named, split_spec
from ruler_common.errors import RulerError
from ruler_common.files import has_digest, write_whole
from ruler_common.manifest import MANIFEST, Manifest, manifest_text, read_manifest
from ruler_common.names import CONTROL_LENGTH, Config, length_name, parse_length
from ruler_common.options import paths, several
from ruler_common.rows import FULL_ROWS
from ruler_common.text import tokens_bar

log = logging.getLogger(__name__)

# ---- The plan ------------------------------------------------------------------------------------

# Measured on the builds in builder/RELEASE.md, with the extra `fast`. Texts of other languages or
# sources may differ by half.
_BYTES = {"ruler": 0.34, "oneruler": 0.18}  # per token; ONERULER's rows share their books
_SECONDS_OF_ROW = 0.002
_SECONDS_OF_TOKEN = 6e-8
_BYTES_OF_TOKEN = 4  # of a source, about
_TOKENS_WORTH_GIGATOKEN = 1 << 17


@dataclass(frozen=True, kw_only=True)
class BuildPlan:
    """The files that the options ask for, and which of them have to be made."""

    suite: Suite
    # Which texts are the project's, and where those of custom languages are
    choice: SourceChoice
    # The manifest of the release that is in the folder; None for a new one
    release: Manifest | None
    # Paths of the files that a stopped build finished
    finished: list[str]
    # The manifest of all, with the files of the release and the finished ones
    joined: Manifest
    # Number of files asked for
    files: int
    missing: list[FileJob]
    # Of these, the paths that the release lists: the file is lost, or differs from its digest
    damaged: list[str]
    # Other paths that the release lists: the file is lost, and was not asked for
    lost: list[str]

    @property
    def rows(self) -> int:
        """The rows of the missing files."""
        return sum(job.rows for job in self.missing)

    @property
    def tokens(self) -> int:
        """The tokens of the missing files, if every window is full."""
        return sum(job.tokens for job in self.missing)

    @property
    def bytes(self) -> float:
        """The approximate size of the missing files on disk."""
        return self.tokens * _BYTES[self.suite.dataset]

    @property
    def cpu_seconds(self) -> float:
        """The approximate CPU time of all processes together, with the extra `fast`."""
        return self.rows * _SECONDS_OF_ROW + self.tokens * _SECONDS_OF_TOKEN


def plan_build(options: BuildOptions) -> BuildPlan:
    """Return the plan of a build, without the files that the release has already.

    A file that was lost or has changed since it was built is missing.

    Raises RulerError for files that cannot be built, or cannot be in this release.
    """
    root, suite = Path(options.root), read_suite(options.suite)
    custom = language_folders(paths(options.language_folders))
    choice = parse_sources_option(several(options.sources), custom)
    jobs = _file_jobs(options, suite, custom)
    release, finished = _existing_release(root), read_finished(root)
    manifests = [*finished.values(), new_manifest(suite, options.seed, options.reserve)]
    if release:
        manifests.insert(0, release)
    joined = join_manifests(manifests, root, [job.config for job in jobs])
    sources = Sources(Store(options.mirror), choice)
    existing, missing, damaged = [], [], []
    lengths = {entry["length"] for entry in joined["files"].values()}
    for job in jobs:
        lengths.add(job.config.length)
        path = job.config.path
        entry = joined["files"].get(path)
        if entry and entry["rows"] != min(job.rows, entry["max_rows"] or job.rows):
            raise RulerError(
                f"'{root}' holds {entry['rows']} rows of '{job.config.name}', not {job.rows}: "
                f"ask for --rows {entry['rows']} or give a new folder."
            )
        if entry and has_digest(root / path, entry["sha256"]):
            existing.append(job)
            continue
        if entry:
            damaged.append(path)
        missing.append(job)
    if not _are_worth_gigatoken(jobs, joined, sources):
        missing = [job._replace(fast=False) for job in missing]
    requested = {job.config.path for job in jobs}
    listed = release["files"].keys() if release else set()
    lost = sorted(path for path in listed - requested if not (root / path).exists())
    _refuse_two_kinds(root, lengths)
    _refuse_other_sources(root, joined, existing, sources)
    return BuildPlan(
        suite=suite,
        choice=choice,
        release=release,
        finished=list(finished),
        joined=joined,
        files=len(jobs),
        missing=missing,
        damaged=damaged,
        lost=lost,
    )


def _file_jobs(
    options: BuildOptions, suite: Suite, custom_sources: Mapping[str, SourceFile]
) -> list[FileJob]:
    """Return a job for each file, by tokenizer and then by language, the longest first."""
    dataset = suite.dataset
    rows = FULL_ROWS[dataset] if options.rows is None else options.rows
    lengths: set[int] = set()
    for name in several(options.lengths):
        for length in suite.lengths if name == "all" else (name,):
            lengths.add(parse_length(length, dataset))
    tasks: dict[str, type[Task[Any]]] = {}
    for name in several(options.tasks):
        for task in suite.params if name == "default" else suite.names.expand(name):
            tasks[task] = FAMILIES[suite.family_of[task]].task
    costliest_first = sorted(tasks, key=lambda task: (-tasks[task].cost, task))
    pairs = language_pairs(
        dataset,
        several(options.languages),
        instruction=options.instruction_language,
        skip_restricted=options.skip_restricted,
        custom_sources=custom_sources,
    )
    jobs, has_rows = [], False
    for name, tokenizer in _tokenizers(options).items():
        for pair in pairs:
            for max_length in sorted(lengths, reverse=True):
                for task in costliest_first:
                    if not suite.has(task, max_length):
                        continue
                    has_rows = True
                    is_crossed = pair.language != pair.instruction_language
                    if is_crossed and not tasks[task].crosses_languages:
                        continue
                    length = length_name(max_length, dataset)
                    config = Config(dataset, task, length, tokenizer=name, **pair._asdict())
                    jobs.append(FileJob(config, tokenizer, rows))
    if not has_rows:
        raise RulerError(f"{', '.join(tasks)} has rows only at 0k: ask for --lengths 0k.")
    if not jobs:
        raise RulerError(
            f"{', '.join(tasks)} cannot have text and instruction in two languages: take niah."
        )
    return jobs


def _tokenizers(options: BuildOptions) -> dict[str, str]:
    """Return the spec of each tokenizer, by its name.

    Folders are absolute paths, because workers of a cluster have another current folder.
    """
    tokenizers: dict[str, str] = {}
    for spec in several(options.tokenizers):
        name, location = split_spec(spec)
        if name not in named() and not location.startswith("hf:"):
            spec = f"{name}={Path(location).resolve()}"
        if tokenizers.setdefault(name, spec) != spec:
            raise RulerError(
                f"--tokenizer {name} is given as '{tokenizers[name]}' and as '{spec}': rename one."
            )
    return tokenizers


def _are_worth_gigatoken(jobs: list[FileJob], manifest: Manifest, sources: Sources) -> bool:
    """Return whether gigatoken saves more time than it takes to load, 0.2 s or more.

    Args:
        jobs: All the files asked for, so that a resumed build makes the same choice.
        manifest: Describes their tasks.
        sources: Their texts. RULER's are counted in full, ONERULER's only as far as windows reach.
    """
    tokens = sum(job.tokens for job in jobs)
    if tokens < _TOKENS_WORTH_GIGATOKEN and manifest["dataset"] == "ruler":
        names = {name for job in jobs for name in sources_of(manifest, job.config)}
        tokens += sum(sources.file(name).file.bytes for name in names) // _BYTES_OF_TOKEN
    return tokens >= _TOKENS_WORTH_GIGATOKEN


def _existing_release(root: Path) -> Manifest | None:
    """Return the manifest of the release in a folder; None if the folder is new or unfinished.

    Raises RulerError for a folder with other files.
    """
    if (root / MANIFEST).exists():
        return read_manifest(root)
    refuse_other_files(root, BUILD_FOLDER)
    return None


def _refuse_other_sources(
    root: Path, manifest: Manifest, existing: list[FileJob], sources: Sources
) -> None:
    """Raise RulerError if files were made of other sources or tokenizers than those asked for.

    Args:
        root: The folder of the release.
        manifest: The manifest of its files.
        existing: The files that were asked for and exist.
        sources: The sources that were asked for.
    """
    names: dict[str, None] = {}
    specs: dict[str, str] = {}
    for job in existing:
        names |= dict.fromkeys(sources_of(manifest, job.config))
        specs[job.config.tokenizer] = job.tokenizer
    for name in names:
        stored, requested = manifest["sources"].get(name), sources.file(name)
        if stored is None or stored["sha256"] == requested.file.sha256:
            continue
        if stored["variant"] == requested.variant:
            raise RulerError(
                f"'{root}' was made with another '{requested.path}': restore that file, or build "
                "into a new folder."
            )
        raise RulerError(
            f"'{root}' was made with another '{name}' among its sources ({stored['variant']}, not "
            f"{requested.variant}). Give the same --sources, or a new folder."
        )
    for name, spec in specs.items():
        if not is_same_tokenizer(spec, manifest["tokenizers"][name], sources.store):
            raise RulerError(
                f"'{root}' was made with another tokenizer '{name}'. Give the same --tokenizer, or "
                "a new folder."
            )


def _refuse_two_kinds(root: Path, lengths: set[str]) -> None:
    """Raise RulerError if a release would have lengths in binary thousands and in tokens.

    A mean over both would mean nothing, and `4000` next to `4k` would be read as the same length.
    """
    kinds: dict[bool, str] = {}
    for length in sorted(lengths - {CONTROL_LENGTH}):
        kinds[length.isdigit()] = length
    if len(kinds) > 1:
        raise RulerError(
            f"'{root}' cannot hold both {kinds[False]} (binary thousands) and {kinds[True]} "
            "(tokens): build each kind into a separate folder."
        )


# ---- The build -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Built:
    """The result of a build."""

    manifest: Manifest = field(repr=False)  # long, and a notebook shows what a call returns
    new: list[str]  # paths of the files that this build added or built again
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
            write_card_files(root, plan.release)  # a newer version may word the card differently
            return Built(plan.release, [])
        free = shutil.disk_usage(root if root.is_dir() else root.resolve().parent).free
        if free < plan.bytes / 2:
            raise RulerError(
                f"The files take about {plan.bytes / 1e6:,.0f} MB, and the disk of '{root}' has "
                f"{free / 1e6:,.0f} MB free: make room, or give a folder on another disk."
            )
        manifest, left_out = _make_files(options, plan, root)
        write_card_files(root, manifest)
        write_whole(root / MANIFEST, manifest_text(manifest))
        shutil.rmtree(root / BUILD_FOLDER, ignore_errors=True)
    existing = plan.release["files"].keys() if plan.release else set()
    new = manifest["files"].keys() - (existing - {*plan.damaged})
    return Built(manifest, sorted(new), left_out)


def _make_files(
    options: BuildOptions, plan: BuildPlan, root: Path
) -> tuple[Manifest, dict[str, str]]:
    """Make the missing files. Return the release's manifest, and why some files are left out.

    All files are checked before the first one is made.
    """
    mirror = str(Path(options.mirror).resolve()) if options.mirror else None
    builder = FileBuilder(
        plan.suite, root.resolve(), options.seed, options.reserve, mirror, plan.choice
    )
    workers = options.workers or processes_for(plan.tokens)
    if options.pool == "ray":
        pool = ray_pool(builder, workers, options.address)
    else:
        pool = process_pool(builder, workers)
    with tokens_bar("Checking", None, quiet=not options.progress) as bar, pool as run:
        checked: dict[str, CheckedJob] = {}
        for file in run(FileBuilder.check, plan.missing):
            checked[file.job.config.path] = file
        possible, manifests, left_out, tokens = [], [plan.joined], {}, 0
        for job in plan.missing:
            file = checked[job.config.path]
            if not file.impossible:
                possible.append(file)
                manifests.append(file.manifest)
                tokens += file.job.tokens
            elif options.skip_impossible:
                left_out[job.config.name] = file.impossible
            else:
                raise RulerError(
                    f"{job.config.name} cannot be built. {file.impossible} "
                    "--skip-impossible builds the others."
                )
        joined = join_manifests(manifests, root)  # raises if sources or tokenizers differ
        if not possible and not joined["files"]:
            raise RulerError(f"Nothing can be built. {next(iter(left_out.values()))}")
        kept = plan.files - len(possible)
        label = f"Building ({kept} already made)" if kept else "Building"
        bar.reset(tokens)  # the speed counts from here
        begin_build(root)
        files = {**joined["files"]}
        for done, finished in enumerate(run(FileBuilder.build, possible), 1):
            for path, entry in finished["files"].items():
                files[path] = entry
                bar.set_description_str(f"{label}: {done}/{len(possible)} files")
                bar.update(entry["rows"] * entry["max_length"])
                log.debug("%s: %d rows", path, entry["rows"])
    return with_files(joined, files), left_out
