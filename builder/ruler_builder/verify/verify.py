"""Verify a release: its files are those of its manifest, and a build makes the same again.

report = verify(Path("ruler"), workers=2)
report.ok, report.proved, report.files["data/tekken/4k/vt.parquet"].problems

Three steps: the digests of every file; its rows against the lock of their data version or against
the same rows built again (file_check.py); and the manifest, the card, eval.yaml and croissant.json
made again and compared. What cannot be built again on this machine is listed with the command that
gets it. With `audit` every row is also checked without the code that makes rows (audit.py).
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import yaml  # type: ignore[import-untyped]

from ruler_builder.project_files import DISTRIBUTION
from ruler_builder.release.card import first_row, languages
from ruler_builder.release.card_files import (
    CARD,
    CROISSANT,
    EVAL_YAML,
    card_files,
    described_repository,
)
from ruler_builder.release.executor import worker_pool
from ruler_builder.release.manifest import BUILD_FOLDER, is_unfinished, new_settings, with_files
from ruler_builder.suites.suite import suite_in
from ruler_builder.tasks.base import DATA_VERSION
from ruler_builder.tasks.registry import sources_of
from ruler_builder.text import word_lists
from ruler_builder.text.language_folder import language_folders as read_folders
from ruler_builder.text.languages import read_language
from ruler_builder.text.sources import (
    Sources,
    Store,
    choice_in,
    entry_of,
    language_sources,
    registry,
)
from ruler_builder.tokens.tokenizers import known_digests, named
from ruler_builder.verify.audit import check_paired
from ruler_builder.verify.file_check import (
    CheckedFile,
    FileChecker,
    FileReport,
    ReleaseToVerify,
    common_length,
    places,
    reference,
    short,
)
from ruler_common.errors import RulerError
from ruler_common.files import read_text
from ruler_common.frozen import frozen_for, unexplained
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
from ruler_common.terminal import FilesBar
from ruler_common.text import printable
from ruler_common.work import processes_for


@dataclass
class VerifyReport:
    """What verification found in a release, and whether it is still being built."""

    files: dict[str, FileReport]
    unfinished: bool
    _: KW_ONLY
    # What the user should know about how it was verified: sentences.
    notes: list[str] = field(default_factory=list)
    # Paths of the files that were built again and are the same.
    rebuilt: list[str] = field(default_factory=list)
    # Paths of the files whose rows are in the lock of their data version.
    frozen: list[str] = field(default_factory=list)
    # Why files could not be checked fully on this machine, with their paths.
    not_rebuilt: dict[str, list[str]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong and nothing is missing."""
        return not self.unfinished and not any(file.count for file in self.files.values())

    @property
    def proved(self) -> bool:
        """Whether every row is known to be the one that a build makes."""
        return self.ok and not self.not_rebuilt

    @property
    def sentence(self) -> str:
        """How many files were checked in which way, in one sentence."""
        paths = {path for several in self.not_rebuilt.values() for path in several}
        parts = [
            f"{len(self.frozen)} with frozen rows" if self.frozen else "",
            f"{len(self.rebuilt)} rebuilt and equal" if self.rebuilt else "",
            f"{len(paths)} not checked fully" if paths else "",
        ]
        return f"Files: {', '.join(part for part in parts if part) or 'none'}."


def verify(
    root: Path,
    workers: int | None = 1,
    mirror: Path | None = None,
    tokenizers: Iterable[str] = (),
    audit: bool = False,
    language_folders: Iterable[Path] = (),
    bar: FilesBar | None = None,
) -> VerifyReport:
    """Verify a whole release.

    Args:
        root: The release's folder.
        workers: Processes that work at a time; None: as many as the rows repay.
        mirror: A folder that holds the sources.
        tokenizers: Where tokenizers are now, `NAME=FOLDER`.
        audit: Check every row without the code that makes rows, too.
        language_folders: Folders of languages that are none of the 26.
        bar: Shows which part of the files is checked.

    Raises RulerError if there is no release, its manifest is damaged, or a given tokenizer differs.
    """
    unfinished = is_unfinished(root)
    if unfinished and not (root / MANIFEST).exists():
        return VerifyReport({}, unfinished)
    manifest = read_manifest(root)
    here = ReleaseToVerify(
        root,
        manifest,
        mirror=str(mirror.resolve()) if mirror else None,
        places=places(manifest, tokenizers),
        given=read_folders(language_folders),
    )
    for name in here.places:  # raises if one is missing or another tokenizer
        reference(name, here)
    tokens = {path: e["rows"] * e["max_length"] for path, e in manifest["files"].items()}
    if bar:
        bar.planned(len(tokens), sum(tokens.values()))
    checked: dict[str, CheckedFile] = {}
    with worker_pool(workers or _workers_for(manifest), FileChecker, (here, audit)) as run:
        for found in run(FileChecker.check, _longest_first(manifest)):
            checked[found.path] = found
            if bar:
                bar.finished(tokens[found.path])
    report = _report_of(manifest, checked, unfinished)
    if audit:
        _report_unpaired(manifest, checked, report)
    for place, what in manifest_differences(manifest, checked, here):
        _report_difference(report, manifest, place, what)
    if not unfinished:
        problems, note = list(unlisted_files(root, manifest)), card_note(root, manifest)
        if manifest["files"] and note != _ROW_UNREADABLE:
            problems += check_card_files(root, manifest)
        for name, what in problems:
            report.files.setdefault(name, FileReport(name)).add(what)
        report.notes = [each for each in (note, other_files(root)) if each]
    return report


