"""Check one file of a release: its digests, and its rows against the same rows built again.

    checker = FileChecker(ReleaseToVerify(root, manifest), audit=False)
    checked = checker.check("data/tekken/4k/vt.parquet")
    checked.report.problems        # [Problem(3, 'input differs at character 17: …')]

If the lock of the data version lists the configuration, the digest of its rows proves them. All
other rows are rebuilt from the manifest, one by one, and compared as they are read.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ruler_builder.release.build import FileBuilder, RowFigures, entry_of, make_row
from ruler_builder.release.parquet import digest_row, read_rows, rows_of
from ruler_builder.release.plan import FileJob
from ruler_builder.suites.suite import suite_in
from ruler_builder.tasks.base import DATA_VERSION, NewRow
from ruler_builder.tasks.registry import sources_of
from ruler_builder.text.sources import SourceFile, Sources, Store, choice_in
from ruler_builder.tokens.counting import EngineMismatch, TokenCounter, WatchedCounter
from ruler_builder.tokens.tokenizers import counter_in, load_counter, named, pinned_files
from ruler_builder.verify.audit import WHOLE_FILE, FileAudit
from ruler_builder.window.fit import Impossible
from ruler_common.errors import RulerError
from ruler_common.files import UNREADABLE
from ruler_common.frozen import is_frozen, read_frozen
from ruler_common.manifest import FileEntry, Manifest, TokenizerEntry
from ruler_common.names import Config, check_name
from ruler_common.rows import COLUMNS, Row, arrow_schema
from ruler_common.work import release_memory


@dataclass(frozen=True)
class ReleaseToVerify:
    """A release to verify, and where to find what it was built from."""

    root: Path
    manifest: Manifest
    _: KW_ONLY
    # A folder of sources, searched before the cache.
    mirror: str | None = None
    # The folders of tokenizers that the project does not name itself.
    tokenizer_folders: Mapping[str, str] = field(default_factory=dict)
    # The sources of custom languages.
    given: Mapping[str, SourceFile] = field(default_factory=dict)


def parse_tokenizer_folders(manifest: Manifest, specs: Iterable[str]) -> dict[str, str]:
    """Read `NAME=FOLDER` or `NAME=hf:ORG/NAME@REVISION` for tokenizers of a release."""
    folders = {}
    for spec in specs:
        name, _, folder = spec.partition("=")
        check_name("tokenizer", name, manifest["tokenizers"], "ruler verify --help")
        if not folder:
            raise RulerError(f"'{spec}' does not say where '{name}' is: write {name}=FOLDER.")
        folders[name] = folder
    return folders


class TokenizerDiffers(RulerError):
    """The tokenizer on this machine is not the one that the release was built with."""


def load_release_tokenizer(name: str, release: ReleaseToVerify) -> TokenCounter:
    """Load a tokenizer of a release. Raises RulerError if it is missing or differs."""
    recorded = release.manifest["tokenizers"][name]
    folder = recorded["spec"].partition("=")[2]
    if name in release.tokenizer_folders:
        counter = counter_in(name, release.tokenizer_folders[name])
    elif folder and not folder.startswith("hf:") and not Path(folder).is_dir():
        raise RulerError(
            f"Tokenizer '{name}' was in the folder '{folder}' when the release was built, and is "
            f"not here: say where it is: ruler verify {release.root} --tokenizer {name}=FOLDER"
        )
    else:
        counter = load_counter(recorded["spec"], Store(release.mirror))
    key: Literal["sha256", "backend_sha256"] = "backend_sha256"
    # The backend's digest depends on the version of its library, so it is compared only if the
    # manifest has no digest of the file.
    if "sha256" in recorded:
        key = "sha256"
    if counter.about.get(key) != recorded.get(key):
        raise TokenizerDiffers(
            f"Tokenizer '{name}' differs from the release's: {key} is {counter.about.get(key)}, "
            f"the manifest says {recorded.get(key)}."
        )
    return counter


def missing_tokenizers(release: ReleaseToVerify) -> list[str]:
    """Return the tokenizers named by the project whose files are not on this machine."""
    store = Store(release.mirror)
    missing = []
    for name in release.manifest["tokenizers"]:
        if name not in named() or name in release.tokenizer_folders:
            continue
        if any(store.local(file) is None for file in pinned_files(name)):
            missing.append(name)
    return missing


_MAX_PROBLEMS = 10  # listed for a file


class Problem(NamedTuple):
    """What is wrong with a row, by its index, or with the file as a whole (WHOLE_FILE)."""

    row: int
    what: str


@dataclass
class FileReport:
    """The result for one file: its rows, its first problems, and how many problems there are."""

    config: str
    _: KW_ONLY
    rows: int = 0
    problems: list[Problem] = field(default_factory=list)
    count: int = 0

    def add(self, what: str, row: int = WHOLE_FILE) -> None:
        """Record a problem."""
        self.count += 1
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(Problem(row, what))


log = logging.getLogger(__name__)
_EXCERPT = 40  # characters that a problem quotes of a text


@dataclass
class CheckedFile:
    """The result of checking a file, and what the manifest should say of it."""

    path: str
    report: FileReport
    _: KW_ONLY
    # "frozen", "rebuilt" or "" if neither proves the rows.
    proved_by: str = ""
    # Why the rows could not be built again or audited here; "" if they could.
    not_checked: str = ""
    # The manifest entry as a build writes it; None if the file cannot be read.
    entry: FileEntry | None = None
    # What the manifest says of the tokenizer, as it was loaded here.
    tokenizer: TokenizerEntry | None = None
    # What each row asks, as a digest, by index; only of an audit.
    asked: dict[int, str] = field(default_factory=dict)


@dataclass
class _Reading:
    """The result of one pass over the rows of a file."""

    rows: int = 0
    rows_sha256: str = ""
    lengths: list[int] = field(default_factory=list)
    # The first row that differs from the rebuilt one, and how.
    difference: tuple[int, str] | None = None
    # Whether the fast token counter (gigatoken) counted the rows.
    second_engine: bool = False


class FileChecker:
    """Checks files in a worker process; keeps the tokenizer that it used last loaded."""

    def __init__(self, release: ReleaseToVerify, audit: bool) -> None:
        self.release = release
        self.root = release.root
        self.manifest = release.manifest
        self.audit = audit
        self.frozen = read_frozen(self.manifest["data_version"])
        self.missing_tokenizers = missing_tokenizers(release)
        self._counter: TokenCounter | None = None
        self.store = Store(release.mirror)
        self.choice = choice_in(self.manifest["sources"], release.given)
        self.sources = Sources(self.store, self.choice)
        self.builder = FileBuilder(
            suite_in(self.manifest),
            self.root,
            self.manifest["seed"],
            self.manifest["reserve"],
            release.mirror,
            self.choice,
            self._load,
        )

    def _load(self, name: str, store: Store) -> TokenCounter:
        if self._counter is None or self._counter.name != name:
            self._counter = load_release_tokenizer(name, self.release)
        return self._counter

    def check(self, path: str) -> CheckedFile:
        """Check the digests and the rows of a file, and audit its rows if that is asked for."""
        entry = self.manifest["files"][path]
        checked = CheckedFile(path, FileReport(entry["config"]))
        file = self.root / path
        if not file.is_file():
            checked.report.add("the manifest lists the file, but it is missing")
            return checked
        try:
            with pa.memory_map(str(file)) as source:
                self._check(source, entry, checked)
        except UNREADABLE as error:
            why = str(error).partition("\n")[0]
            checked.report.add(f"the file cannot be read: {why}")
        finally:
            release_memory()
        return checked

    def _check(self, source: pa.MemoryMappedFile, entry: FileEntry, checked: CheckedFile) -> None:
        report = checked.report
        data = source.read_buffer()
        sha256 = hashlib.sha256(data).hexdigest()
        if sha256 != entry["sha256"]:
            report.add(f"sha256 is {sha256}, the manifest says {entry['sha256']}")
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            if not file.schema_arrow.equals(arrow_schema()):
                report.add(f"the columns are not {', '.join(COLUMNS)} of the right types")
                return
            audit = self._audit(entry, checked)
            claims_frozen = self.frozen is not None and is_frozen(
                self.manifest, self.frozen, entry, entry["rows_sha256"]
            )
            reading = _Reading()
            if claims_frozen:
                for row in _read(file, reading):
                    if audit:
                        audit.add(row)
                if reading.rows_sha256 == entry["rows_sha256"]:
                    checked.proved_by = "frozen"
                elif audit:
                    audit.clear()
            if not checked.proved_by:
                reading = self._rebuild(file, entry, checked, audit)
        report.rows = reading.rows
        if reading.rows_sha256 != entry["rows_sha256"]:
            report.add(
                "rows_sha256 in the manifest is not that of the rows"
                + (", which are not the frozen ones" if claims_frozen else "")
            )
        for index, what in audit.finish() if audit else ():
            report.add(what, index)
        checked.asked = audit.asked if audit else {}
        if checked.entry is None:
            checked.entry = self._entry_of_rows(entry, reading)
        checked.entry |= {"bytes": data.size, "sha256": sha256, "rows_sha256": reading.rows_sha256}

    def _job(self, config: Config, rows: int) -> FileJob:
        return FileJob(config, config.tokenizer, rows)

    def audit_file(self, path: str) -> CheckedFile:
        """Audit the rows of a file without rebuilding them; used before new rows are frozen."""
        entry = self.manifest["files"][path]
        checked = CheckedFile(path, FileReport(entry["config"]))
        audit = self._audit(entry, checked)
        if audit is None:
            raise RulerError(f"'{path}' cannot be audited: {checked.not_checked}.")
        for row in read_rows(self.root / path):
            audit.add(row)
        for index, what in audit.finish():
            checked.report.add(what, index)
        checked.asked = audit.asked
        return checked

    def _audit(self, entry: FileEntry, checked: CheckedFile) -> FileAudit | None:
        """Return the audit of a file; None if it was not asked for or its tokenizer is missing."""
        if not self.audit:
            return None
        if why := self._missing_tokenizer(entry):
            checked.not_checked = why
            return None
        try:
            counter = self._load(entry["tokenizer"], self.store)
        except RulerError as error:
            checked.not_checked = str(error)
            return None
        return FileAudit(self.manifest, entry, counter.count)

    def _missing_tokenizer(self, entry: FileEntry) -> str:
        name = entry["tokenizer"]
        if name in self.missing_tokenizers:
            return f"of {name}, its file is not here: ruler sources fetch {name}"
        return ""

    def _missing(self, entry: FileEntry) -> str:
        """Say what is missing for rebuilding a file and how to get it; "" if nothing is."""
        if self.manifest["data_version"] != DATA_VERSION:
            return (
                f"rows of data version {self.manifest['data_version']}, this builder makes "
                f"{DATA_VERSION}: install a version that makes them"
            )
        if why := self._missing_tokenizer(entry):
            return why
        missing, needs_folder = [], False
        for name in sources_of(self.manifest, Config.from_entry(self.manifest["dataset"], entry)):
            try:
                available = self.sources.has(name)
            except RulerError:  # a custom language whose folder was not given
                available, needs_folder = False, True
            if not available:
                missing.append(name)
        if not missing:
            return ""
        remedy = f"ruler sources fetch {' '.join(missing)}"
        if needs_folder:
            remedy = "give --language-folder FOLDER"
        return f"made of {', '.join(missing)}, not here: {remedy}"

    def _rebuild(
        self,
        file: pq.ParquetFile,
        entry: FileEntry,
        checked: CheckedFile,
        audit: FileAudit | None,
    ) -> _Reading:
        """Read a file and compare its rows with rebuilt ones.

        If they differ and the fast token counter was used, compare again without it.
        """
        job = self._job(Config.from_entry(self.manifest["dataset"], entry), entry["rows"])
        checked.not_checked = self._missing(entry)
        reading = self._compare(file, job, checked, audit)
        if reading.difference and reading.second_engine:
            reading = self._compare(file, job._replace(fast=False), checked, audit)
        if reading.difference:
            index, what = reading.difference
            checked.report.add(what, index)
        elif checked.entry:
            checked.proved_by = "rebuilt"
        return reading

    def _compare(
        self,
        file: pq.ParquetFile,
        job: FileJob,
        checked: CheckedFile,
        audit: FileAudit | None,
    ) -> _Reading:
        """Read a file and rebuild each row until one differs or cannot be rebuilt here."""
        reading, figures, task = _Reading(), [], None
        if audit:
            audit.clear()
        for index, row in enumerate(_read(file, reading)):
            if audit:
                audit.add(row)
            if reading.difference or checked.not_checked:
                continue
            try:
                if task is None:
                    task = self.builder.task(job)
                reading.second_engine = isinstance(task.counter, WatchedCounter)
                rows = min(job.rows, task.limit() or job.rows)
                if index >= rows:
                    what = f"the row does not belong there: a build makes {rows} rows"
                    reading.difference = index, what
                    continue
                rebuilt = make_row(task, index, job.config.name)
                figures.append(
                    RowFigures(rebuilt.length, rebuilt.next_unit_tokens, rebuilt.repeats)
                )
                if what := _difference(row, rebuilt):
                    reading.difference = index, what
            except EngineMismatch as error:
                log.warning("%s", error)
                reading.difference = index, str(error)
            except TokenizerDiffers as error:
                reading.difference = index, str(error)
            except Impossible as error:
                reading.difference = index, f"it cannot be built: {error}"
            except RulerError as error:
                checked.not_checked = str(error)
            except Exception as error:  # e.g. impossible parameters in an edited manifest
                why = f"{type(error).__name__}: {str(error)[:80]}"
                reading.difference = index, f"it cannot be built ({why})"
        if checked.not_checked or reading.difference:
            return reading
        if reading.rows < job.rows:
            reading.difference = reading.rows, f"the row is missing: there are {reading.rows} rows"
            return reading
        if task is None:  # a file without rows
            task = self.builder.task(job)
        checked.entry = entry_of(job, task, figures)
        checked.tokenizer = task.counter.about
        return reading

    def _entry_of_rows(self, entry: FileEntry, reading: _Reading) -> FileEntry:
        """Return the manifest's entry with the figures that can be computed from the rows.

        Only a rebuild can tell how full a row could have been, and how often a text was repeated.
        """
        fields = {name: value for name, value in entry.items() if name in FileEntry.__annotations__}
        lengths = reading.lengths
        if lengths:
            mean = sum(lengths) / len(lengths)
            window = entry["max_length"] - self.manifest["reserve"]
            fields["tokens"] = {"min": min(lengths), "mean": mean, "max": max(lengths)}
            fields["fill"] = mean / window if entry["max_length"] else 0.0
        return cast(FileEntry, {**fields, "rows": reading.rows})


def _read(file: pq.ParquetFile, reading: _Reading) -> Iterator[Row]:
    """Yield the rows of a file, a row group at a time; add their number and digest to `reading`."""
    digest, is_whole = hashlib.sha256(), True
    for group in range(file.num_row_groups):
        for row in rows_of(file.read_row_group(group)):
            try:
                digest_row(digest, row)
            except (*UNREADABLE, AttributeError):  # a column is missing in this row
                is_whole = False
            reading.rows += 1
            if row["length"] is not None:
                reading.lengths.append(row["length"])
            yield row
    reading.rows_sha256 = digest.hexdigest() if is_whole else ""


def _difference(stored: Row, rebuilt: NewRow) -> str:
    """Describe the first column in which a stored row differs from the rebuilt one; "" if none."""
    expected = rebuilt.columns()
    expected["evidence"] = [
        {**span, "depth": float(np.float32(span["depth"]))}  # files store float32
        for span in expected["evidence"]
    ]
    for column in COLUMNS:
        value = cast(Mapping[str, Any], stored)[column]
        if value != expected[column]:
            return f"{column} {describe_difference(value, expected[column])}"
    return ""


def describe_difference(value: object, expected: object) -> str:
    """Describe how a value differs from the expected one; for texts, from which character on."""
    if not isinstance(value, str) or not isinstance(expected, str):
        return f"is {short(value)}, should be {short(expected)}"
    start = common_length(value, expected)
    rest, expected_rest = value[start:], expected[start:]
    shown = short(rest) if rest else "its end"
    shown_expected = short(expected_rest) if expected_rest else "its end"
    return f"differs at character {start}: {shown}, should be {shown_expected}"


def short(value: object) -> str:
    """Return a value as JSON, shortened if it is long."""
    text = json.dumps(value[:_EXCERPT] if isinstance(value, str) else value, ensure_ascii=False)
    return text if len(text) <= 2 * _EXCERPT else f"{text[: 2 * _EXCERPT]} …"


def common_length(text: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    for index, (char, other_char) in enumerate(zip(text, other, strict=False)):
        if char != other_char:
            return index
    return min(len(text), len(other))
