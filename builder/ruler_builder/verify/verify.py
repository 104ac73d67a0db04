"""Verify a release: its files match the manifest, and rebuilding gives the same rows.

report = verify(VerifyOptions("ruler", workers=2))
report.ok, report.proved, report.files["data/tekken/4k/vt.parquet"].problems

There are three steps: check the digests of every file; compare its rows with the lock of their data
version or with rebuilt rows (file_check.py); rebuild the manifest, the card, eval.yaml and
croissant.json and compare them. What cannot be rebuilt on this machine is listed with the command
that downloads what is missing. With `audit`, every row is also checked by separate code
(audit.py), which uses nothing that makes rows.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import yaml  # type: ignore[import-untyped]

from ruler_builder.options import VerifyOptions
from ruler_builder.release.card import DISTRIBUTION, collect_facts
from ruler_builder.release.card_files import (
    CARD,
    CROISSANT,
    EVAL_YAML,
    card_files,
    described_repository,
)
from ruler_builder.release.executor import processes_for, worker_pool
from ruler_builder.release.folder import BUILD_FOLDER, is_unfinished
from ruler_builder.release.manifest import new_settings, with_files
from ruler_builder.tasks.base import DATA_VERSION
from ruler_builder.tasks.registry import sources_of, suite_in
from ruler_builder.text import corpora
from ruler_builder.text.languages import read_language
from ruler_builder.text.sources import (
    Sources,
    entry_of,
    language_sources,
    registry,
)
from ruler_builder.tokens.tokenizers import known_digests, named
from ruler_builder.verify.audit import WHOLE_FILE, check_paired
from ruler_builder.verify.file_check import (
    FileChecker,
    FileReport,
    common_length,
    short,
)
from ruler_common.errors import RulerError
from ruler_common.files import read_text
from ruler_common.frozen import read_frozen, unexplained
from ruler_common.languages import custom_languages
from ruler_common.manifest import (
    MANIFEST,
    FileEntry,
    LanguageEntry,
    Manifest,
    SourceEntry,
    TokenizerEntry,
    read_manifest,
)
from ruler_common.names import Config
from ruler_common.text import files_bar, printable


@dataclass
class VerifyReport:
    """The result of verifying a release."""

    manifest: Manifest | None  # None if a stopped build has not written it
    files: dict[str, FileReport]
    unfinished: bool  # the release is still being built
    # Sentences for the user about what was not compared
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether the release is complete and no file has a problem."""
        return not self.unfinished and not any(file.count for file in self.files.values())

    @property
    def proved(self) -> bool:
        """Whether every row is proved, by the lock or by rebuilding it."""
        return self.ok and not self.not_rebuilt

    @property
    def not_rebuilt(self) -> dict[str, list[str]]:
        """Why files could not be checked fully on this machine, with their paths."""
        reasons: dict[str, list[str]] = {}
        for path, file in self.files.items():
            if file.not_checked:
                reasons.setdefault(file.not_checked, []).append(path)
        return reasons

    @property
    def sentence(self) -> str:
        """A sentence that says how many files were checked in which way."""
        frozen = rebuilt = not_checked = 0
        for file in self.files.values():
            if file.proved_by == "frozen":
                frozen += 1
            elif file.proved_by == "rebuilt":
                rebuilt += 1
            if file.not_checked:
                not_checked += 1
        parts = []
        if frozen:
            parts.append(f"{frozen} with frozen rows")
        if rebuilt:
            parts.append(f"{rebuilt} rebuilt and equal")
        if not_checked:
            parts.append(f"{not_checked} not checked fully")
        return f"Files: {', '.join(parts) or 'none'}."

    def add(self, name: str, what: str, row: int = WHOLE_FILE) -> None:
        """Record a problem of a file, which may be one that the manifest does not list."""
        self.files.setdefault(name, FileReport(name, name)).add(what, row)


