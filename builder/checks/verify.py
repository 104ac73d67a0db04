"""Prove the laws of a release from its files alone, re-tokenising every row.

    report = verify(Path("ruler"), workers=2)
    report.ok, report.files["data/tekken/4k/vt.parquet"].breaches

Rows are held to laws 1 to 4 (laws.py); across files the same row must ask the same thing (law 5);
every file's digest must be the manifest's (law 6).
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from builder.checks.laws import Breach, Rules, asked, breaches, haystack
from builder.common.build_folder import unfinished
from builder.common.processes import OnProgress, worker_pool
from builder.tokens.reference_counter import places, reference
from builder.tokens.tokenizers import TokenCounter
from ruler_dataset import (
    COLUMNS,
    MANIFEST,
    FileEntry,
    Manifest,
    features,
    read_manifest,
    sha256_of,
)

_SHOWN = 10  # breaches a file
_NEAR = 0.1  # of the context: needles stand between sentences, and these differ in length


class Found(NamedTuple):
    """A breach: the row's index (−1 for the file), the law's number, and what is wrong."""

    row: int
    law: int
    what: str


class Asked(NamedTuple):
    """What a row asks: among which rows it must be the same, a digest, and the needles' depths."""

    scope: str
    digest: str
    depths: list[float]


@dataclass
class FileReport:
    """What was found in one file; the first ten breaches, and how many there are."""

    config: str
    rows: int = 0
    breaches: list[Found] = field(default_factory=list)
    count: int = 0
    asked: dict[int, Asked] = field(default_factory=dict, repr=False)

    def add(self, index: int, law: int, what: str) -> None:
        """Enter a breach."""
        self.count += 1
        if len(self.breaches) < _SHOWN:
            self.breaches.append(Found(index, law, what))


@dataclass
class Report:
    """What was found in a release."""

    files: dict[str, FileReport]
    unfinished: int

    @property
    def ok(self) -> bool:
        """Whether every law holds and nothing is missing."""
        return not self.unfinished and not any(file.count for file in self.files.values())


class Task(NamedTuple):
    """One row group to inspect."""

    path: str
    group: int


@dataclass
class Group:
    """What one row group holds."""

    path: str
    indices: list[int] = field(default_factory=list)
    breaches: list[Found] = field(default_factory=list)
    asked: dict[int, Asked] = field(default_factory=dict)
    depths: list[float] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)


class Inspector:
    """Inspects row groups; keeps the tokenizer it used last."""

    def __init__(
        self, root: Path, manifest: Manifest, mirror: str | None, specs: dict[str, str]
    ) -> None:
        self.root, self.manifest, self.mirror, self.specs = root, manifest, mirror, specs
        self._counter: tuple[str, TokenCounter] | None = None

    def counter(self, tokenizer: str) -> TokenCounter:
        """The tokenizer, checked against the manifest's digests."""
        if self._counter is None or self._counter[0] != tokenizer:
            counter = reference(tokenizer, self.manifest, self.root, self.mirror, self.specs)
            self._counter = tokenizer, counter
        return self._counter[1]

    def inspect(self, task: Task, report: OnProgress) -> Group:
        """Every row of a row group against laws 1 to 4."""
        import pyarrow.parquet as pq

        entry = self.manifest["files"][task.path]
        kind = self.manifest["tasks"][entry["task"]]
        wording = self.manifest["families"][kind["family"]]
        rules = Rules(
            entry, kind, wording, self.manifest["reserve"], self.manifest.get("languages", {})
        )
        counter = self.counter(entry["tokenizer"])
        with pq.ParquetFile(self.root / task.path) as file:
            rows = file.read_row_group(task.group).to_pylist()
        group, text = Group(task.path), None
        for row in rows:
            tokens = counter.count(row["input"] + row["answer_prefix"])
            found: Iterable[Breach] = breaches(row, tokens, rules)
            group.breaches += [Found(row["index"], law, what) for law, what in found]
            group.indices.append(row["index"])
            if text is not None and not _same_text(text, haystack(row, rules) or ""):
                group.breaches.append(Found(row["index"], 3, "the haystack is not the other rows'"))
            text = text or haystack(row, rules)
            scope, question = asked(row, rules)
            digest = hashlib.blake2b(question.encode(), digest_size=8).hexdigest()
            parallel = kind["family"] == "multilingual_niah"
            depths = [span["depth"] for span in row["evidence"] if parallel]
            group.asked[row["index"]] = Asked(scope, digest, depths)
            group.depths += [span["depth"] for span in row["evidence"] if span["answer"]]
            if kind["family"] == "question_answering":
                group.places += _places(row)
            report(1)
        return group


def _places(row: dict[str, Any]) -> list[tuple[int, int]]:
    """Where the gold documents stand: (how many before, how many in all)."""
    start, text = row["context_start"], row["input"]
    total = text.count("\nDocument ", start, row["context_end"]) + 1
    return [(text.count("\nDocument ", start, span["start"]), total) for span in row["evidence"]]


