"""Check one file of a release: its digests, and its rows against the same rows built again.

    checker = FileChecker(ReleaseToVerify(root, manifest), audit=False)
    checked = checker.check("data/tekken/4k/vt.parquet")
    checked.report.problems        # [Problem(3, 'input differs at character 17: …')]

A file is read once. Rows that the lock of their data version lists are proved by their digest; all
others are built again from the manifest, one by one, and compared as they are read.
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

from ruler_builder.release.build import FileBuilder, RowFigures, entry_of
from ruler_builder.release.parquet import RowsDigest, read_rows, rows_of
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
from ruler_common.frozen import frozen_for, is_frozen
from ruler_common.manifest import FileEntry, Manifest, TokenizerEntry
from ruler_common.names import Config, check_name
from ruler_common.rows import COLUMNS, Row, arrow_schema
from ruler_common.work import release_memory


@dataclass(frozen=True)
class ReleaseToVerify:
    """A release that is verified, and the places of what it was made of.

    `mirror` is a folder of sources, `places` has the folders of unnamed tokenizers, and `given` the
    sources of languages that are none of the 26.
    """

    root: Path
    manifest: Manifest
    _: KW_ONLY
    mirror: str | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, SourceFile] = field(default_factory=dict)


def places(manifest: Manifest, specs: Iterable[str]) -> dict[str, str]:
    """Read `NAME=FOLDER` or `NAME=hf:ORG/NAME@REVISION` for tokenizers of a release."""
    found = {}
    for spec in specs:
        name, _, where = spec.partition("=")
        check_name("tokenizer", name, manifest["tokenizers"], "ruler verify --help")
        if not where:
            raise RulerError(f"'{spec}' does not say where '{name}' is: write {name}=FOLDER.")
        found[name] = where
    return found


class OtherTokenizer(RulerError):
    """A tokenizer that was found is not the one of the release."""


def reference(name: str, here: ReleaseToVerify) -> TokenCounter:
    """Return the counter of a release's tokenizer.

    Raises RulerError if it is missing or another.
    """
    about = here.manifest["tokenizers"][name]
    folder = about["spec"].partition("=")[2]
    if name in here.places:  # the user says where it is now
        counter = counter_in(name, here.places[name])
    elif folder and not folder.startswith("hf:") and not Path(folder).is_dir():
        raise RulerError(
            f"Tokenizer '{name}' was the folder '{folder}' of the release's builder, and is not "
            f"here: say where it is: ruler verify {here.root} --tokenizer {name}=FOLDER"
        )
    else:
        counter = load_counter(about["spec"], Store(here.mirror))
    key: Literal["sha256", "backend_sha256"] = "sha256" if "sha256" in about else "backend_sha256"
    # The backend's digest is of what its library writes, and another version may write otherwise:
    # it decides only if no file's digest is known, since verify counts every row again.
    if counter.about.get(key) != about.get(key):
        raise OtherTokenizer(
            f"Tokenizer '{name}' differs from the release's: {key} is {counter.about.get(key)}, "
            f"the manifest says {about.get(key)}."
        )
    return counter


def absent(here: ReleaseToVerify) -> list[str]:
    """Return the named tokenizers of a release whose files are not found and were not given."""
    store = Store(here.mirror)
    return [
        name
        for name in here.manifest["tokenizers"]
        if name in named() and name not in here.places
        if any(store.local(file) is None for file in pinned_files(name))
    ]


_KEPT = 10  # problems of a file


class Problem(NamedTuple):
    """What is wrong with a row, by its index, or with a WHOLE_FILE."""

    row: int
    what: str


@dataclass
class FileReport:
    """What verification found in one file: its rows, its first problems and their number."""

    config: str
    _: KW_ONLY
    rows: int = 0
    problems: list[Problem] = field(default_factory=list)
    count: int = 0

    def add(self, what: str, row: int = WHOLE_FILE) -> None:
        """Record a problem."""
        self.count += 1
        if len(self.problems) < _KEPT:
            self.problems.append(Problem(row, what))


log = logging.getLogger(__name__)
_SHOWN = 40  # characters of a text that differs


@dataclass
class CheckedFile:
    """What the check of a file found."""

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
    """What one pass over the rows of a file found."""

    rows: int = 0
    rows_sha256: str = ""
    lengths: list[int] = field(default_factory=list)
    # The first row that is not as built again, and how it differs.
    difference: tuple[int, str] | None = None
    # Whether the rows were counted by the second engine.
    second_engine: bool = False


class FileChecker:
    """A worker that checks files; it keeps the tokenizer that it used last."""

    def __init__(self, here: ReleaseToVerify, audit: bool) -> None:
        self.here, self.root, self.manifest, self.audit = here, here.root, here.manifest, audit
        self.frozen = frozen_for(self.manifest)
        self.absent = absent(here)
        self._counter: TokenCounter | None = None
        self.store = Store(here.mirror)
        self.choice = choice_in(self.manifest["sources"], here.given)
        self.sources = Sources(self.store, self.choice)
        self.builder = FileBuilder(
            suite_in(self.manifest), here.mirror, self.choice, self.root, self._load
        )

    def _load(self, name: str, store: Store) -> TokenCounter:
        if self._counter is None or self._counter.name != name:
            self._counter = reference(name, self.here)
        return self._counter

    def check(self, path: str) -> CheckedFile:
        """Check a file."""
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

    def _check(self, source: pa.MemoryMappedFile, entry: FileEntry, found: CheckedFile) -> None:
        report = found.report
        data = source.read_buffer()
        sha256 = hashlib.sha256(data).hexdigest()
        if sha256 != entry["sha256"]:
            report.add(f"sha256 is {sha256}, the manifest says {entry['sha256']}")
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            if not file.schema_arrow.equals(arrow_schema()):
                report.add(f"the columns are not {', '.join(COLUMNS)} of the right types")
                return
            audit = self._audit(entry, found)
            claims_frozen = self.frozen is not None and is_frozen(
                self.manifest, self.frozen, entry, entry["rows_sha256"]
            )
            reading = _Reading()
            if claims_frozen:
                for row in _read(file, reading):
                    if audit:
                        audit.add(row)
                if reading.rows_sha256 == entry["rows_sha256"]:
                    found.proved_by = "frozen"
                elif audit:
                    audit.clear()
            if not found.proved_by:
                reading = self._rebuild(file, entry, found, audit)
        report.rows = reading.rows
        if reading.rows_sha256 != entry["rows_sha256"]:
            report.add(
                "rows_sha256 in the manifest is not that of the rows"
                + (", which are not the frozen ones" if claims_frozen else "")
            )
        for index, what in audit.finish() if audit else ():
            report.add(what, index)
        found.asked = audit.asked if audit else {}
        if found.entry is None:
            found.entry = self._entry_of_rows(entry, reading)
        found.entry |= {"bytes": data.size, "sha256": sha256, "rows_sha256": reading.rows_sha256}

    def _job(self, config: Config, rows: int) -> FileJob:
        seed, reserve = self.manifest["seed"], self.manifest["reserve"]
        return FileJob(config, config.tokenizer, rows, seed, reserve)

    def audit_file(self, path: str) -> CheckedFile:
        """Audit a file and compare nothing: its rows may be new ones, which no lock lists yet."""
        entry = self.manifest["files"][path]
        found = CheckedFile(path, FileReport(entry["config"]))
        audit = self._audit(entry, found)
        if audit is None:
            raise RulerError(f"'{path}' cannot be audited: {found.not_checked}.")
        for row in read_rows(self.root / path):
            audit.add(row)
        for index, what in audit.finish():
            found.report.add(what, index)
        found.asked = audit.asked
        return found

    def _audit(self, entry: FileEntry, found: CheckedFile) -> FileAudit | None:
        """Return what audits the rows of a file; None if none is asked for or possible here."""
        if not self.audit:
            return None
        if why := self._missing_tokenizer(entry):
            found.not_checked = why
            return None
        try:
            counter = self._load(entry["tokenizer"], self.store)
        except RulerError as error:
            found.not_checked = str(error)
            return None
        return FileAudit(self.manifest, entry, counter.count)

    def _missing_tokenizer(self, entry: FileEntry) -> str:
        name = entry["tokenizer"]
        if name in self.absent:
            return f"of {name}, its file is not here: ruler sources fetch {name}"
        return ""

    def _missing(self, entry: FileEntry) -> str:
        """Say what is missing to build a file again, with the command that gets it; "" if none."""
        if self.manifest["data_version"] != DATA_VERSION:
            return (
                f"rows of data version {self.manifest['data_version']}, this builder makes "
                f"{DATA_VERSION}: install a version that makes them"
            )
        if why := self._missing_tokenizer(entry):
            return why
        missing, given = [], False
        for name in sources_of(self.manifest, Config.of(self.manifest["dataset"], entry)):
            try:
                here = self.sources.file(name).is_here(self.store)
            except RulerError:  # of a language whose folder was not given
                here, given = False, True
            if not here:
                missing.append(name)
        if not missing:
            return ""
        fetch = f"ruler sources fetch {' '.join(missing)}"
        remedy = "give --language-folder FOLDER" if given else fetch
        return f"made of {', '.join(missing)}, not here: {remedy}"

    def _rebuild(
        self,
        file: pq.ParquetFile,
        entry: FileEntry,
        found: CheckedFile,
        audit: FileAudit | None,
    ) -> _Reading:
        """Read a file and compare its rows with the same rows built again.

        If they differ under the second engine, they are compared again without it.
        """
        job = self._job(Config.of(self.manifest["dataset"], entry), entry["rows"])
        found.not_checked = self._missing(entry)
        try:
            reading = self._compare(file, job, found, audit)
            if reading.difference and reading.second_engine:
                reading = self._compare(file, job._replace(fast=False), found, audit)
        finally:
            self.builder.forget(job)
        if reading.difference:
            place, what = reading.difference
            found.report.add(what, place)
        elif found.entry:
            found.proved_by = "rebuilt"
        return reading

    def _compare(
        self,
        file: pq.ParquetFile,
        job: FileJob,
        found: CheckedFile,
        audit: FileAudit | None,
    ) -> _Reading:
        """Read a file and build each row again, until one differs or cannot be built here."""
        reading, figures = _Reading(), []
        if audit:
            audit.clear()
        for place, row in enumerate(_read(file, reading)):
            if audit:
                audit.add(row)
            if reading.difference or found.not_checked:
                continue
            try:
                task = self.builder.task(job)
                reading.second_engine = isinstance(task.counter, WatchedCounter)
                if place >= (rows := min(job.rows, task.limit() or job.rows)):
                    what = f"the row does not belong there: a build makes {rows} rows"
                    reading.difference = place, what
                    continue
                rebuilt = self.builder.row(job, place)
                figures.append(
                    RowFigures(rebuilt.length, rebuilt.next_unit_tokens, rebuilt.repeats)
                )
                if what := _difference(row, rebuilt):
                    reading.difference = place, what
            except EngineMismatch as error:
                log.warning("%s", error)
                reading.difference = place, str(error)
            except OtherTokenizer as error:
                reading.difference = place, str(error)
            except Impossible as error:
                reading.difference = place, f"it cannot be built: {error}"
            except RulerError as error:
                found.not_checked = str(error)
            except Exception as error:  # parameters that no suite would have
                why = f"{type(error).__name__}: {str(error)[:80]}"
                reading.difference = place, f"it cannot be built ({why})"
        if found.not_checked or reading.difference:
            return reading
        if reading.rows < job.rows:
            reading.difference = reading.rows, f"the row is missing: there are {reading.rows} rows"
            return reading
        task = self.builder.task(job)
        found.entry = entry_of(job, task, figures, reading.rows_sha256, 0, "")
        found.tokenizer = task.counter.about
        return reading

    def _entry_of_rows(self, entry: FileEntry, reading: _Reading) -> FileEntry:
        """Return the manifest's entry with the figures that the rows alone decide.

        How full a row could have been and how often a text began again only a rebuild knows.
        """
        known = {name: value for name, value in entry.items() if name in FileEntry.__annotations__}
        lengths = reading.lengths
        if lengths:
            mean = sum(lengths) / len(lengths)
            window = entry["max_length"] - self.manifest["reserve"]
            known["tokens"] = {"min": min(lengths), "mean": mean, "max": max(lengths)}
            known["fill"] = mean / window if entry["max_length"] else 0.0
        return cast(FileEntry, {**known, "rows": reading.rows})


def _read(file: pq.ParquetFile, reading: _Reading) -> Iterator[Row]:
    """Yield the rows of a file, a row group at a time, and note what they add up to."""
    digest = RowsDigest()
    for group in range(file.num_row_groups):
        for row in rows_of(file.read_row_group(group)):
            digest.add(row)
            reading.rows += 1
            if row["length"] is not None:
                reading.lengths.append(row["length"])
            yield row
    reading.rows_sha256 = digest.hexdigest()


def _difference(stored: Row, rebuilt: NewRow) -> str:
    """Say in which column a stored row first differs from the one built again; "" if in none."""
    right = rebuilt.columns()
    right["evidence"] = [
        {**span, "depth": float(np.float32(span["depth"]))}  # as a file keeps it
        for span in right["evidence"]
    ]
    for column in COLUMNS:
        found = cast(Mapping[str, Any], stored)[column]
        if found != right[column]:
            return f"{column} {text_difference(found, right[column])}"
    return ""


def text_difference(found: object, right: object) -> str:
    """Say how a value differs from the right one; of texts, from which character on."""
    if not isinstance(found, str) or not isinstance(right, str):
        return f"is {short(found)}, should be {short(right)}"
    at = common_length(found, right)
    shown, expected = (short(text[at:]) if text[at:] else "its end" for text in (found, right))
    return f"differs at character {at}: {shown}, should be {expected}"


def short(value: object) -> str:
    """Return a value as JSON, shortened if it is long."""
    text = json.dumps(value[:_SHOWN] if isinstance(value, str) else value, ensure_ascii=False)
    return text if len(text) <= 2 * _SHOWN else f"{text[: 2 * _SHOWN]} …"


def common_length(text: str, other: str) -> int:
    """Return the number of characters with which both texts begin."""
    for place, (char, other_char) in enumerate(zip(text, other, strict=False)):
        if char != other_char:
            return place
    return min(len(text), len(other))
