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
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ruler_builder.card.provenance import languages
from ruler_builder.common.build_folder import is_unfinished
from ruler_builder.common.processes import worker_pool
from ruler_builder.oneruler.languages import language
from ruler_builder.release.new_manifest import new_settings, with_files
from ruler_builder.release.suite import suite_in
from ruler_builder.sources import word_lists
from ruler_builder.sources.chosen_sources import Sources, choice_in, entry_of
from ruler_builder.sources.download import Store
from ruler_builder.sources.language_folder import language_folders as read_folders
from ruler_builder.sources.registry import prompts_of, registry
from ruler_builder.tasks.base import DATA_VERSION
from ruler_builder.tasks.registry import sources_of
from ruler_builder.tokens.reference_counter import ReleaseAtHand, check_places, places
from ruler_builder.tokens.tokenizers import known_digests, named
from ruler_builder.verify.audit import check_paired
from ruler_builder.verify.file_check import CheckedFile, FileChecker, short
from ruler_builder.verify.folder import card_note, check_card_files, other_files, unlisted_files
from ruler_builder.verify.report import FileReport, VerifyReport
from ruler_common.errors import RulerError
from ruler_common.frozen_rows import frozen_for, unexplained
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST, FileEntry, Manifest, TokenizerEntry
from ruler_common.work import OnRows, processes_for

MAY_DIFFER = (
    "builder_version",
    "tokenizers.*.version",
    "tokenizers.*.backend_version",
    "files.*.counted_by",  # which engine counted: the numbers are the reference's
)
"""The fields of a manifest that may differ from a rebuilt one's. `*` is any name."""
MAY_DIFFER_IF_GIVEN = ("spec", "title", "commit", "backend_sha256")
"""What may also differ of a tokenizer that a user gave: it is known by its files' digests."""


def verify(
    root: Path,
    workers: int | None = 1,
    mirror: Path | None = None,
    tokenizers: Iterable[str] = (),
    audit: bool = False,
    planned: Callable[[int], None] = lambda rows: None,
    on_progress: OnRows = lambda rows: None,
    language_folders: Iterable[Path] = (),
) -> VerifyReport:
    """Verify a whole release.

    Args:
        root: The release's folder.
        workers: Processes that work at a time; None: as many as the rows repay.
        mirror: A folder that holds the sources.
        tokenizers: Where tokenizers are now, `NAME=FOLDER`.
        audit: Check every row without the code that makes rows, too.
        planned: Called with the number of rows.
        on_progress: Called with each number of rows that were checked.
        language_folders: Folders of languages that are none of the 26.

    Raises RulerError if there is no release, its manifest is damaged, or a given tokenizer differs.
    """
    left = is_unfinished(root)
    if left and not (root / MANIFEST).exists():
        return VerifyReport({}, left)
    manifest, given = read_manifest(root), read_folders(language_folders)
    where = str(mirror.resolve()) if mirror else None
    named_places = places(manifest, tokenizers)
    here = ReleaseAtHand(root, manifest, mirror=where, places=named_places, given=given)
    check_places(here)
    suite_in(manifest)
    entries = manifest["files"]
    planned(sum(entry["rows"] for entry in entries.values()))
    tokens = sum(entry["rows"] * entry["max_length"] for entry in entries.values())
    order = list(manifest["tokenizers"])  # the longest files first, as in a build
    paths = sorted(
        entries, key=lambda p: (order.index(entries[p]["tokenizer"]), -entries[p]["max_length"])
    )
    checked: dict[str, CheckedFile] = {}
    workers = workers or processes_for(tokens)
    with worker_pool(workers, FileChecker, (here, audit)) as run:
        for found in run(FileChecker.check, paths):
            checked[found.path] = found
            on_progress(entries[found.path]["rows"])
        left_out = dict(run(FileChecker.check_left_out, [*manifest.get("left_out", {})]))
    report = VerifyReport({path: checked[path].report for path in entries}, left)
    not_rebuilt = defaultdict(list)
    for path in entries:
        found = checked[path]
        if found.proved_by == "frozen":
            report.frozen.append(path)
        elif found.proved_by == "rebuilt":
            report.rebuilt.append(path)
        if found.not_checked:
            not_rebuilt[found.not_checked].append(path)
    report.not_rebuilt = dict(not_rebuilt)
    frozen = frozen_for(manifest)
    for path in unexplained(manifest, frozen) if frozen else ():
        what = f"not the rows of data version {manifest['data_version']}, though sources, seed, "
        report.files[path].add(what + "reserve and suite are theirs")
    if audit:
        _report_unpaired(manifest, checked, report)
    for place, what in manifest_differences(manifest, checked, here):
        _report_difference(report, manifest, place, what)
    for name, what in left_out.items():
        if what:
            _report_difference(report, manifest, ("left_out", name), what)
    if not left:
        for name, what in (*unlisted_files(root, manifest), *_card_problems(root, manifest)):
            report.files.setdefault(name, FileReport(name)).add(what)
        notes = (card_note(root, manifest), other_files(root))
        report.notes = [note for note in notes if note]
    return report


