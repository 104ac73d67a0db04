"""Verify a release: its files are those of its manifest, and a build makes the same again.

report = verify(Path("ruler"), workers=2)
report.ok, report.proved, report.files["data/tekken/4k/vt.parquet"].problems

Three steps: the digests of every file; its rows against the lock of their data version or against
the same rows built again (file_check.py); and the manifest, the card, eval.yaml and croissant.json
made again and compared (manifest_check.py, folder.py). What cannot be built again on this machine
is listed with the command that gets it. With `audit` every row is also checked without the code
that makes rows (audit.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from ruler_builder.common.build_folder import is_unfinished
from ruler_builder.common.processes import worker_pool
from ruler_builder.text.language_folder import language_folders as read_folders
from ruler_builder.tokens.reference_counter import ReleaseAtHand, check_places, places
from ruler_builder.verify.audit import check_paired
from ruler_builder.verify.file_check import CheckedFile, FileChecker
from ruler_builder.verify.folder import card_note, check_card_files, other_files, unlisted_files
from ruler_builder.verify.manifest_check import manifest_differences
from ruler_builder.verify.report import FileReport, VerifyReport
from ruler_common.frozen_rows import frozen_for, unexplained
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST, Manifest
from ruler_common.work import OnRows, processes_for


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
    unfinished = is_unfinished(root)
    if unfinished and not (root / MANIFEST).exists():
        return VerifyReport({}, unfinished)
    manifest = read_manifest(root)
    here = ReleaseAtHand(
        root,
        manifest,
        mirror=str(mirror.resolve()) if mirror else None,
        places=places(manifest, tokenizers),
        given=read_folders(language_folders),
    )
    check_places(here)
    entries = manifest["files"]
    planned(sum(entry["rows"] for entry in entries.values()))
    checked: dict[str, CheckedFile] = {}
    with worker_pool(workers or _workers_for(manifest), FileChecker, (here, audit)) as run:
        for found in run(FileChecker.check, _longest_first(manifest)):
            checked[found.path] = found
            on_progress(entries[found.path]["rows"])
        left_out = dict(run(FileChecker.check_left_out, [*manifest.get("left_out", {})]))
    report = _report_of(manifest, checked, unfinished)
    if audit:
        _report_unpaired(manifest, checked, report)
    for place, what in manifest_differences(manifest, checked, here):
        _report_difference(report, manifest, place, what)
    for name, what in left_out.items():
        if what:
            _report_difference(report, manifest, ("left_out", name), what)
    if not unfinished:
        for name, what in (*unlisted_files(root, manifest), *_card_problems(root, manifest)):
            report.files.setdefault(name, FileReport(name)).add(what)
        notes = (card_note(root, manifest), other_files(root))
        report.notes = [note for note in notes if note]
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
    here = ReleaseAtHand(root, manifest, mirror=str(mirror.resolve()) if mirror else None)
    paths = _longest_first(manifest)
    with worker_pool(workers or _workers_for(manifest), FileChecker, (here, True)) as run:
        checked = {found.path: found for found in run(FileChecker.audit_file, paths)}
    report = VerifyReport({path: checked[path].report for path in paths}, is_unfinished(root))
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
