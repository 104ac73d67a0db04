"""Make a release's rows anew from its manifest, and compare them with those of its files.

    todo = plan(manifest, reports, sources)     # what the lock does not prove already
    remade = Remaker(ReleaseAtHand(root, manifest)).remake(todo.jobs[0], on_progress)
    remade.row, remade.differs                  # 3, "input differs from character 17 on: …"

A release is a function of its manifest. Nothing is written: the bytes that a build would write go
into a digest. A row can be made alone, so the first one of a file that differs is found.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from ruler_builder.common.parquet_rows import read_rows, with_exact_depths
from ruler_builder.context.fit import Impossible
from ruler_builder.families.table import sources_of
from ruler_builder.families.task import DATA_VERSION
from ruler_builder.proof.verify_report import WHOLE_FILE, FileReport
from ruler_builder.reading.sources_at_hand import SourcesAtHand
from ruler_builder.release.file_builder import FileBuilder, FileJob
from ruler_builder.release.suite import suite_in
from ruler_builder.sources.chosen_sources import choice_in
from ruler_builder.sources.download import Store
from ruler_builder.sources.registry import is_given
from ruler_builder.tokens.counters import TokenCounter
from ruler_builder.tokens.reference_counter import ReleaseAtHand, reference
from ruler_builder.tokens.second_engine import EngineMismatch
from ruler_common.errors import RulerError
from ruler_common.frozen_rows import frozen_for, is_frozen
from ruler_common.manifest_form import FileEntry, Manifest, TokenizerEntry
from ruler_common.names import Config, Names, check_name
from ruler_common.rows import COLUMNS
from ruler_common.work import let_go

_SHOWN = 40  # characters of a text that differs


@dataclass
class Plan:
    """Which files are to be made anew, and why others are not."""

    jobs: list[FileJob] = field(default_factory=list)
    frozen: list[str] = field(default_factory=list)
    """Paths of the files whose rows the lock of their data version proves."""
    not_at_hand: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Why files cannot be made anew here, each with their paths."""


def plan(
    manifest: Manifest,
    reports: Mapping[str, FileReport],
    sources: SourcesAtHand,
    uncounted: Collection[str] = (),
) -> Plan:
    """What is to be made anew of the files whose rows could be read.

    `uncounted` are the tokenizers that are not here.
    """
    found, frozen = Plan(), frozen_for(manifest)
    for path, entry in manifest["files"].items():
        digest, rows = reports[path].rows_sha256, reports[path].rows
        if not digest or not rows:  # it cannot be read, which is a breach already
            continue
        if frozen and is_frozen(manifest, frozen, entry, digest):
            found.frozen.append(path)
        elif manifest["data_version"] != DATA_VERSION:
            why = f"rows of data version {manifest['data_version']}, this builder makes "
            found.not_at_hand[f"{why}{DATA_VERSION}: install a version that makes them"].append(
                path
            )
        elif (name := entry["tokenizer"]) in uncounted:
            why = f"of {name}, its file is not here: ruler sources fetch {name}"
            found.not_at_hand[why].append(path)
        elif missing := [name for name in sources_of(manifest, entry) if not sources.have(name)]:
            given = any(map(is_given, missing))
            remedy = (
                "give --language-folder FOLDER"
                if given
                else f"ruler sources fetch {' '.join(missing)}"
            )
            found.not_at_hand[f"made of {', '.join(missing)}, not here: {remedy}"].append(path)
        else:
            config, seed = Config.of(manifest["dataset"], entry), manifest["seed"]
            job = FileJob(config, entry["tokenizer"], rows, seed, manifest["reserve"])
            found.jobs.append(job)
    order = list(manifest["tokenizers"])  # the longest first, as in a build
    found.jobs.sort(key=lambda job: (order.index(job.tokenizer), -job.config.max_length))
    return found


class Remade(NamedTuple):
    """A file made anew: its manifest entry and its tokenizer's, and how its rows differ.

    `entry` is None where it could not be made, for want of something (`missing`) or at all
    (`differs`); `row` is the first that differs.
    """

    path: str
    entry: FileEntry | None
    tokenizer: TokenizerEntry | None = None
    row: int = WHOLE_FILE
    differs: str = ""
    missing: str = ""