def verify(options: VerifyOptions) -> VerifyReport:
    """Verify a whole release.

    Raises RulerError if there is no release, its manifest is damaged, or a given tokenizer differs.
    """
    root = Path(options.root)
    unfinished = is_unfinished(root)
    if unfinished and not (root / MANIFEST).exists():
        return VerifyReport(None, {}, unfinished)
    manifest = read_manifest(root)
    checker = FileChecker(root, manifest, options)
    for name in checker.tokenizer_folders:  # raises if a tokenizer is missing or differs
        checker.load_tokenizer(name, checker.store)
    report = _check_files(FileChecker.check, root, manifest, options)
    lock = read_frozen(manifest["data_version"])
    for path in unexplained(manifest, lock) if lock else ():
        report.add(
            path,
            f"not the rows of data version {manifest['data_version']}, though sources, seed, "
            "reserve and suite are the same",
        )
    for field_path, what in manifest_differences(manifest, report.files, checker.sources):
        if field_path[0] == "files" and len(field_path) > 2 and field_path[1] in manifest["files"]:
            report.add(field_path[1], f"in the manifest, {'.'.join(field_path[2:])} {what}")
        else:
            report.add(MANIFEST, f"{'.'.join(field_path)} {what}")
    if not unfinished:
        if manifest["files"]:
            _check_card(root, manifest, report)
        _check_folder(root, manifest, report)
    return report


def audit_release(root: Path) -> VerifyReport:
    """Audit every row of a release, without rebuilding any or comparing digests."""
    options = VerifyOptions(root, audit=True)
    return _check_files(FileChecker.audit_file, root, read_manifest(root), options)


def _check_files(
    check: Callable[[FileChecker, str], FileReport],
    root: Path,
    manifest: Manifest,
    options: VerifyOptions,
) -> VerifyReport:
    """Check each file in a worker process, those of a tokenizer together, the longest rows first.

    An audit also reports each row that asks something else in another file of the same task.
    """
    entries, tokenizers = manifest["files"], list(manifest["tokenizers"])
    tokens = {path: e["rows"] * e["max_length"] for path, e in entries.items()}
    workers = options.workers or processes_for(sum(tokens.values()))

    def order(path: str) -> tuple[int, int]:
        return tokenizers.index(entries[path]["tokenizer"]), -entries[path]["max_length"]

    reports: dict[str, FileReport] = {}
    with (
        files_bar("Verifying", options.progress) as bar,
        worker_pool(workers, FileChecker, (root, manifest, options)) as run,
    ):
        bar.planned(len(tokens), sum(tokens.values()))
        for file in run(check, sorted(entries, key=order)):
            reports[file.path] = file
            bar.finished(tokens[file.path])
    files = {path: reports[path] for path in entries}
    report = VerifyReport(manifest, files, is_unfinished(root))
    if options.audit:
        asked: dict[tuple[str, ...], dict[str, dict[int, str]]] = defaultdict(dict)
        for path, entry in entries.items():
            task = entry["task"], entry["language"], entry["instruction_language"]
            asked[task][path] = reports[path].asked
        for path, what, index in check_paired(asked):
            report.add(path, what, index)
    return report


MAY_DIFFER = (
    "builder_version",
    "tokenizers.*.version",
    "tokenizers.*.backend_version",
    "files.*.counted_by",  # which engine counted; the numbers are the same with either
)
"""The fields of a manifest that may differ from a rebuilt one. `*` is any name."""
MAY_DIFFER_IF_GIVEN = ("spec", "title", "commit", "backend_sha256")
"""Fields of a custom tokenizer that may also differ: the digests of its files identify it."""


