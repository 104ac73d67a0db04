"""Verify a release: prove its laws from its files alone, re-tokenising every row.

    report = verify(Path("ruler"), workers=2)
    report.ok, report.files["data/tekken/4k/vt.parquet"].breaches

Each row is checked alone (laws.py); then row i must ask the same in every file of its task, and
each file must have the manifest's digest. The laws are listed in breaches.py.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from builder.checks.breaches import Breach, FileRules, Law, pattern_of
from builder.checks.laws import asked, breaches, haystack, unanswerable
from builder.checks.verify_report import WHOLE_FILE, AskedDigest, FileReport, Found, VerifyReport
from builder.common.build_folder import unfinished
from builder.common.processes import OnProgress, worker_pool
from builder.tokens.reference_counter import places, reference
from builder.tokens.second_engine import EngineMismatch, confirm, is_sampled, with_engine
from builder.tokens.tokenizers import TokenCounter
from ruler_dataset import (
    COLUMNS,
    MANIFEST,
    FileEntry,
    Manifest,
    Row,
    features,
    read_manifest,
    sha256_of,
)

_NEAR = 0.1  # of the context: needles stand between sentences, and these differ in length


class RowGroup(NamedTuple):
    """A row group of a Parquet file: one piece of work."""

    path: str
    group: int
    fast: bool = True
    """Whether a second engine may count, where there is one (builder/tokens/second_engine.py)."""


@dataclass
class InspectedRowGroup:
    """What the inspection of one row group found, for checks of the whole file and release."""

    path: str
    indices: list[int] = field(default_factory=list)
    breaches: list[Found] = field(default_factory=list)
    asked: dict[int, AskedDigest] = field(default_factory=dict)
    depths: list[float] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    mismatch: str = ""
    """Why it was not inspected: the second engine counted otherwise than the reference."""


class Inspector:
    """A worker that inspects row groups; it keeps the tokenizer it used last."""

    def __init__(
        self, root: Path, manifest: Manifest, mirror: str | None, specs: dict[str, str]
    ) -> None:
        self.root, self.manifest, self.mirror, self.specs = root, manifest, mirror, specs
        self._counter: tuple[tuple[str, bool], TokenCounter] | None = None
        self._mismatches: dict[str, str] = {}

    def counter(self, tokenizer: str, fast: bool) -> TokenCounter:
        """The tokenizer, checked against the manifest's digests; with a second engine if `fast`."""
        key = tokenizer, fast
        if self._counter is None or self._counter[0] != key:
            counter = reference(tokenizer, self.manifest, self.root, self.mirror, self.specs)
            self._counter = key, with_engine(counter) if fast else counter
        return self._counter[1]

    def inspect(self, part: RowGroup, on_progress: OnProgress) -> InspectedRowGroup:
        """Check every row of a row group alone, and collect what the file's checks need.

        Stops where the second engine's count turns out wrong: the group is to be inspected again.
        """
        tokenizer = self.manifest["files"][part.path]["tokenizer"]
        mismatch = self._mismatches.get(tokenizer, "") if part.fast else ""
        if mismatch:
            return InspectedRowGroup(part.path, mismatch=mismatch)
        try:
            return self._inspect(part, on_progress)
        except EngineMismatch as error:
            self._mismatches[tokenizer] = str(error)
            return InspectedRowGroup(part.path, mismatch=str(error))

    def _inspect(self, part: RowGroup, on_progress: OnProgress) -> InspectedRowGroup:
        import pyarrow.parquet as pq

        entry = self.manifest["files"][part.path]
        kind = self.manifest["tasks"][entry["task"]]
        wording = self.manifest["families"][kind["family"]]
        rules = FileRules(
            entry=entry,
            task=kind,
            wording=wording,
            reserve=self.manifest["reserve"],
            languages=self.manifest.get("languages", {}),
        )
        counter = self.counter(entry["tokenizer"], part.fast)
        with pq.ParquetFile(self.root / part.path) as file:
            rows: list[Row] = file.read_row_group(part.group).to_pylist()
        group, text = InspectedRowGroup(part.path), None
        for row in rows:
            tokens = _tokens(row, counter, entry["config"])
            found: Iterable[Breach] = chain(
                breaches(row, tokens, rules), unanswerable(row, counter.counts, rules)
            )
            group.breaches += [Found(row["index"], law, what) for law, what in found]
            group.indices.append(row["index"])
            if text is not None and not _same_text(text, haystack(row, rules) or ""):
                group.breaches.append(
                    Found(row["index"], Law.UNAMBIGUOUS, "the haystack is not the other rows'")
                )
            text = text or haystack(row, rules)
            scope, question = asked(row, rules)
            digest = hashlib.blake2b(question.encode(), digest_size=8).hexdigest()
            parallel = kind["family"] == "multilingual_niah"
            depths = [span["depth"] for span in row["evidence"] if parallel]
            group.asked[row["index"]] = AskedDigest(scope, digest, depths)
            group.depths += [span["depth"] for span in row["evidence"] if span["answer"]]
            if kind["family"] == "question_answering":
                group.places += _places(row, wording["document"])
            on_progress(1)
        return group


def _tokens(row: Row, counter: TokenCounter, config: str) -> int:
    """Tokens of a row: sampled rows, and those that seem wrong, by the reference library too."""
    text = row["input"] + row["answer_prefix"]
    tokens = counter.count(text)
    if is_sampled(row["index"]) or tokens + row["max_new_tokens"] != row["length"]:
        return confirm(counter, text, tokens, f"row {row['index']} of {config}")
    return tokens