class Remaker:
    """A worker that makes files anew; it keeps the tokenizer it used last."""

    def __init__(self, here: ReleaseAtHand) -> None:
        self.root, self.manifest = here.root, here.manifest

        def load(name: str, store: Store) -> TokenCounter:
            return reference(name, here)

        choice = choice_in(self.manifest["sources"], here.given)
        suite = suite_in(self.manifest)
        self.builder = FileBuilder(suite, here.mirror, choice, self.root, load)

    def remake(self, job: FileJob) -> Remade:
        """Make a file anew and compare its rows.

        Where they differ, once more without the second engine: its counts may be why.
        """
        path = job.config.path
        try:
            return self._remade(path, job)
        except Impossible as error:
            return Remade(path, None, differs=f"it cannot be made: {error}")
        except RulerError as error:
            return Remade(path, None, missing=str(error))
        except Exception as error:  # of parameters that a stranger wrote
            why = f"{type(error).__name__}: {str(error)[:80]}"
            return Remade(path, None, differs=f"it cannot be made ({why})")
        finally:
            self.builder.forget(job)
            let_go()

    def _remade(self, path: str, job: FileJob) -> Remade:
        digest = self.manifest["files"][path]["rows_sha256"]
        job = job._replace(rows=min(job.rows, self.builder.task(job).limit() or job.rows))
        try:
            entry = self.builder.remake(job)
        except EngineMismatch:
            entry = None
        if entry is None or entry["rows_sha256"] != digest:
            job = job._replace(fast=False)
            entry = self.builder.remake(job)
        row, differs = WHOLE_FILE, ""
        if entry["rows_sha256"] != digest:
            row, differs = self._first_difference(job)
        about = self.builder.counted_sources(job.tokenizer, job.fast).counter.about
        return Remade(path, entry, about, row, differs)

    def left_out(self, jobs: list[FileJob]) -> str:
        """What is wrong with the manifest's word that a configuration cannot be built; "" if right.

        The jobs are of one file, with as many rows as other files have.
        """
        name, given = jobs[0].config.name, self.manifest["left_out"]
        try:
            found = {self.builder.check(job).impossible for job in jobs}
        except RulerError:  # its source or tokenizer is not here
            return ""
        except Exception as error:  # of parameters that a stranger wrote
            return f"left_out: {name} cannot be tried ({type(error).__name__})"
        finally:
            self.builder.forget(jobs[0])
        if given[name] in found:
            return ""
        why = min(found)
        what = f"cannot be built for another reason: {why}" if why else "can be built"
        return f"left_out: {name} {what}"

    def _first_difference(self, job: FileJob) -> tuple[int, str]:
        """The index of the first row that differs, and how."""
        task = self.builder.task(job)
        for place, row in enumerate(read_rows(self.root / job.config.path)):
            if place == job.rows:
                return row["index"], "there is no such row: its corpus has no more questions"
            index = place
            mine, anew = with_exact_depths(row), with_exact_depths(task.row(index).columns())
            for column in COLUMNS:
                if mine[column] != anew[column]:
                    return index, f"{column} {_difference(mine[column], anew[column])}"
        return WHOLE_FILE, "the rows differ, though each alone is the same"


def _difference(mine: object, anew: object) -> str:
    """How a value differs from the one made anew, in a few words."""
    if not isinstance(mine, str) or not isinstance(anew, str):
        return f"is {short(mine)}, made anew {short(anew)}"
    same = takewhile(lambda pair: pair[0] == pair[1], zip(mine, anew, strict=False))
    at = sum(1 for _ in same)
    parts = [short(text[at:]) if text[at:] else "ends" for text in (mine, anew)]
    return f"differs from character {at} on: {parts[0]}, made anew {parts[1]}"


def short(value: object) -> str:
    """A value as JSON, cut where it is long."""
    text = json.dumps(value[:_SHOWN] if isinstance(value, str) else value, ensure_ascii=False)
    return text if len(text) <= 2 * _SHOWN else f"{text[: 2 * _SHOWN]} …"


def jobs_left_out(manifest: Manifest) -> tuple[list[list[FileJob]], list[str]]:
    """The jobs of what the manifest says cannot be built, and which of its words name nothing.

    The jobs of a configuration have every number of rows that a file has.
    """
    names, seed = Names.in_manifest(manifest), manifest["seed"]
    rows = sorted({entry["rows"] for entry in manifest["files"].values()} or {1})
    jobs, wrong = [], []
    for name in manifest.get("left_out", {}):
        try:
            config = names.parse(name)
            check_name("task", config.task, manifest["tasks"])
        except RulerError as error:
            wrong.append(f"left_out: {error}")
            continue
        if config.tokenizer in manifest["tokenizers"]:
            key = config, config.tokenizer
            reserve = manifest["reserve"]
            jobs.append([FileJob(*key, n, seed, reserve, True) for n in rows])
    return jobs, wrong
