"""What to build: the order of a user, the files it asks for, and their size.

order = BuildOrder(Path("ruler"), tokenizers=("tekken",), lengths=("4k",))
file_jobs(order, suite)        # one FileJob a Parquet file, the longest first
size_of(order).rows            # what is still missing in the release
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import NamedTuple

from ruler_builder.options import ENGINES
from ruler_builder.release.manifest import (
    is_unfinished,
)
from ruler_builder.suites.suite import Suite, read_suite
from ruler_builder.tasks.registry import FAMILIES
from ruler_builder.text.language_choice import LanguageChoice, pairs
from ruler_builder.text.sources import SourceFile
from ruler_builder.tokens.tokenizers import split_spec
from ruler_common.errors import RulerError
from ruler_common.manifest import MANIFEST, Manifest, read_manifest
from ruler_common.names import (
    EVIDENCE_ALONE,
    Config,
    check_name,
    in_tokens,
    length_name,
    parse_length,
)
from ruler_common.rows import FULL_ROWS


@dataclass(frozen=True)
class BuildOrder:
    """What to build, as the command line says it.

    Lengths by name; `suite` is the name of one of the suites, or the path of a TOML file; `tasks`
    are names of tasks and groups, or `default` for every task of the suite; `samples` in rows a
    file (None: 500, in oneruler 50); `languages` as ruler_builder/text/language_choice.py reads
    them; `skip_impossible`: leave out what cannot be built for its window, and build the rest;
    `address` of a running Ray cluster (None: the one this machine belongs to, else one made for
    the build); `custom_sources`: of languages that are none of the 26 (language_folder.py).
    """

    root: Path
    _: KW_ONLY
    suite: str | Path = "ruler"
    tokenizers: tuple[str, ...] = ("tekken",)
    lengths: tuple[str, ...] = ("all",)
    tasks: tuple[str, ...] = ("default",)
    languages: LanguageChoice | None = None
    samples: int | None = None
    seed: int = 0
    reserve: int = 128
    workers: int | None = 1  # None: one a core, if the rows repay it
    mirror: Path | None = None
    sources: tuple[str, ...] = ()
    skip_impossible: bool = False
    engine: str = "processes"  # one of ENGINES
    address: str | None = None
    custom_sources: Mapping[str, SourceFile] = field(default_factory=dict)


class FileJob(NamedTuple):
    """One file to make: its configuration, tokenizer as given, rows asked for, seed, reserve.

    With `skip_impossible` it is left out if its window cannot hold the task; with `fast` a second
    engine may count, if there is one (tokens/counting.py).
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


def file_jobs(order: BuildOrder, suite: Suite) -> list[FileJob]:
    """One job a file: those of a tokenizer together, and of a language; the longest first."""
    samples = FULL_ROWS[suite.dataset] if order.samples is None else order.samples
    if samples < 1 or order.reserve < 0 or (order.workers is not None and order.workers < 1):
        raise RulerError("--samples and --workers must be 1 or more, --reserve 0 or more.")
    check_name("engine", order.engine, ENGINES, "ruler build --help")
    if order.address and order.engine != "ray":
        raise RulerError("--address is that of a Ray cluster: add --engine ray.")
    lengths: set[int] = set()
    for name in order.lengths:
        for length in suite.lengths if name == "all" else (name,):
            lengths.add(parse_length(length, suite.dataset))
    tasks: list[str] = []
    for name in order.tasks:
        tasks += suite.params if name == "default" else suite.names.expand(name)
    makers = {task: FAMILIES[suite.family_of[task]].task for task in tasks}
    costliest_first = sorted(makers, key=lambda task: (-makers[task].cost, task))
    jobs, has_rows = [], False
    for name, spec in dict(split_spec(spec) for spec in order.tokenizers).items():
        for pair in pairs(suite.dataset, order.languages):
            for max_length in sorted(lengths, reverse=True):
                for task in costliest_first:
                    if not suite.has(task, max_length):
                        continue
                    has_rows = True
                    if not (pair.is_one or makers[task].crosses_languages):
                        continue
                    length = length_name(max_length, suite.dataset)
                    config = Config(suite.dataset, task, length, tokenizer=name, **pair._asdict())
                    job = FileJob(
                        config,
                        tokenizer=spec if spec == name else f"{name}={spec}",
                        rows=samples,
                        seed=order.seed,
                        reserve=order.reserve,
                        skip_impossible=order.skip_impossible,
                    )
                    jobs.append(job)
    if not has_rows:
        raise RulerError(f"{', '.join(makers)} has rows only at 0k: ask for --lengths 0k.")
    if not jobs:
        raise RulerError(
            f"{', '.join(makers)} cannot have text and instruction in two languages: take niah."
        )
    return jobs


def refuse_two_kinds(lengths: Iterable[str], root: Path) -> None:
    """Raise RulerError if a release would have lengths in binary thousands and in tokens.

    A mean over both would mean neither, and `4000` beside `4k` would be read as the same.
    """
    kinds = {in_tokens(name): name for name in lengths if name != EVIDENCE_ALONE}
    if len(kinds) > 1:
        raise RulerError(
            f"'{root}' cannot hold both {kinds[False]} (binary thousands) and {kinds[True]} "
            "(tokens): build each kind into a separate folder."
        )


def existing_release(root: Path) -> Manifest | None:
    """Return the manifest of the release in a folder; None if there is none.

    Raises RulerError for a folder with other files.
    """
    if (root / MANIFEST).exists():
        return read_manifest(root)
    others = [path.name for path in root.iterdir()] if root.is_dir() else []
    if others and not is_unfinished(root):
        raise RulerError(f"'{root}' holds other files ({others[0]}): give a new folder.")
    return None


# Of the builds in bench/RELEASE.md, which had the extra `fast`; texts of other languages or
# sources may differ by half.
_BYTES = {"ruler": 0.34, "oneruler": 0.18}  # a token; ONERULER's rows share their books
_SECONDS_OF_ROW = 0.004
_SECONDS_OF_TOKEN = 1.1e-7


@dataclass(frozen=True)
class BuildSize:
    """What an order asks for and the release does not have yet; tokens of full windows."""

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
    """Return the size of what is to be made. Raises RulerError as `build` does."""
    suite = read_suite(order.suite)
    jobs = file_jobs(order, suite)
    release = existing_release(order.root)
    missing = [job for job in jobs if not release or job.config.path not in release["files"]]
    return build_size(suite.dataset, missing)


def build_size(dataset: str, jobs: list[FileJob]) -> BuildSize:
    """Return the size of what these jobs make."""
    rows, tokens = sum(job.rows for job in jobs), sum(job.tokens for job in jobs)
    return BuildSize(dataset, len(jobs), rows, tokens)


def refuse_read_only(root: Path) -> None:
    """Raise RulerError for a folder that cannot be written, or that cannot be made."""
    if not os.access(_nearest_folder(root), os.W_OK):
        raise RulerError(f"'{root}' cannot be written: give a folder that can.")


def refuse_full_disk(root: Path, size: BuildSize) -> None:
    """Raise RulerError if the disk has less than half of the room that the files may take."""
    free = shutil.disk_usage(_nearest_folder(root)).free
    if free < size.bytes / 2:
        raise RulerError(
            f"The files take about {size.bytes / 1e6:,.0f} MB, and the disk of '{root}' has "
            f"{free / 1e6:,.0f} MB free: make room, or give a folder on another disk."
        )


def _nearest_folder(root: Path) -> Path:
    """Return the folder itself, or the nearest folder above it that exists."""
    place = root.resolve()
    while not place.exists():
        place = place.parent
    return place