def manifest_differences(
    manifest: Manifest, reports: Mapping[str, FileReport], sources: Sources
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the fields in which the manifest differs from the one that a build writes, and how."""
    files = {path: reports[path].entry or entry for path, entry in manifest["files"].items()}
    if manifest["data_version"] == DATA_VERSION:
        rebuilt = rebuilt_manifest(manifest, files, reports, sources)
    else:  # this builder makes another data version, so only the files are compared
        rebuilt = cast(Manifest, {**manifest, "files": files})
    stored, expected = json.loads(json.dumps(manifest)), json.loads(json.dumps(rebuilt))
    for field_path, what in differences(stored, expected):
        if not _may_differ(manifest, field_path):
            yield field_path, what


def rebuilt_manifest(
    manifest: Manifest,
    files: Mapping[str, FileEntry],
    reports: Mapping[str, FileReport],
    sources: Sources,
) -> Manifest:
    """Return the manifest that a build of these files writes.

    The wording of a language whose prompts are not on this machine is copied from the manifest.
    """
    longest = max((entry["max_length"] for entry in files.values()), default=0)
    if manifest["words"].keys() >= corpora.digests(extended=True).keys():
        longest = 1 << 20  # the release, or the one that this is a part of, has longer rows
    suite = suite_in(manifest)
    rebuilt = new_settings(suite, manifest["seed"], manifest["reserve"], longest)
    rebuilt["sources"] = _source_entries(manifest, sources)
    if manifest["dataset"] == "oneruler":
        rebuilt["languages"] = _language_entries(manifest, sources)
    rebuilt["tokenizers"] = _tokenizer_entries(manifest, reports)
    return with_files(rebuilt, files)


def _source_entries(manifest: Manifest, sources: Sources) -> dict[str, SourceEntry]:
    """Return the manifest entries of the sources that the files were built from."""
    entries: dict[str, SourceEntry] = {}
    for entry in manifest["files"].values():
        for name in sources_of(manifest, Config.from_entry(manifest["dataset"], entry)):
            try:
                entries[name] = entry_of(sources.file(name))
            except RulerError:  # of a language whose folder was not given
                if name in registry():
                    entries[name] = entry_of(registry()[name].canonical)
                elif name in manifest["sources"]:
                    entries[name] = manifest["sources"][name]
    return entries


def _language_entries(manifest: Manifest, sources: Sources) -> dict[str, LanguageEntry]:
    """Return the wording of the languages, from their prompts if they are on this machine."""
    entries: dict[str, LanguageEntry] = {}
    custom = custom_languages(manifest)
    codes: set[str] = set()
    for file in manifest["files"].values():
        codes |= {file["language"], file["instruction_language"]}
    for code in sorted(codes):
        try:
            names = language_sources(code, custom=code in custom).prompts
            if all(map(sources.has, names)):
                entries[code] = read_language(code, sources).entry
        except RulerError:  # its folder was not given, or a file of it is damaged
            pass
        if code not in entries and code in manifest["languages"]:
            entries[code] = manifest["languages"][code]
    return entries


def _tokenizer_entries(
    manifest: Manifest, reports: Mapping[str, FileReport]
) -> dict[str, TokenizerEntry]:
    """Return the manifest entries of the tokenizers, as loaded here or as the manifest has them."""
    entries: dict[str, TokenizerEntry] = {}
    for path, file in manifest["files"].items():
        name = file["tokenizer"]
        loaded = reports[path].tokenizer
        if name in entries and loaded is None:
            continue
        recorded: Mapping[str, Any] = loaded or manifest["tokenizers"][name]
        entry = {key: recorded[key] for key in TokenizerEntry.__annotations__ if key in recorded}
        if described := named().get(name):
            entry |= {"spec": name, "title": described["title"], "library": described["library"]}
            entry["sha256"] = known_digests(name)
        entries[name] = cast(TokenizerEntry, entry)
    return entries


def differences(
    stored: object, expected: object, field_path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the fields, as paths of names, in which two JSON values differ, and how."""
    if isinstance(stored, Mapping) and isinstance(expected, Mapping):
        for name in {**expected, **stored}:
            if name not in expected:
                yield (*field_path, name), "does not belong there"
            elif name not in stored:
                yield (*field_path, name), "is missing"
            else:
                yield from differences(stored[name], expected[name], (*field_path, name))
    elif type(stored) is not type(expected) or stored != expected:
        yield field_path, f"is {short(stored)}, should be {short(expected)}"


def _may_differ(manifest: Manifest, field_path: tuple[str, ...]) -> bool:
    """Return whether a field may differ from that of a rebuilt manifest."""
    if len(field_path) == 3 and field_path[0] in ("tokenizers", "files"):
        kind, name, key = field_path
        if kind == "tokenizers" and name not in named() and key in MAY_DIFFER_IF_GIVEN:
            return name in manifest["tokenizers"]
        return f"{kind}.*.{key}" in MAY_DIFFER
    return ".".join(field_path) in MAY_DIFFER


_DATA = "data"
_OF_THE_RELEASE = {_DATA, CARD, MANIFEST, EVAL_YAML, CROISSANT, BUILD_FOLDER, ".fetch"}
_OF_THE_HUB = {".gitattributes", ".cache"}
# At the top these change how `datasets` loads the folder, whatever the card says.
_LOADED_SUFFIXES = {".py", ".csv", ".tsv", ".jsonl", ".parquet", ".arrow"}
_LOADED_NAMES = {".huggingface.yaml", "dataset_infos.json", "dataset_info.json", "state.json"}
_MAX_LISTED = 20  # files that a note names
_REMEDY = "run the same `ruler build` again"


def _check_folder(root: Path, manifest: Manifest, report: VerifyReport) -> None:
    """Report the files that should not be in the folder, and note those that are not checked.

    Below data/ there must be no file that the manifest does not list, and at the top none that
    `datasets` would read.
    """
    for folder, _, names in os.walk(root / _DATA):
        for name in sorted(names):
            path = (Path(folder) / name).relative_to(root).as_posix()
            if path not in manifest["files"] and not _is_ignored(name):
                report.add(path, "the file is not in the manifest: move it out of the folder")
    not_checked = []
    for entry in sorted(root.iterdir()):
        if entry.name in _OF_THE_RELEASE or _is_ignored(entry.name):
            continue
        if entry.suffix.lower() in _LOADED_SUFFIXES or entry.name in _LOADED_NAMES:
            report.add(entry.name, "it changes how `datasets` loads the folder: move it out")
        elif entry.name not in _OF_THE_HUB:
            not_checked.append(printable(f"{entry.name}/" if entry.is_dir() else entry.name))
    if not_checked:
        listed = ", ".join(not_checked[:_MAX_LISTED])
        more = ", …" if len(not_checked) > _MAX_LISTED else ""
        report.notes.append(f"Not part of the release, and not checked: {listed}{more}.")


def _is_ignored(name: str) -> bool:
    """Return whether macOS writes a file of this name into folders."""
    return name == ".DS_Store" or name.startswith("._")


def _check_card(root: Path, manifest: Manifest, report: VerifyReport) -> None:
    """Report what is wrong with README.md, eval.yaml and croissant.json.

    They are rendered from the manifest and compared, ignoring line ends. eval.yaml may be missing.
    croissant.json may describe the folder or a repository of the Hub. If another version of the
    builder wrote the card, only the configurations in its metadata are compared.
    """
    facts = collect_facts(manifest, root)
    installed, written_by = version(DISTRIBUTION), manifest["builder_version"]
    if installed != written_by:
        report.notes.append(
            f"The card was written by {DISTRIBUTION} {written_by}, this is {installed}: only the "
            f"configurations in {CARD} are compared. `ruler build` writes the card again."
        )
    elif facts.row is None:
        report.notes.append(f"{CARD} cannot be compared: the row that it shows cannot be read.")
        return
    try:
        benchmark, repo = (root / EVAL_YAML).exists(), described_repository(root)
        rendered = card_files(facts, benchmark, repo)
    except RulerError as error:
        report.add(CARD, str(error))
        return
    for name, text in rendered.items():
        if not (root / name).is_file():
            report.add(name, f"the file is missing: {_REMEDY}")
            continue
        try:
            stored = read_text(root / name).replace("\r\n", "\n")
        except RulerError as error:
            report.add(name, str(error))
            continue
        if installed != written_by:
            if name == CARD and _configs(stored) != _configs(text):
                report.add(name, f"its configurations are not those of the manifest: {_REMEDY}")
        elif stored != text:
            report.add(name, f"{_first_difference(stored, text)}: {_REMEDY}")


def _configs(card: str) -> Any:
    """Return the configurations in a card's metadata; None if they cannot be read."""
    match = re.match(r"---\n(.*?\n)---\n", card, re.DOTALL)
    try:
        return yaml.safe_load(match[1])["configs"] if match else None
    except (yaml.YAMLError, LookupError, TypeError):
        return None


def _first_difference(stored: str, expected: str) -> str:
    """Describe the first line in which a text differs from the expected one."""
    lines, expected_lines = stored.split("\n"), expected.split("\n")
    for number, (line, expected_line) in enumerate(zip(lines, expected_lines, strict=False), 1):
        if line != expected_line:
            column = common_length(line, expected_line)
            excerpt, expected_excerpt = line[column:][:40], expected_line[column:][:40]
            return (
                f"line {number} differs from the manifest's at character {column}: "
                f"{excerpt!r}, should be {expected_excerpt!r}"
            )
    return f"it has {len(lines)} lines, should have {len(expected_lines)}"
