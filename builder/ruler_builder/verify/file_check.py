"""Check one file of a release: its digests, and its rows against the file built again.

    checker = FileChecker(root, manifest, VerifyOptions(root), scratch)
    report = checker.check("data/tekken/4k/vt.parquet")
    report.problems        # [Problem(3, 'input differs at character 17: …')]

If the lock of the data version lists the configuration, the digest of its rows proves them. Any
other file, and every file with `--rebuild`, is built again from the manifest by the worker of
`ruler build` into a temporary folder, and the rows of the two files are compared.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import pyarrow as pa
import pyarrow.parquet as pq

from ruler_builder.options import VerifyOptions
from ruler_builder.pinned import Store
from ruler_builder.release.folder import digest_row, rows_in
from ruler_builder.release.worker import FileBuilder, FileJob
from ruler_builder.tasks.base import DATA_VERSION
from ruler_builder.tasks.registry import read_params, sources_of, suite_in
from ruler_builder.text.corpora import NOISE
from ruler_builder.text.language_folders import language_folders
from ruler_builder.text.sources import Sources, choice_from_manifest
from ruler_builder.tokens.counting import TokenCounter, with_gigatoken
from ruler_builder.tokens.tokenizers import load_counter, load_counter_from, named, pinned_files
from ruler_builder.verify.audits.families import AUDITS
from ruler_builder.verify.audits.file import WHOLE_FILE, FileAudit
from ruler_builder.verify.audits.shared import AuditInputs
from ruler_builder.window.prompt import Impossible
from ruler_common.errors import RulerError
from ruler_common.files import UNREADABLE, open_parquet, release_memory
from ruler_common.frozen import custom_files, read_frozen
from ruler_common.hub import is_gguf
from ruler_common.manifest import FileEntry, Manifest
from ruler_common.names import Config, check_name
from ruler_common.options import paths, several
from ruler_common.rows import COLUMN_TYPES, Row, arrow_schema
from ruler_common.text import command_line

log = logging.getLogger(__name__)

_MAX_PROBLEMS = 10  # listed for a file
_REMEDY = "run the same `ruler build` or `ruler fetch` again"
_EXCERPT = 40  # characters that a problem quotes of a text


class Problem(NamedTuple):
    """What is wrong with a row, by its index, or with the file as a whole (WHOLE_FILE)."""

    row: int
    what: str


@dataclass(kw_only=True)
class FileReport:
    """The result of checking a file: its first problems, and what the manifest should say of it."""

    path: str = field(kw_only=False)
    config: str = field(kw_only=False)
    rows: int = 0
    problems: list[Problem] = field(default_factory=list)
    # The number of problems; the first ones are listed
    count: int = 0
    # What proves the rows: "frozen", "rebuilt" or "" for nothing
    proved_by: str = ""
    # Why the rows could not be built again or audited here; "" if they could
    not_checked: str = ""
    # The manifest's entry as a build writes it; None if the file cannot be read
    entry: FileEntry | None = None
    # The manifest of the file that was built again, if its rows are the same
    rebuilt: Manifest | None = None
    # What each row asks, as a digest, by index; only of an audit
    question_digests: dict[int, str] = field(default_factory=dict)

    def add(self, what: str, row: int = WHOLE_FILE) -> None:
        """Record a problem."""
        self.count += 1
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(Problem(row, what))


class TokenizerDiffers(RulerError):
    """The tokenizer on this machine is not the one that the release was built with."""


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


class _CannotRebuild(Exception):
    """A file cannot be written into the temporary folder; the cause is the system's error."""


class _RowsRead(NamedTuple):
    """The result of reading the rows of a file once."""

    lengths: list[int | None]
    # "" if a column is missing in a row
    rows_sha256: str
    # The first row that differs from the rebuilt one, if rows were rebuilt
    difference: Problem | None