def verify(
    root: Path,
    workers: int = 1,
    mirror: Path | None = None,
    tokenizers: Iterable[str] = (),
    planned: Callable[[int], None] = lambda rows: None,
    on_progress: OnProgress = lambda rows: None,
) -> Report:
    """Inspect a whole release; `tokenizers` says where others lie now, as `NAME=FOLDER`.

    Raises RulerError if there is no release, or a tokenizer is missing or another.
    """
    left = unfinished(root)
    if left and not (root / MANIFEST).exists():
        return Report({}, left)
    manifest = read_manifest(root)
    entries = manifest["files"]
    reports = {path: FileReport(entry["config"]) for path, entry in entries.items()}
    tasks = [
        task for path, report in reports.items() for task in _openable(root, path, entries, report)
    ]
    planned(sum(entries[path]["rows"] for path in {task.path for task in tasks}))
    groups: dict[str, list[Group]] = defaultdict(list)
    specs = places(manifest, tokenizers)
    arguments = (root, manifest, str(mirror.resolve()) if mirror else None, specs)
    with worker_pool(workers, Inspector, arguments, on_progress) as run:
        for group in run(
            Inspector.inspect, sorted(tasks, key=lambda task: entries[task.path]["tokenizer"])
        ):
            groups[group.path].append(group)
    for path, report in reports.items():
        _whole_file(entries[path], groups[path], report)
    _same_asked(manifest, reports)
    for found in sorted(root.glob("data/**/*.parquet")):
        name = found.relative_to(root).as_posix()
        if name not in entries and not left:
            reports[name] = FileReport(name)
            reports[name].add(-1, 6, "the file is not in the manifest")
    return Report(reports, left)


def _openable(
    root: Path, path: str, entries: Mapping[str, FileEntry], report: FileReport
) -> list[Task]:
    """The file's row groups, if it is there, has the manifest's digest and the right columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    entry = entries[path]
    if not (root / path).is_file():
        report.add(-1, 6, "the manifest lists the file, but it is missing")
        return []
    if (found := sha256_of(root / path)) != entry["sha256"]:
        report.add(-1, 6, f"sha256 is {found}, the manifest says {entry['sha256']}")
    try:
        with pq.ParquetFile(root / path) as file:
            if not file.schema_arrow.equals(features().arrow_schema):
                report.add(-1, 6, f"the columns are not {', '.join(COLUMNS)} of the right types")
                return []
            return [Task(path, group) for group in range(file.num_row_groups)]
    except pa.ArrowException as error:
        report.add(-1, 6, f"the file cannot be read: {error}")
        return []


def _whole_file(entry: FileEntry, groups: list[Group], report: FileReport) -> None:
    """What only all rows together show: indices, digest of the rows, spread of the gold places."""
    if not groups:
        return
    indices = sorted(index for group in groups for index in group.indices)
    report.rows = len(indices)
    doubled = next((a for a, b in pairwise(indices) if a == b), None)
    if doubled is not None:
        report.add(doubled, 6, f"index {doubled} occurs twice")
    elif indices != list(range(entry["rows"])):
        report.add(-1, 6, f"the indices are not 0 … {entry['rows'] - 1}")
    for found in sorted(found for group in groups for found in group.breaches):
        report.add(*found)
    report.asked = {index: asked for group in groups for index, asked in group.asked.items()}
    places = [place for group in groups for place in group.places]
    depths = [depth for group in groups for depth in group.depths]
    if places:
        depths = [(before + 0.5) / total for before, total in places]
    fewest = min((total for _, total in places), default=20)
    if (distance := _from_even(depths)) > 0.5 / fewest + 2.5 / math.sqrt(max(1, len(depths))):
        report.add(
            -1, 4, f"gold positions are not spread over the context (distance {distance:.2f})"
        )
    elif len(depths) >= 8 and fewest >= 4 and len(set(places or depths)) == 1:
        report.add(-1, 4, "the gold stands at the same place in every row")


def _from_even(depths: list[float]) -> float:
    """Greatest distance of the depths' distribution from an even one (Kolmogorov–Smirnov)."""
    ordered, n = sorted(depths), len(depths)
    return max(
        (max(abs((i + 1) / n - depth), abs(i / n - depth)) for i, depth in enumerate(ordered)),
        default=0.0,
    )


def _same_text(one: str, other: str) -> bool:
    """Whether one of two haystacks goes on where the other ends."""
    return one.startswith(other) or other.startswith(one)


def _same_asked(manifest: Manifest, reports: dict[str, FileReport]) -> None:
    """Row i of a task asks the same wherever laws.asked says so, at the same depths (law 5)."""
    first: dict[tuple[str, int, str], tuple[Asked, str]] = {}
    for path, report in reports.items():
        task = manifest["files"][path]["task"]
        task = manifest["tasks"][task].get("same_as") or task
        for index, found in report.asked.items():
            key = (task, index, found.scope)
            before, where = first.setdefault(key, (found, report.config))
            if before.digest != found.digest:
                report.add(index, 5, f"asks something else than row {index} of {where}")
            elif _far(before.depths, found.depths):
                report.add(index, 5, f"has its needles elsewhere than row {index} of {where}")


def _far(depths: list[float], others: list[float]) -> bool:
    """Whether needles stand at other depths, or more of them."""
    pairs = zip(depths, others, strict=False)
    return len(depths) != len(others) or any(abs(a - b) > _NEAR for a, b in pairs)
