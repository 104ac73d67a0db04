"""Build a release: plan -> files -> card -> manifest, resumable at every point.

    build(Order(Path("ruler"), tokenizers=("tekken",), lengths=("4k",)), report)

A file is the unit of work: it is written under a temporary name, renamed when whole and entered in
`.build/journal.jsonl`. The manifest is written last, so that what it lists is complete; until then
`.build/plan.json` says what is under way. Neither workers, order nor interruptions change a byte.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from builder import registration, words
from builder.card import first_row, render
from builder.header import SORTED, merge_headers
from builder.language_pairs import Languages, pairs
from builder.parquet import write_atomically
from builder.processes import spread
from builder.sources import parse_choice
from builder.suite import Suite, read_suite
from builder.tasks.base import DATA_VERSION
from builder.tokenizers import split_spec
from builder.work import Job, Settings, Workshop
from ruler_dataset import (
    FORMAT_VERSION,
    LENGTHS,
    MANIFEST,
    Config,
    RulerError,
    length_name,
    parse_length,
    read_manifest,
    sha256_of,
)

SAMPLES = {"ruler": 500, "oneruler": 50}
"""Rows a file, as the papers have them."""
BUILD_FOLDER = ".build"
PLAN, JOURNAL = "plan.json", "journal.jsonl"


@dataclass(frozen=True)
class Order:
    """What to build, as the command line says it.

    Lengths by name; `samples` in rows a file (None: 500, in oneruler 50); `languages` as
    builder/language_pairs.py reads them.
    """

    root: Path
    dataset: str = "ruler"
    tokenizers: tuple[str, ...] = ("tekken",)
    lengths: tuple[str, ...] = ("all",)
    tasks: tuple[str, ...] = ("all",)
    languages: Languages | None = None
    samples: int | None = None
    seed: int = 0
    reserve: int = 128
    workers: int = 1
    suite: Path | None = None
    mirror: Path | None = None
    sources: tuple[str, ...] = ()
    allow_variants: bool = False


class Report(Protocol):
    """Hears how the work goes."""

    def planned(self, files: int, rows: int, kept: int) -> None:
        """So many files and rows are to be made; so many files are there already.

        Told twice: before every window is checked, and with the true number of rows after.
        """

    def rows(self, count: int) -> None:
        """So many more rows are made."""


@dataclass(frozen=True)
class Built:
    """What a build made: the manifest, and the paths that are new in it."""

    manifest: dict[str, Any]
    new: list[str]


def build(order: Order, report: Report) -> Built:
    """Make what the order asks for and the release lacks. Raises RulerError before any work."""
    suite, root = read_suite(order.suite, order.dataset), order.root
    jobs = _jobs(order, suite)
    header = _header(order, suite)
    release, begun, done = _existing(root), _plan(root), _journal(root)
    for earlier in (release, begun):
        header = merge_headers(earlier, header, root) if earlier else header
    there = {**release.get("files", {}), **done}
    _refuse_other_rows(there, jobs, root)
    todo = [job for job in jobs if job.config.path not in there]
    if not todo and not begun:
        report.planned(0, 0, len(jobs))
        _write_heads(root, release)  # a newer version may word the card anew
        return Built(release, [])
    mirror = str(order.mirror.resolve()) if order.mirror else None
    settings = Settings(mirror, parse_choice(list(order.sources)), order.allow_variants)
    with spread(order.workers, Workshop, (suite, settings, root), report.rows) as run:
        report.planned(len(todo), sum(job.rows for job in todo), len(jobs) - len(todo))
        checked = list(run("check", todo))
        for found in checked:
            header = merge_headers(header, {**header, **found.read}, root)
        rows = {found.path: found.rows for found in checked}
        todo = [job._replace(rows=rows[job.config.path]) for job in todo]
        _write_plan(root, header, [*done, *rows])
        report.planned(len(todo), sum(job.rows for job in todo), len(jobs) - len(todo))
        for path, entry in run("build", todo):
            done[path] = entry
            _append(root / BUILD_FOLDER / JOURNAL, {"path": path, "entry": entry})
    finished = {**release.get("files", {}), **done}
    manifest = header | {key: dict(sorted(header[key].items())) for key in SORTED}
    manifest["files"] = dict(sorted(finished.items()))
    _write_heads(root, manifest)
    write_atomically(root / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    shutil.rmtree(root / BUILD_FOLDER)
    return Built(manifest, sorted(done))


def _write_heads(root: Path, manifest: Mapping[str, Any]) -> None:
    """The card and eval.yaml, where they are not what they should be."""
    heads = {
        "README.md": render(manifest, first_row(root, manifest)),
        registration.FILE: registration.eval_yaml(manifest),
    }
    for name, text in heads.items():
        path = root / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)


def _jobs(order: Order, suite: Suite) -> list[Job]:
    """One job a file: those of a tokenizer together, and of a language; the longest first."""
    samples = SAMPLES[suite.dataset] if order.samples is None else order.samples
    if samples < 1 or order.reserve < 0 or order.workers < 1:
        raise RulerError("--samples and --workers must be 1 or more, --reserve 0 or more.")
    specs = dict(split_spec(spec) for spec in order.tokenizers)
    lengths = {parse_length(name, suite.dataset) for name in _all_lengths(order, suite)}
    tasks = dict.fromkeys(task for name in order.tasks for task in suite.names.expand(name))
    jobs = [
        Job(
            Config(suite.dataset, task, length_name(length, suite.dataset), name, *pair),
            spec if spec == name else f"{name}={spec}",
            samples,
            order.seed,
            order.reserve,
        )
        for name, spec in specs.items()
        for pair in pairs(suite.dataset, order.languages)
        for length in sorted(lengths, reverse=True)
        for task in sorted(tasks, key=_costly_first)
        if pair.is_one or suite.crosses_languages(task)
    ]
    if not jobs:
        raise RulerError(
            f"{', '.join(tasks)} cannot have text and instruction in two languages: take niah."
        )
    return jobs


def _costly_first(task: str) -> tuple[int, str]:
    costly = ("fwe", "cwe", "qa_2", "vt")
    return (costly.index(task) if task in costly else len(costly)), task


def _all_lengths(order: Order, suite: Suite) -> Iterable[str]:
    for name in order.lengths:
        yield from LENGTHS[suite.dataset] if name == "all" else (name,)


def _header(order: Order, suite: Suite) -> dict[str, Any]:
    """The manifest but for its files, and for what is known only once sources are read."""
    longest = max(parse_length(name, suite.dataset) for name in _all_lengths(order, suite))
    return {
        "format": FORMAT_VERSION,
        "dataset": suite.dataset,
        "data_version": DATA_VERSION,
        "builder_version": version("ruler-release"),
        "seed": order.seed,
        "reserve": order.reserve,
        "families": suite.families,
        "tasks": suite.described(),
        "groups": {name: list(members) for name, members in suite.groups.items()},
        "sources": {},
        "words": words.digests(extended=longest > parse_length("128k", suite.dataset)),
        "languages": {},
        "tokenizers": {},
        "files": {},
    }


def _existing(root: Path) -> dict[str, Any]:
    """The manifest of the release that is there; empty if there is none."""
    if (root / MANIFEST).exists():
        return read_manifest(root)
    strangers = [path.name for path in root.iterdir()] if root.is_dir() else []
    if strangers and BUILD_FOLDER not in strangers:
        raise RulerError(f"'{root}' holds other files ({strangers[0]}): give a new folder.")
    return {}


def _refuse_other_rows(files: Mapping[str, Any], jobs: list[Job], root: Path) -> None:
    for job in jobs:
        entry = files.get(job.config.path)
        if entry and entry["rows"] != min(job.rows, entry["most_rows"] or job.rows):
            raise RulerError(
                f"'{root}' holds {entry['rows']} rows of '{job.config.name}', not {job.rows}: "
                f"ask for --samples {entry['rows']} or give a new folder."
            )


def _plan(root: Path) -> dict[str, Any]:
    """The header of an unfinished build, with its `todo`; empty if none is under way."""
    plan = root / BUILD_FOLDER / PLAN
    try:
        return json.loads(plan.read_text(encoding="utf-8")) if plan.exists() else {}
    except json.JSONDecodeError:
        raise RulerError(f"'{plan}' is damaged: remove it and build again.") from None


def _journal(root: Path) -> dict[str, dict[str, Any]]:
    """The files an unfinished build has made, each checked by its digest."""
    done = {}
    journal = root / BUILD_FOLDER / JOURNAL
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    for line in lines:
        try:
            found = json.loads(line)
        except json.JSONDecodeError:  # the line being written when the build was stopped
            continue
        path, entry = root / found["path"], found["entry"]
        if path.is_file() and sha256_of(path) == entry["sha256"]:
            done[found["path"]] = entry
    for leftover in root.glob("data/**/.*.parquet.*"):
        leftover.unlink()
    return done


def _write_plan(root: Path, header: Mapping[str, Any], paths: list[str]) -> None:
    folder = root / BUILD_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / PLAN, json.dumps({**header, "todo": paths}, ensure_ascii=False))


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def unfinished(root: Path) -> int:
    """How many files of a build under way are not in the manifest yet."""
    listed = read_manifest(root)["files"] if (root / MANIFEST).exists() else {}
    return sum(path not in listed for path in _plan(root).get("todo", []))


def digest_of(manifest: Mapping[str, Any]) -> str:
    """One digest of all rows of a release, whatever wrote the files."""
    rows = {path: entry["rows_sha256"] for path, entry in manifest["files"].items()}
    return sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
