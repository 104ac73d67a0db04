"""Verify a release: its files match the manifest, and rebuilding gives the same rows.

    report = verify(VerifyOptions("ruler", workers=2))
    report.ok, report.proved, report.files["data/tekken/4k/vt.parquet"].problems

There are three steps: check the digests of every file; compare its rows with the lock of their data
version, or build the file again and compare the two (file_check.py); compare the manifest, the
card, eval.yaml and croissant.json with those that a build writes. What cannot be rebuilt on this
machine is listed with the command that downloads what is missing. With `audit`, every row is also
checked by separate code (audits/), which uses nothing that makes rows.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, cast

from ruler_builder.options import VerifyOptions
from ruler_builder.release.card import card_files
from ruler_builder.release.croissant import described_repository
from ruler_builder.release.facts import CARD, CROISSANT, EVAL_YAML, collect_facts
from ruler_builder.release.folder import (
    BUILD_FOLDER,
    DATA,
    STAGING,
    is_of_system,
    is_unfinished,
    join_manifests,
    new_manifest,
    with_files,
)
from ruler_builder.release.worker import process_pool, processes_for
from ruler_builder.tasks.base import DATA_VERSION
from ruler_builder.tasks.registry import sources_of, suite_in
from ruler_builder.text import corpora
from ruler_builder.text.languages import read_language
from ruler_builder.text.sources import Sources, language_sources, registry, source_entry
from ruler_builder.tokens.tokenizers import known_digests, named
from ruler_builder.verify.audits.file import check_paired
from ruler_builder.verify.file_check import FileChecker, FileReport, common_length, short
from ruler_common.errors import DISTRIBUTION, RulerError
from ruler_common.files import parse_yaml, read_text
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
from ruler_common.text import printable, tokens_bar


@dataclass(frozen=True, kw_only=True)
class VerifyReport:
    """The result of verifying a release."""

    manifest: Manifest | None  # None if a stopped build has not written it
    files: dict[str, FileReport]
    unfinished: bool  # the release is still being built
    ok: bool  # the release is complete and no file has a problem
    proved: bool  # and every row is one of the frozen ones, or was rebuilt and is equal
    # Why files could not be checked fully on this machine, with their paths
    not_rebuilt: dict[str, list[str]]
    # How many files were checked in which way
    sentence: str
    # Sentences for the user about what was not compared
    notes: list[str]


def verify(options: VerifyOptions) -> VerifyReport:
    """Verify a whole release.

    Raises RulerError if the folder has no release or a damaged manifest, or if a tokenizer differs.
    """
    root = Path(options.root)
    unfinished = is_unfinished(root)
    if unfinished and not (root / MANIFEST).exists():
        return _report(None, {}, unfinished, [])
    manifest = read_manifest(root)
    with TemporaryDirectory(prefix="ruler-verify-") as scratch:
        checker = FileChecker(root, manifest, options, Path(scratch))
        for name in checker.tokenizer_folders:  # raises if a tokenizer is missing or differs
            checker.load_tokenizer(name, checker.store)
        files = _check_files(FileChecker.check, checker, options)
    lock = read_frozen(manifest["data_version"])
    for path in unexplained(manifest, lock) if lock else ():
        files[path].add(
            f"not the rows of data version {manifest['data_version']}, though sources, seed, "
            "reserve and suite are the same"
        )
    problems = _check_manifest(root, manifest, files, checker.sources)
    notes: list[str] = []
    if not unfinished:
        if manifest["files"]:
            problems += _check_card(root, manifest, notes)
        problems += _check_folder(root, manifest, notes)
    for name, what in problems:  # some of files that the manifest does not list
        files.setdefault(name, FileReport(name, name)).add(what)
    return _report(manifest, files, unfinished, notes)


def audit_release(root: Path) -> VerifyReport:
    """Audit every row of a release, without rebuilding any or comparing digests."""
    manifest, options = read_manifest(root), VerifyOptions(root, audit=True)
    checker = FileChecker(root, manifest, options, root)  # nothing is built
    files = _check_files(FileChecker.audit_file, checker, options)
    return _report(manifest, files, is_unfinished(root), [])


def _report(
    manifest: Manifest | None, files: dict[str, FileReport], unfinished: bool, notes: list[str]
) -> VerifyReport:
    """Return the report of a release whose files were checked."""
    ok = not unfinished
    not_rebuilt: dict[str, list[str]] = {}
    frozen = rebuilt = not_checked = 0
    for path, file in files.items():
        ok = ok and not file.count
        frozen += file.proved_by == "frozen"
        rebuilt += file.proved_by == "rebuilt"
        if file.not_checked:
            not_checked += 1
            not_rebuilt.setdefault(file.not_checked, []).append(path)
    parts = []
    if frozen:
        parts.append(f"{frozen} with frozen rows")
    if rebuilt:
        parts.append(f"{rebuilt} rebuilt and equal")
    if not_checked:
        parts.append(f"{not_checked} not checked fully")
    return VerifyReport(
        manifest=manifest,
        files=files,
        unfinished=unfinished,
        ok=ok,
        proved=ok and not not_rebuilt,
        not_rebuilt=not_rebuilt,
        sentence=f"Files: {', '.join(parts) or 'none'}.",
        notes=notes,
    )


def _check_files(
    check: Callable[[FileChecker, str], FileReport], checker: FileChecker, options: VerifyOptions
) -> dict[str, FileReport]:
    """Check each file in a worker process, those of a tokenizer together, the longest rows first.

    An audit also reports each row that asks something else in another file of the same task.
    """
    entries, tokenizers = checker.manifest["files"], list(checker.manifest["tokenizers"])
    files, tokens = {}, {}
    for path, entry in entries.items():
        files[path] = FileReport(path, entry["config"])
        tokens[path] = entry["rows"] * entry["max_length"]
    total = sum(tokens.values())
    workers = options.workers or processes_for(total)

    def order(path: str) -> tuple[int, int]:
        return tokenizers.index(entries[path]["tokenizer"]), -entries[path]["max_length"]

    with (
        tokens_bar("Verifying", total, quiet=not options.progress) as bar,
        process_pool(checker, workers) as run,
    ):
        for done, file in enumerate(run(check, sorted(entries, key=order)), 1):
            files[file.path] = file
            bar.set_description_str(f"Verifying: {done}/{len(files)} files")
            bar.update(tokens[file.path])
    if options.audit:
        digests: dict[tuple[str, ...], dict[str, dict[int, str]]] = defaultdict(dict)
        for path, entry in entries.items():
            task = entry["task"], entry["language"], entry["instruction_language"]
            digests[task][path] = files[path].question_digests
        for path, what, index in check_paired(digests):
            files[path].add(what, index)
    return files


MAY_DIFFER = (
    "builder_version",
    "tokenizers.*.version",
    "tokenizers.*.backend_version",
    "files.*.counted_by",  # which library counted; the numbers are the same with either
)
"""The fields of a manifest that may differ from a rebuilt one. `*` is any name."""
MAY_DIFFER_IF_CUSTOM = ("spec", "title", "commit", "sha256", "backend_sha256")
"""Fields of a custom tokenizer that may also differ: FileChecker.load_tokenizer compares it."""


def _check_manifest(
    root: Path, manifest: Manifest, reports: Mapping[str, FileReport], sources: Sources
) -> list[tuple[str, str]]:
    """Return the fields in which the manifest differs from the one that a build writes, and how.

    Each is a problem of the file that it describes, or of the manifest.
    """
    if manifest["data_version"] == DATA_VERSION:
        rebuilt = rebuilt_manifest(root, manifest, reports, sources)
    else:  # this builder makes another data version, so only the files are compared
        rebuilt = cast(Manifest, {**manifest, "files": _entries(manifest, reports)})
    files = rebuilt["files"]
    stored, expected = json.loads(json.dumps(manifest)), json.loads(json.dumps(rebuilt))
    problems = []
    for field_path, what in differences(stored, expected):
        if _may_differ(manifest, field_path):
            continue
        if field_path[0] == "files" and len(field_path) > 2 and field_path[1] in files:
            problems.append((field_path[1], f"in the manifest, {'.'.join(field_path[2:])} {what}"))
        else:
            problems.append((MANIFEST, f"{'.'.join(field_path)} {what}"))
    return problems


def _entries(manifest: Manifest, reports: Mapping[str, FileReport]) -> dict[str, FileEntry]:
    """Return the entries that a build writes for the files, as far as they could be read."""
    return {path: reports[path].entry or entry for path, entry in manifest["files"].items()}


def rebuilt_manifest(
    root: Path, manifest: Manifest, reports: Mapping[str, FileReport], sources: Sources
) -> Manifest:
    """Return the manifest that a build of these files writes.

    It is joined from the manifests of the files that were built again. Of what only the others
    need, a source or language that is not on this machine is copied from the manifest.
    """
    longest = max((entry["max_length"] for entry in manifest["files"].values()), default=0)
    if manifest["words"].keys() >= corpora.digests(extended=True).keys():
        longest = 1 << 20  # the release, or the one that this is a part of, has longer rows
    suite = suite_in(manifest)
    parts = [new_manifest(suite, manifest["seed"], manifest["reserve"], longest)]
    others: dict[str, FileEntry] = {}
    for path, entry in manifest["files"].items():
        built_again = reports[path].rebuilt
        if built_again:
            parts.append(built_again)
        else:
            others[path] = entry
    rebuilt = join_manifests(parts, root)
    rebuilt["sources"] = _source_entries(manifest, others, sources) | rebuilt["sources"]
    if manifest["dataset"] == "oneruler":
        rebuilt["languages"] = _language_entries(manifest, others, sources) | rebuilt["languages"]
    rebuilt["tokenizers"] = _tokenizer_entries(manifest, others) | rebuilt["tokenizers"]
    return with_files(rebuilt, _entries(manifest, reports))


def _source_entries(
    manifest: Manifest, files: Mapping[str, FileEntry], sources: Sources
) -> dict[str, SourceEntry]:
    """Return the manifest entries of the sources that files are made of.

    Those of a language folder are copied: it was not given, or is another than the release's.
    """
    entries: dict[str, SourceEntry] = {}
    for entry in files.values():
        for name in sources_of(manifest, Config.from_entry(manifest["dataset"], entry)):
            if name not in registry():
                if name in manifest["sources"]:
                    entries[name] = manifest["sources"][name]
                continue
            try:
                entries[name] = sources.entry(name)
            except RulerError:  # the manifest names an embedded text that the project does not have
                entries[name] = source_entry(registry()[name].canonical)
    return entries


def _language_entries(
    manifest: Manifest, files: Mapping[str, FileEntry], sources: Sources
) -> dict[str, LanguageEntry]:
    """Return the wording of the languages, from their prompts if they are on this machine.

    That of a language folder is copied, as in _source_entries.
    """
    codes: set[str] = set()
    for file in files.values():
        codes |= {file["language"], file["instruction_language"]}
    entries: dict[str, LanguageEntry] = {}
    for code in sorted(codes & manifest["languages"].keys()):
        entries[code] = manifest["languages"][code]
    for code in sorted(codes - custom_languages(manifest).keys()):
        try:
            if all(map(sources.has, language_sources(code, custom=False).prompts)):
                entries[code] = read_language(code, sources).entry
        except RulerError:  # a file of it is damaged
            pass
    return entries


def _tokenizer_entries(
    manifest: Manifest, files: Mapping[str, FileEntry]
) -> dict[str, TokenizerEntry]:
    """Return the manifest entries of the tokenizers of files, as far as they are known here."""
    entries: dict[str, TokenizerEntry] = {}
    for file in files.values():
        name = file["tokenizer"]
        recorded: Mapping[str, Any] = manifest["tokenizers"][name]
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
    if len(field_path) >= 3 and field_path[0] in ("tokenizers", "files"):
        kind, name, key = field_path[:3]
        if kind == "tokenizers" and name not in named() and key in MAY_DIFFER_IF_CUSTOM:
            return name in manifest["tokenizers"]
        return f"{kind}.*.{key}" in MAY_DIFFER
    return ".".join(field_path) in MAY_DIFFER


_OF_THE_RELEASE = {DATA, CARD, MANIFEST, EVAL_YAML, CROISSANT, BUILD_FOLDER, STAGING}
_OF_THE_HUB = {".cache"}
# At the top these change how `datasets` loads the folder, whatever the card says.
_LOADED_SUFFIXES = {".py", ".csv", ".tsv", ".jsonl", ".parquet", ".arrow"}
_LOADED_NAMES = {".huggingface.yaml", "dataset_infos.json", "dataset_info.json", "state.json"}
_MAX_LISTED = 20  # files that a note names
_REMEDY = "run the same `ruler build` again"


def _check_folder(root: Path, manifest: Manifest, notes: list[str]) -> list[tuple[str, str]]:
    """Return the files that should not be in the folder; note those that are not checked.

    Below data/ there must be no file that the manifest does not list, and at the top none that
    `datasets` would read.
    """
    problems = []
    listed = manifest["files"]
    folders = {parent.as_posix() for path in listed for parent in PurePosixPath(path).parents}
    for parent, children, names in os.walk(root / DATA, followlinks=True):
        for name in sorted(names):
            path = (Path(parent) / name).relative_to(root).as_posix()
            if path not in listed and not is_of_system(name):
                problems.append(
                    (path, "the file is not in the manifest: move it out of the folder")
                )
        for name in sorted(children):
            path = (Path(parent) / name).relative_to(root).as_posix()
            if path not in folders and (root / path).is_symlink():
                children.remove(name)  # it may lead back to a folder above it
                problems.append((path, "it is a link to a folder of other files: remove it"))
    not_checked = []
    for entry in sorted(root.iterdir()):
        if entry.name in _OF_THE_RELEASE or is_of_system(entry.name):
            continue
        if entry.suffix.lower() in _LOADED_SUFFIXES or entry.name in _LOADED_NAMES:
            problems.append((entry.name, "it changes how `datasets` loads the folder: move it out"))
        elif entry.name not in _OF_THE_HUB:
            not_checked.append(printable(f"{entry.name}/" if entry.is_dir() else entry.name))
    if not_checked:
        examples = ", ".join(not_checked[:_MAX_LISTED])
        more = ", …" if len(not_checked) > _MAX_LISTED else ""
        notes.append(f"Not part of the release, and not checked: {examples}{more}.")
    return problems


def _check_card(root: Path, manifest: Manifest, notes: list[str]) -> list[tuple[str, str]]:
    """Return what is wrong with README.md, eval.yaml and croissant.json.

    They are rendered from the manifest and compared, ignoring line ends. eval.yaml may be missing.
    croissant.json may describe the folder or a repository of the Hub. If another version of the
    builder wrote the card, only the configurations in its metadata are compared.
    """
    installed, written_by = version(DISTRIBUTION), manifest["builder_version"]
    if installed != written_by:
        notes.append(
            f"The card was written by {DISTRIBUTION} {written_by}, this is {installed}: only the "
            f"configurations in {CARD} are compared. `ruler build` writes the card again."
        )
    try:
        benchmark, repo = (root / EVAL_YAML).exists(), described_repository(root)
        rendered = card_files(collect_facts(manifest), benchmark, repo)
    except RulerError as error:
        return [(CARD, str(error))]
    problems = []
    for name, text in rendered.items():
        if not (root / name).is_file():
            problems.append((name, f"the file is missing: {_REMEDY}"))
            continue
        try:
            stored = read_text(root / name).replace("\r\n", "\n")
        except RulerError as error:
            problems.append((name, str(error)))
            continue
        if installed != written_by:
            if name == CARD and _configs(stored) != _configs(text):
                problems.append(
                    (name, f"its configurations are not those of the manifest: {_REMEDY}")
                )
        elif stored != text:
            problems.append((name, f"{_first_difference(stored, text)}: {_REMEDY}"))
    return problems


def _configs(card: str) -> Any:
    """Return the configurations in a card's metadata; None if they cannot be read."""
    match = re.match(r"---\n(.*?\n)---\n", card, re.DOTALL)
    try:
        return parse_yaml(match[1])["configs"] if match else None
    except (ValueError, LookupError, TypeError):
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