def audit_release(root: Path, workers: int | None = 1, mirror: Path | None = None) -> VerifyReport:
    """Check every row of a release without the code that makes rows; compare it with nothing."""
    manifest = read_manifest(root)
    here = ReleaseAtHand(root, manifest, mirror=str(mirror.resolve()) if mirror else None)
    entries = manifest["files"]
    tokens = sum(entry["rows"] * entry["max_length"] for entry in entries.values())
    workers = workers or processes_for(tokens)
    with worker_pool(workers, FileChecker, (here, True)) as run:
        checked = {found.path: found for found in run(FileChecker.audit_file, [*entries])}
    report = VerifyReport({path: checked[path].report for path in entries}, is_unfinished(root))
    _report_unpaired(manifest, checked, report)
    return report


def _card_problems(root: Path, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the files that are rendered from the manifest."""
    if not manifest["files"] or card_note(root, manifest).endswith("cannot be read."):
        return
    yield from check_card_files(root, manifest)


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


def manifest_differences(
    manifest: Manifest, checked: Mapping[str, CheckedFile], here: ReleaseAtHand
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield where the manifest is not the one that a build of these files writes, and how."""
    entries = manifest["files"]
    rebuilt_entries = {path: checked[path].entry or entry for path, entry in entries.items()}
    mine = cast(dict[str, Any], json.loads(json.dumps(manifest)))
    if manifest["data_version"] == DATA_VERSION:
        rebuilt = rebuilt_manifest(manifest, checked, here)
    else:  # what this builder would write is of another data version
        rebuilt = cast(Manifest, {**manifest, "files": rebuilt_entries})
    for place, what in differences(mine, json.loads(json.dumps(rebuilt))):
        if not _may_differ(manifest, place):
            yield place, what


def rebuilt_manifest(
    manifest: Manifest, checked: Mapping[str, CheckedFile], here: ReleaseAtHand
) -> Manifest:
    """Return the manifest that a build of these files writes.

    What is not known here is taken from the manifest: entries of files that were not built again,
    the wording of a language whose prompts are missing.
    """
    entries = manifest["files"]
    lengths = {entry["length"] for entry in entries.values()}
    if manifest["words"].keys() >= word_lists.digests(extended=True).keys():
        lengths.add("1m")  # a longer file was asked for, which its window left out
    suite = suite_in(manifest)
    rebuilt = new_settings(suite, manifest["seed"], manifest["reserve"], lengths)
    sources = Sources(Store(here.mirror), choice_in(manifest["sources"], here.given))
    for name in {name for entry in entries.values() for name in sources_of(manifest, entry)}:
        try:
            rebuilt["sources"][name] = entry_of(sources.file(name))
        except RulerError:  # of a language whose folder was not given
            if name in registry():
                rebuilt["sources"][name] = entry_of(registry()[name].canonical)
            elif name in manifest["sources"]:
                rebuilt["sources"][name] = manifest["sources"][name]
    if manifest["dataset"] == "oneruler":
        for code in languages(manifest):
            try:
                files = [sources.file(name) for name in prompts_of(code)]
                if all(file.is_here(sources.store) for file in files):
                    rebuilt["languages"][code] = language(code, sources)
                    continue
            except RulerError:
                pass
            if code in manifest["languages"]:
                rebuilt["languages"][code] = manifest["languages"][code]
    loaded = {entries[path]["tokenizer"]: one.tokenizer for path, one in checked.items()}
    for path, one in checked.items():
        if one.tokenizer:
            loaded[entries[path]["tokenizer"]] = one.tokenizer
    for name, about in loaded.items():
        entry = dict(about or manifest["tokenizers"][name])
        if known := named().get(name):
            entry |= {"spec": name, "title": known["title"], "library": known["library"]}
            entry["sha256"] = known_digests(name)
        known_keys = TokenizerEntry.__annotations__
        entry = {key: value for key, value in entry.items() if key in known_keys}
        rebuilt["tokenizers"][name] = cast(TokenizerEntry, entry)
    if "left_out" in manifest:
        rebuilt["left_out"] = manifest["left_out"]
    files: dict[str, FileEntry] = {}
    for path, entry in entries.items():
        files[path] = checked[path].entry or entry
    return with_files(rebuilt, files)


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