def _workers_for(manifest: Manifest) -> int:
    """Return how many processes the rows of a release repay."""
    return processes_for(sum(e["rows"] * e["max_length"] for e in manifest["files"].values()))


def _longest_first(manifest: Manifest) -> list[str]:
    """Return the paths of the files, those of a tokenizer together, the longest rows first."""
    tokenizers, entries = list(manifest["tokenizers"]), manifest["files"]

    def order(path: str) -> tuple[int, int]:
        return tokenizers.index(entries[path]["tokenizer"]), -entries[path]["max_length"]

    return sorted(entries, key=order)


def _report_of(
    manifest: Manifest, checked: Mapping[str, CheckedFile], unfinished: bool
) -> VerifyReport:
    """Return what the checks of all files found, and what proves each."""
    report = VerifyReport({path: checked[path].report for path in manifest["files"]}, unfinished)
    for path in manifest["files"]:
        found = checked[path]
        if found.proved_by == "frozen":
            report.frozen.append(path)
        elif found.proved_by == "rebuilt":
            report.rebuilt.append(path)
        if found.not_checked:
            report.not_rebuilt.setdefault(found.not_checked, []).append(path)
    lock = frozen_for(manifest)
    for path in unexplained(manifest, lock) if lock else ():
        report.files[path].add(
            f"not the rows of data version {manifest['data_version']}, though sources, seed, "
            "reserve and suite are theirs"
        )
    return report


def audit_release(root: Path, workers: int | None = 1, mirror: Path | None = None) -> VerifyReport:
    """Check every row of a release without the code that makes rows; compare it with nothing."""
    manifest = read_manifest(root)
    here = ReleaseToVerify(root, manifest, mirror=str(mirror.resolve()) if mirror else None)
    paths = _longest_first(manifest)
    with worker_pool(workers or _workers_for(manifest), FileChecker, (here, True)) as run:
        checked = {found.path: found for found in run(FileChecker.audit_file, paths)}
    report = VerifyReport({path: checked[path].report for path in paths}, is_unfinished(root))
    _report_unpaired(manifest, checked, report)
    return report


def _report_unpaired(
    manifest: Manifest, checked: Mapping[str, CheckedFile], report: VerifyReport
) -> None:
    """Report the rows that do not ask what row i of their task asks in other files."""
    asked: dict[tuple[str, ...], dict[str, dict[int, str]]] = defaultdict(dict)
    for path, entry in manifest["files"].items():
        key = entry["task"], entry["language"], entry["instruction_language"]
        asked[key][path] = checked[path].asked
    for path, what, index in check_paired(asked):
        report.files[path].add(what, index)


def _report_difference(
    report: VerifyReport, manifest: Manifest, place: tuple[str, ...], what: str
) -> None:
    """Add a difference of the manifest to its file's report, or to the manifest's own."""
    if place[0] == "files" and len(place) > 2 and place[1] in manifest["files"]:
        report.files[place[1]].add(f"in the manifest, {'.'.join(place[2:])} {what}")
    else:
        report.files.setdefault(MANIFEST, FileReport(MANIFEST)).add(f"{'.'.join(place)} {what}")


MAY_DIFFER = (
    "builder_version",
    "tokenizers.*.version",
    "tokenizers.*.backend_version",
    "files.*.counted_by",  # which engine counted: the numbers are the reference's
)
"""The fields of a manifest that may differ from a rebuilt one's. `*` is any name."""
MAY_DIFFER_IF_GIVEN = ("spec", "title", "commit", "backend_sha256")
"""What may also differ of a tokenizer that a user gave: it is known by its files' digests."""