class FileChecker:
    """Checks files in a worker process; keeps the tokenizer that it used last loaded.

    Files are built again in the folder `scratch`, and removed once they are compared.
    """

    def __init__(
        self, root: Path, manifest: Manifest, options: VerifyOptions, scratch: Path
    ) -> None:
        self.root, self.manifest, self.scratch = root, manifest, scratch
        self.audit, self.rebuild = options.audit, options.rebuild
        self.tokenizer_folders = parse_tokenizer_folders(manifest, several(options.tokenizers))
        mirror = str(Path(options.mirror).resolve()) if options.mirror else None
        self.store = Store(mirror)
        custom_sources = language_folders(paths(options.language_folders))
        self.sources = Sources(
            self.store, choice_from_manifest(manifest["sources"], custom_sources)
        )
        lock = read_frozen(manifest["data_version"])
        # Files whose rows the manifest says are frozen
        self.claimed_frozen = (
            manifest["files"].keys() - custom_files(manifest, lock) if lock else ()
        )
        self._counter: TokenCounter | None = None
        self._builder = FileBuilder(
            suite_in(manifest),
            scratch,
            manifest["seed"],
            manifest["reserve"],
            mirror,
            self.sources.choice,
            self.load_tokenizer,
        )

    def load_tokenizer(self, name: str, store: Store) -> TokenCounter:
        """Load a tokenizer of the release. Raises RulerError if it is missing or differs."""
        if self._counter is not None and self._counter.name == name:
            return self._counter
        recorded = self.manifest["tokenizers"][name]
        folder = recorded["spec"].partition("=")[2]
        if name in self.tokenizer_folders:
            counter = load_counter_from(name, self.tokenizer_folders[name])
        elif folder and not folder.startswith("hf:") and not Path(folder).exists():
            kind = "file" if is_gguf(folder) else "folder"
            raise RulerError(
                f"Tokenizer '{name}' was in the {kind} '{folder}', which is not on this machine. "
                f"Say where it is: ruler verify {self.root} --tokenizer {name}={kind.upper()}"
            )
        else:
            counter = load_counter(recorded["spec"], store)
        # Files may change without the tokenizer: those of a model have its chat template too, and a
        # GGUF file has no digest. Then the ids are compared. The digest of the backend depends on
        # the version of its library, so it is compared only if there is nothing else.
        key: Literal["sha256", "ids_sha256", "backend_sha256"] = "backend_sha256"
        if "sha256" in recorded and "sha256" in counter.about:
            key = "sha256"
        if "ids_sha256" in recorded and counter.about.get(key) != recorded.get(key):
            key = "ids_sha256"
        if counter.about.get(key) != recorded.get(key):
            remedy = ""
            if name not in named():
                remedy = (
                    " Say where the release's is: "
                    f"{command_line('ruler', 'verify', self.root)} --tokenizer {name}=FOLDER"
                )
            raise TokenizerDiffers(
                f"Tokenizer '{name}' differs from the release's: {key} is "
                f"{counter.about.get(key)}, the manifest says {recorded.get(key)}.{remedy}"
            )
        self._counter = counter
        return counter

    def check(self, path: str) -> FileReport:
        """Check the digests and the rows of a file, and audit its rows if that is asked for."""
        entry = self.manifest["files"][path]
        report = FileReport(path, entry["config"])
        file = self.root / path
        if not file.is_file():
            report.add(f"the manifest lists the file, but it is missing: {_REMEDY}")
            return report
        try:
            with pa.memory_map(str(file)) as source:
                self._check_data(source.read_buffer(), entry, report)
        except _CannotRebuild as error:  # the disk of the temporary folder is full
            raise error.__cause__ or error from None
        except UNREADABLE as error:
            why = str(error).partition("\n")[0]
            report.add(f"the file cannot be read: {why}")
        finally:
            release_memory()
        return report

    def audit_file(self, path: str) -> FileReport:
        """Audit the rows of a file without rebuilding them; used before new rows are frozen."""
        entry = self.manifest["files"][path]
        report = FileReport(path, entry["config"])
        audit = self._audit_of(entry, report)
        if audit is None:
            raise RulerError(f"'{path}' cannot be audited: {report.not_checked}.")
        with open_parquet(self.root / path) as file:
            _read(file, audit)
        _add_audit(report, audit)
        return report

    def _check_data(self, data: pa.Buffer, entry: FileEntry, report: FileReport) -> None:
        """Check the bytes of a file."""
        sha256 = hashlib.sha256(data).hexdigest()
        if sha256 != entry["sha256"]:
            report.add(f"sha256 is {sha256}, the manifest says {entry['sha256']}: {_REMEDY}")
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            if not file.schema_arrow.equals(arrow_schema()):
                report.add(f"the columns are not {', '.join(COLUMN_TYPES)} of the right types")
                return
            audit = self._audit_of(entry, report) if self.audit else None
            claims_frozen = report.path in self.claimed_frozen
            rows = _read(file, audit) if claims_frozen and not self.rebuild else None
            if rows and rows.rows_sha256 == entry["rows_sha256"]:
                report.proved_by = "frozen"
            else:
                rows = self._read_and_rebuild(file, entry, report, audit)
        report.rows = len(rows.lengths)
        if rows.rows_sha256 != entry["rows_sha256"]:
            report.add(
                "rows_sha256 in the manifest is not that of the rows"
                + (", which are not the frozen ones" if claims_frozen else "")
            )
        if audit:
            _add_audit(report, audit)
        if report.rebuilt:
            (report.entry,) = report.rebuilt["files"].values()
        else:
            report.entry = self._entry_of_rows(entry, rows)
        report.entry |= {"bytes": data.size, "sha256": sha256, "rows_sha256": rows.rows_sha256}

    def _read_and_rebuild(
        self, file: pq.ParquetFile, entry: FileEntry, report: FileReport, audit: FileAudit | None
    ) -> _RowsRead:
        """Read a file, and compare its rows with those of the file built again, if possible.

        Reports the first difference. If the fast token counter was used, a difference counts only
        if the file differs without it too.
        """
        report.not_checked = self._missing(entry)
        if report.not_checked:
            return _read(file, audit)
        config, count = Config.from_entry(self.manifest["dataset"], entry), file.metadata.num_rows
        for fast in (True, False):
            job = FileJob(config, config.tokenizer, max(1, min(entry["rows"], count)), fast)
            rebuilt = self._build_again(job, report)
            if rebuilt is None:
                return _read(file, audit)
            path = self.scratch / config.path
            with open_parquet(path) as other:
                if audit is None and _has_equal_rows(file, other):
                    lengths = file.read(["length"])["length"].to_pylist()
                    digest = rebuilt["files"][config.path]["rows_sha256"]
                    rows = _RowsRead(lengths, digest, None)
                else:
                    rows = _read(file, audit, rows_in(other))
            path.unlink()
            if not rows.difference or not self._builder.counts_fast:
                break
        if rows.difference:
            report.add(rows.difference.what, rows.difference.row)
        elif count < max(1, entry["rows"]):
            report.add(f"the row is missing: there are {count} rows", count)
        else:
            report.rebuilt = rebuilt
            report.proved_by = "rebuilt"
        return rows

    def _build_again(self, job: FileJob, report: FileReport) -> Manifest | None:
        """Build a file again as `ruler build` does. Return its manifest, or None.

        Without one, the report says what is wrong, or why the file cannot be built here.
        """
        try:
            checked = self._builder.check(job)
            if not checked.impossible:
                return self._builder.build(checked)
            report.add(f"it cannot be built: {checked.impossible}", 0)
        except Impossible as error:
            report.add(f"it cannot be built: {error}", 0)
        except RulerError as error:  # a source or a tokenizer is damaged
            if isinstance(error, TokenizerDiffers) and job.tokenizer in named():
                report.add(f"it cannot be built: {error}", 0)
            else:
                report.not_checked = str(error)
        except OSError as error:
            raise _CannotRebuild from error
        except Exception as error:  # e.g. impossible parameters in an edited manifest
            report.add(f"it cannot be built ({type(error).__name__}: {str(error)[:80]})", 0)
        return None

    def _audit_of(self, entry: FileEntry, report: FileReport) -> FileAudit | None:
        """Return the audit of a file; None if its tokenizer is missing."""
        report.not_checked = self._missing_tokenizer(entry["tokenizer"])
        if report.not_checked:
            return None
        try:
            counter = self.load_tokenizer(entry["tokenizer"], self.store)
        except RulerError as error:
            report.not_checked = str(error)
            return None
        described = self.manifest["tasks"][entry["task"]]
        inputs = AuditInputs(
            entry=entry,
            params=read_params(entry["task"], described),
            templates=self.manifest["families"][described["family"]],
            noise=NOISE,
            languages=self.manifest["languages"],
            canary=self.manifest["canary"],
            reserve=self.manifest["reserve"],
            count=counter.count,
            fast_count=with_gigatoken(counter).count,
        )
        return FileAudit(inputs, AUDITS[described["family"]])

    def _missing_tokenizer(self, name: str) -> str:
        """Say which tokenizer file is missing and how to get it; "" if none is."""
        if name in named() and name not in self.tokenizer_folders:
            for file in pinned_files(name):
                if self.store.local(file) is None:
                    return f"the file of {name} is missing: run ruler sources fetch {name}"
        return ""

    def _missing(self, entry: FileEntry) -> str:
        """Say what is missing for rebuilding a file and how to get it; "" if nothing is."""
        if self.manifest["data_version"] != DATA_VERSION:
            return (
                f"this version builds data version {DATA_VERSION}, not "
                f"{self.manifest['data_version']}: install one that does"
            )
        if why := self._missing_tokenizer(entry["tokenizer"]):
            return why
        missing, needs_folder = [], False
        for name in sources_of(self.manifest, Config.from_entry(self.manifest["dataset"], entry)):
            custom = self.sources.choice.custom.get(name)
            recorded = self.manifest["sources"].get(name)
            if custom and recorded and custom.file.sha256 != recorded["sha256"]:
                return (
                    f"'{custom.path}' is not the file that the release was made of: give the "
                    "--language-folder that it was built with"
                )
            try:
                available = self.sources.has(name)
            except RulerError:  # a custom language whose folder was not given
                available, needs_folder = False, True
            if not available:
                missing.append(name)
        if not missing:
            return ""
        remedy = f"run ruler sources fetch {' '.join(missing)}"
        if needs_folder:
            remedy = "give --language-folder FOLDER"
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: {remedy}"

    def _entry_of_rows(self, entry: FileEntry, rows: _RowsRead) -> FileEntry:
        """Return the manifest's entry with the figures that can be computed from the rows.

        Only a rebuild can tell how full a row could have been, and how often a text was repeated.
        """
        fields = {name: value for name, value in entry.items() if name in FileEntry.__annotations__}
        lengths = [length for length in rows.lengths if length is not None]
        if lengths:
            mean = sum(lengths) / len(lengths)
            window = entry["max_length"] - self.manifest["reserve"]
            fields["tokens"] = {"min": min(lengths), "mean": mean, "max": max(lengths)}
            fields["fill"] = mean / window if entry["max_length"] else 0.0
        return cast(FileEntry, {**fields, "rows": len(rows.lengths)})