def _places(row: Row, template: str) -> list[tuple[int, int]]:
    """Where the gold documents stand: how many come before, and how many there are in all."""
    label = pattern_of(template.split("{document}")[0], i=r"\d+")
    labels = label.finditer(row["input"], row["context_start"], row["context_end"])
    starts = [match.end() for match in labels]
    total = max(1, len(starts))
    return [(bisect_left(starts, span["start"]), total) for span in row["evidence"]]


def verify(
    root: Path,
    workers: int = 1,
    mirror: Path | None = None,
    tokenizers: Iterable[str] = (),
    planned: Callable[[int], None] = lambda rows: None,
    on_progress: OnProgress = lambda rows: None,
) -> VerifyReport:
    """Verify a whole release; `tokenizers` says where unnamed ones lie now, as `NAME=FOLDER`.

    `planned` is called with the number of rows, `on_progress` with each number of rows more.
    Raises RulerError if there is no release, or a tokenizer is missing or another.
    """
    left = unfinished(root)
    if left and not (root / MANIFEST).exists():
        return VerifyReport({}, left)
    manifest = read_manifest(root)
    entries = manifest["files"]
    reports = {path: FileReport(entry["config"]) for path, entry in entries.items()}
    parts = [
        part for path, report in reports.items() for part in _openable(root, path, entries, report)
    ]
    planned(sum(entries[path]["rows"] for path in {part.path for part in parts}))
    groups: dict[str, list[InspectedRowGroup]] = defaultdict(list)
    specs = places(manifest, tokenizers)
    arguments = (root, manifest, str(mirror.resolve()) if mirror else None, specs)
    with worker_pool(workers, Inspector, arguments, on_progress) as run:
        parts.sort(key=lambda part: entries[part.path]["tokenizer"])
        mismatches: dict[str, str] = {}  # tokenizer -> what the second engine counted wrongly
        for group in run(Inspector.inspect, parts):
            groups[group.path].append(group)
            if group.mismatch:
                mismatches[entries[group.path]["tokenizer"]] = group.mismatch
        again = [part for part in parts if entries[part.path]["tokenizer"] in mismatches]
        for part in again:
            groups[part.path].clear()
        for group in run(Inspector.inspect, [part._replace(fast=False) for part in again]):
            groups[group.path].append(group)
    for path, report in reports.items():
        _whole_file(entries[path], groups[path], report)
    _same_asked(manifest, reports)
    for found in sorted(root.glob("data/**/*.parquet")):
        name = found.relative_to(root).as_posix()
        if name not in entries and not left:
            reports[name] = FileReport(name)
            reports[name].add(WHOLE_FILE, Law.DIGESTS, "the file is not in the manifest")
    return VerifyReport(reports, left, list(mismatches.values()))


def _openable(
    root: Path, path: str, entries: Mapping[str, FileEntry], report: FileReport
) -> list[RowGroup]:
    """The file's row groups, if it is there, has the manifest's digest and the right columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    entry = entries[path]
    if not (root / path).is_file():
        report.add(WHOLE_FILE, Law.DIGESTS, "the manifest lists the file, but it is missing")
        return []
    if (found := sha256_of(root / path)) != entry["sha256"]:
        report.add(
            WHOLE_FILE, Law.DIGESTS, f"sha256 is {found}, the manifest says {entry['sha256']}"
        )
    try:
        with pq.ParquetFile(root / path) as file:
            if not file.schema_arrow.equals(features().arrow_schema):
                report.add(
                    WHOLE_FILE,
                    Law.DIGESTS,
                    f"the columns are not {', '.join(COLUMNS)} of the right types",
                )
                return []
            return [RowGroup(path, group) for group in range(file.num_row_groups)]
    except pa.ArrowException as error:
        report.add(WHOLE_FILE, Law.DIGESTS, f"the file cannot be read: {error}")
        return []


def _whole_file(entry: FileEntry, groups: list[InspectedRowGroup], report: FileReport) -> None:
    """What only all rows together show: indices, digest of the rows, spread of the gold places."""
    if not groups:
        return
    indices = sorted(index for group in groups for index in group.indices)
    report.rows = len(indices)
    doubled = next((a for a, b in pairwise(indices) if a == b), None)
    if doubled is not None:
        report.add(doubled, Law.DIGESTS, f"index {doubled} occurs twice")
    elif indices != list(range(entry["rows"])):
        report.add(WHOLE_FILE, Law.DIGESTS, f"the indices are not 0 … {entry['rows'] - 1}")
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
            -1,
            Law.POSITIONS,
            f"gold positions are not spread over the context (distance {distance:.2f})",
        )
    elif len(depths) >= 8 and fewest >= 4 and len(set(places or depths)) == 1:
        report.add(WHOLE_FILE, Law.POSITIONS, "the gold stands at the same place in every row")


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
    """Row i of a task must ask the same in every file of its scope, at the same depths."""
    first: dict[tuple[str, int, str], tuple[AskedDigest, str]] = {}
    for path, report in reports.items():
        task = manifest["files"][path]["task"]
        task = manifest["tasks"][task].get("same_as") or task
        for index, found in report.asked.items():
            key = (task, index, found.scope)
            before, where = first.setdefault(key, (found, report.config))
            if before.digest != found.digest:
                report.add(index, Law.PAIRED, f"asks something else than row {index} of {where}")
            elif _far(before.depths, found.depths):
                report.add(
                    index, Law.PAIRED, f"has its needles elsewhere than row {index} of {where}"
                )


def _far(depths: list[float], others: list[float]) -> bool:
    """Whether needles stand at other depths, or more of them."""
    pairs = zip(depths, others, strict=False)
    return len(depths) != len(others) or any(abs(a - b) > _NEAR for a, b in pairs)