def manifest_differences(
    manifest: Manifest, checked: Mapping[str, CheckedFile], here: ReleaseToVerify
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield where the manifest is not the one that a build of these files writes, and how."""
    files = {path: checked[path].entry or entry for path, entry in manifest["files"].items()}
    if manifest["data_version"] == DATA_VERSION:
        rebuilt = rebuilt_manifest(manifest, files, checked, here)
    else:  # what this builder would write is of another data version
        rebuilt = cast(Manifest, {**manifest, "files": files})
    written, right = json.loads(json.dumps(manifest)), json.loads(json.dumps(rebuilt))
    for place, what in differences(written, right):
        if not _may_differ(manifest, place):
            yield place, what


def rebuilt_manifest(
    manifest: Manifest,
    files: Mapping[str, FileEntry],
    checked: Mapping[str, CheckedFile],
    here: ReleaseToVerify,
) -> Manifest:
    """Return the manifest that a build of these files writes.

    What is not known on this machine is taken from the manifest: the wording of a language whose
    prompts are missing.
    """
    lengths = {entry["length"] for entry in files.values()}
    if manifest["words"].keys() >= word_lists.digests(extended=True).keys():
        lengths.add("1m")  # a longer file was asked for, which its window left out
    suite = suite_in(manifest)
    rebuilt = new_settings(suite, manifest["seed"], manifest["reserve"], lengths)
    sources = Sources(Store(here.mirror), choice_in(manifest["sources"], here.given))
    rebuilt["sources"] = _source_entries(manifest, sources)
    if manifest["dataset"] == "oneruler":
        rebuilt["languages"] = _language_entries(manifest, sources)
    rebuilt["tokenizers"] = _tokenizer_entries(manifest, checked)
    return with_files(rebuilt, files)


def _source_entries(manifest: Manifest, sources: Sources) -> dict[str, SourceEntry]:
    """Return what a manifest says of the sources that its files are made of."""
    found: dict[str, SourceEntry] = {}
    for entry in manifest["files"].values():
        for name in sources_of(manifest, Config.of(manifest["dataset"], entry)):
            try:
                found[name] = entry_of(sources.file(name))
            except RulerError:  # of a language whose folder was not given
                if name in registry():
                    found[name] = entry_of(registry()[name].canonical)
                elif name in manifest["sources"]:
                    found[name] = manifest["sources"][name]
    return found


def _language_entries(manifest: Manifest, sources: Sources) -> dict[str, LanguageEntry]:
    """Return the wording of the languages, from their prompts if they are on this machine."""
    found: dict[str, LanguageEntry] = {}
    custom = custom_languages(manifest)
    for code in languages(manifest):
        try:
            names = language_sources(code, custom=code in custom).prompts
            if all(sources.file(name).is_here(sources.store) for name in names):
                found[code] = read_language(code, sources).entry
        except RulerError:  # its folder was not given, or a file of it is damaged
            pass
        if code not in found and code in manifest["languages"]:
            found[code] = manifest["languages"][code]
    return found


def _tokenizer_entries(
    manifest: Manifest, checked: Mapping[str, CheckedFile]
) -> dict[str, TokenizerEntry]:
    """Return what a manifest says of the tokenizers, as they were loaded or as they are known."""
    loaded: dict[str, TokenizerEntry] = {}
    for path, file in checked.items():
        name = manifest["files"][path]["tokenizer"]
        if file.tokenizer or name not in loaded:
            loaded[name] = file.tokenizer or manifest["tokenizers"][name]
    found: dict[str, TokenizerEntry] = {}
    for name, about in loaded.items():
        fields = {key: part for key, part in about.items() if key in TokenizerEntry.__annotations__}
        if known := named().get(name):
            fields |= {"spec": name, "title": known["title"], "library": known["library"]}
            fields["sha256"] = known_digests(name)
        found[name] = cast(TokenizerEntry, fields)
    return found


def differences(
    mine: object, rebuilt: object, place: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield where two values of JSON differ, and how, from the outermost place on."""
    if isinstance(mine, Mapping) and isinstance(rebuilt, Mapping):
        for name in {**rebuilt, **mine}:
            if name not in rebuilt:
                yield (*place, name), "does not belong there"
            elif name not in mine:
                yield (*place, name), "is missing"
            else:
                yield from differences(mine[name], rebuilt[name], (*place, name))
    elif type(mine) is not type(rebuilt) or mine != rebuilt:
        yield place, f"is {short(mine)}, should be {short(rebuilt)}"


def _may_differ(manifest: Manifest, place: tuple[str, ...]) -> bool:
    """Whether a field may differ from a rebuilt manifest's."""
    if len(place) == 3 and place[0] in ("tokenizers", "files"):
        name = place[1]
        if place[0] == "tokenizers" and name not in named() and place[2] in MAY_DIFFER_IF_GIVEN:
            return name in manifest["tokenizers"]
        return f"{place[0]}.*.{place[2]}" in MAY_DIFFER
    return ".".join(place) in MAY_DIFFER


_DATA = "data"
_OF_THE_RELEASE = {_DATA, CARD, MANIFEST, EVAL_YAML, CROISSANT, BUILD_FOLDER, ".fetch"}
_OF_THE_HUB = {".gitattributes", ".cache"}
# At the top these change how `datasets` loads the folder, whatever the card says.
_LOADED_SUFFIXES = {".py", ".csv", ".tsv", ".jsonl", ".parquet", ".arrow"}
_LOADED_NAMES = {".huggingface.yaml", "dataset_infos.json", "dataset_info.json", "state.json"}
_NAMED = 20  # files named in a note
_REMEDY = "run the same `ruler build` again"
_ROW_UNREADABLE = f"{CARD} cannot be compared: the row that it shows cannot be read."


def is_ignored(name: str) -> bool:
    """Whether a file is one that macOS writes into any folder."""
    return name == ".DS_Store" or name.startswith("._")


def unlisted_files(root: Path, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield the files that should not be in the folder.

    Unlisted below data/, or read by `datasets`.
    """
    for folder, _, names in os.walk(root / _DATA):
        for name in sorted(names):
            path = (Path(folder) / name).relative_to(root).as_posix()
            if path not in manifest["files"] and not is_ignored(name):
                yield path, "the file is not in the manifest: move it out of the folder"
    for place in sorted(root.iterdir()):
        if place.name in _OF_THE_RELEASE or is_ignored(place.name):
            continue
        if place.suffix.lower() in _LOADED_SUFFIXES or place.name in _LOADED_NAMES:
            what = "it changes how `datasets` loads the folder: move it out"
            yield place.name, what


def other_files(root: Path) -> str:
    """Return a sentence that names the files at the top that are not checked; "" if none."""
    known = _OF_THE_RELEASE | _OF_THE_HUB
    found = [place for place in root.iterdir() if place.name not in known]
    names = sorted(
        f"{place.name}/" if place.is_dir() else place.name
        for place in found
        if not is_ignored(place.name) and place.suffix.lower() not in _LOADED_SUFFIXES
    )
    if not names:
        return ""
    shown = ", ".join(printable(name) for name in names[:_NAMED])
    more = ", …" if len(names) > _NAMED else ""
    return f"Not part of the release, and not checked: {shown}{more}."


def check_card_files(root: Path, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with README.md, eval.yaml and croissant.json: file name, sentence.

    They are rendered again from the manifest and compared, line ends aside. eval.yaml may be
    missing. croissant.json may describe the folder or a repository of the Hub. Of a card that
    another version of the builder wrote, only the metadata's configurations are compared.
    """
    try:
        benchmark, repo = (root / EVAL_YAML).exists(), described_repository(root)
        rendered = card_files(root, manifest, benchmark, repo)
    except RulerError as error:
        yield CARD, str(error)
        return
    same_builder = version(DISTRIBUTION) == manifest["builder_version"]
    for name, text in rendered.items():
        if not (root / name).is_file():
            yield name, f"the file is missing: {_REMEDY}"
            continue
        try:
            found = read_text(root / name).replace("\r\n", "\n")
        except RulerError as error:
            yield name, str(error)
            continue
        if not same_builder:
            if name == CARD and _configs(found) != _configs(text):
                yield name, f"its configurations are not those of the manifest: {_REMEDY}"
        elif found != text:
            yield name, f"{_first_difference(found, text)}: {_REMEDY}"


def card_note(root: Path, manifest: Manifest) -> str:
    """Return a sentence that says why the card is not compared whole; "" if it is."""
    mine, theirs = version(DISTRIBUTION), manifest["builder_version"]
    if mine != theirs:
        return (
            f"The card was written by {DISTRIBUTION} {theirs}, this is {mine}: of {CARD} only the "
            "configurations are compared. `ruler build` writes it again."
        )
    if first_row(root, manifest) is None:
        return _ROW_UNREADABLE
    return ""


def _configs(card: str) -> Any:
    """Return the configurations in a card's metadata; None if they cannot be read."""
    match = re.match(r"---\n(.*?\n)---\n", card, re.DOTALL)
    try:
        return yaml.safe_load(match[1])["configs"] if match else None
    except (yaml.YAMLError, LookupError, TypeError):
        return None


def _first_difference(found: str, right: str) -> str:
    """Say which line of a text is the first that differs, and how."""
    lines, right_lines = found.split("\n"), right.split("\n")
    for number, (line, right_line) in enumerate(zip(lines, right_lines, strict=False), 1):
        if line != right_line:
            column = common_length(line, right_line)
            shown, expected = line[column : column + 40], right_line[column : column + 40]
            return (
                f"line {number} differs from the manifest's at character {column}: "
                f"{shown!r}, should be {expected!r}"
            )
    return f"it has {len(lines)} lines, should have {len(right_lines)}"