def _add_audit(report: FileReport, audit: FileAudit) -> None:
    """Add what an audit says of the rows to the report of their file."""
    for index, what in audit.problems():
        report.add(what, index)
    report.question_digests = audit.question_digests


def _read(
    file: pq.ParquetFile, audit: FileAudit | None = None, rebuilt: Iterator[Row] | None = None
) -> _RowsRead:
    """Read the rows of a file once: digest them, audit them, and compare them with rebuilt ones.

    The comparison ends with the first row that differs.
    """
    digest, is_whole = hashlib.sha256(), True
    lengths: list[int | None] = []
    difference = None
    if audit:
        audit.clear()
    for index, row in enumerate(rows_in(file)):
        try:
            digest_row(digest, row)
        except (*UNREADABLE, AttributeError):  # a column is missing in this row
            is_whole = False
        lengths.append(row["length"])
        if audit:
            audit.add(row)
        if rebuilt and not difference:
            what = _difference(row, next(rebuilt, None))
            difference = Problem(index, what) if what else None
    return _RowsRead(lengths, digest.hexdigest() if is_whole else "", difference)


def _has_equal_rows(file: pq.ParquetFile, other: pq.ParquetFile) -> bool:
    """Return whether two files have equal rows in equal groups, without converting any row."""
    if file.num_row_groups != other.num_row_groups:
        return False
    for group in range(file.num_row_groups):
        if not file.read_row_group(group).equals(other.read_row_group(group)):
            return False
    return True


def _difference(stored: Row, rebuilt: Row | None) -> str:
    """Describe the first column in which a row differs from the rebuilt one; "" if none does."""
    if rebuilt is None:
        return "the row does not belong there: a build makes fewer rows"
    read: Mapping[str, Any] = stored
    expected: Mapping[str, Any] = rebuilt
    for column in COLUMN_TYPES:
        if read[column] != expected[column]:
            return f"{column} {describe_difference(read[column], expected[column])}"
    return ""


def describe_difference(value: object, expected: object) -> str:
    """Describe how a value differs from the expected one; for texts, from which character on."""
    if not isinstance(value, str) or not isinstance(expected, str):
        return f"is {short(value)}, should be {short(expected)}"
    start = common_length(value, expected)
    rest, expected_rest = value[start:], expected[start:]
    excerpt = short(rest) if rest else "its end"
    expected_excerpt = short(expected_rest) if expected_rest else "its end"
    return f"differs at character {start}: {excerpt}, should be {expected_excerpt}"


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
