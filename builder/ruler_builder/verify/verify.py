"""Verify a release: every law holds of its files, and made anew from its manifest it is the same.

report = verify(Path("ruler"), workers=2)
report.ok, report.proved, report.files["data/tekken/4k/vt.parquet"].breaches

The manifest too is made anew, and compared whole with the one that is there. What is not known here
is taken from the manifest itself: entries of files that were not made anew, the wording of a
language whose prompts are missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ruler_builder.card.provenance import languages
from ruler_builder.common.build_folder import is_unfinished
from ruler_builder.common.processes import worker_pool
from ruler_builder.families.table import sources_of
from ruler_builder.families.task import DATA_VERSION
from ruler_builder.proof.parquet_bytes import own_writer
from ruler_builder.proof.prove import prove
from ruler_builder.proof.verify_report import FileReport, VerifyReport
from ruler_builder.reading.breaches import Law
from ruler_builder.reading.sources_at_hand import SourcesAtHand
from ruler_builder.release.new_manifest import new_settings, with_files
from ruler_builder.release.suite import suite_in
from ruler_builder.sources import word_lists
from ruler_builder.sources.language_folder import language_folders as read_folders
from ruler_builder.tokens.reference_counter import ReleaseAtHand, places
from ruler_builder.tokens.tokenizers import named
from ruler_builder.verify.rebuild import Remade, Remaker, jobs_left_out, plan, short
from ruler_common.manifest import manifest_text, read_manifest
from ruler_common.manifest_form import MANIFEST, FileEntry, Manifest, TokenizerEntry
from ruler_common.work import OnRows, processes_for

FREE: tuple[tuple[str, ...], ...] = (
    ("builder_version",),
    ("tokenizers", "*", "version"),
    ("tokenizers", "*", "backend_version"),
    ("files", "*", "counted_by"),  # which engine counted: the numbers are the reference's
)
"""What may differ where the rows are the same: versions of programs. `*` is any name."""
FREE_IF_GIVEN = (
    *(("tokenizers", "*", name) for name in ("spec", "title", "commit")),
    ("tokenizers", "*", "backend_sha256"),  # as its library writes it: files have a digest
)
"""What may differ of a tokenizer that a user gave, which is known by the digests of its files."""
FREE_OF_ANOTHER_WRITER = (("files", "*", "bytes"), ("files", "*", "sha256"))
"""What differs where another version of pyarrow wrote the file; the rows have their own digest."""


def verify(
    root: Path,
    workers: int | None = 1,
    mirror: Path | None = None,
    tokenizers: Iterable[str] = (),
    laws_only: bool = False,
    planned: Callable[[int], None] = lambda rows: None,
    on_progress: OnRows = lambda rows: None,
    language_folders: Iterable[Path] = (),
) -> VerifyReport:
    """Verify a whole release; `tokenizers` says where unnamed ones lie now, as `NAME=FOLDER`.

    `planned` is called with the number of rows, `on_progress` with each number of rows more. With
    `laws_only` no row is made anew. Raises RulerError if there is no release, its manifest is
    damaged, or a tokenizer is another.
    """
    left = is_unfinished(root)
    if left and not (root / MANIFEST).exists():
        return VerifyReport({}, left)
    manifest, given = read_manifest(root), read_folders(language_folders)
    where = str(mirror.resolve()) if mirror else None
    named = places(manifest, tokenizers)
    here = ReleaseAtHand(root, manifest, mirror=where, places=named, given=given)
    entries = manifest["files"].values()
    workers = workers or processes_for(sum(e["rows"] * e["max_length"] for e in entries))
    report = prove(here, left, workers, planned, on_progress)
    sources = SourcesAtHand(manifest, where, given)
    todo = plan(manifest, report.files, sources, report.uncounted)
    if laws_only:
        todo.not_at_hand["the laws alone were asked for"] = [job.config.path for job in todo.jobs]
        todo.jobs.clear()
    read = sum(file.rows for file in report.files.values())
    planned(read + sum(job.rows for job in todo.jobs))
    whole = report.files.pop(MANIFEST, FileReport(MANIFEST))
    remade: dict[str, Remade] = {}
    with worker_pool(workers, Remaker, (here,)) as run:
        for one in run(Remaker.remake, todo.jobs):
            on_progress(manifest["files"][one.path]["rows"])
            if one.differs:
                report.files[one.path].add(f"made anew, {one.differs}", Law.REBUILT, one.row)
            elif one.missing:
                todo.not_at_hand[one.missing].append(one.path)
            else:
                remade[one.path] = one
        jobs, wrong = jobs_left_out(manifest)
        for what in (*wrong, *run(Remaker.left_out, [] if laws_only else jobs)):
            if what:
                whole.add(what, Law.REBUILT)
    if manifest["data_version"] == DATA_VERSION:
        anew = manifest_anew(manifest, sources, remade, report.files)
        check_anew(root, manifest, anew, report.files, whole)
    if whole.count:
        report.files[MANIFEST] = whole
    report.rebuilt, report.frozen = list(remade), todo.frozen
    report.not_rebuilt = {why: paths for why, paths in todo.not_at_hand.items() if paths}
    return report


def manifest_anew(
    manifest: Manifest,
    sources: SourcesAtHand,
    remade: Mapping[str, Remade],
    reports: Mapping[str, FileReport],
) -> dict[str, Any]:
    """The manifest as a build writes it that makes these files; `reports` know what wrote them."""
    entries = manifest["files"].values()
    lengths = {entry["length"] for entry in entries}
    if manifest["words"].keys() >= word_lists.digests(extended=True).keys():
        lengths.add("1m")
    suite = suite_in(manifest)
    anew = new_settings(suite, manifest["seed"], manifest["reserve"], lengths)
    for name in {name for entry in entries for name in sources_of(manifest, entry)}:
        if entry := sources.entry(name) or manifest["sources"].get(name):
            anew["sources"][name] = entry
    if manifest["dataset"] == "oneruler":
        for code in languages(manifest):
            if found := sources.language(code) or manifest["languages"].get(code):
                anew["languages"][code] = found
    loaded = {one.entry["tokenizer"]: one.tokenizer for one in remade.values() if one.entry}
    for name in {entry["tokenizer"] for entry in entries}:
        about = _known(loaded.get(name) or manifest["tokenizers"][name], TokenizerEntry)
        if known := named().get(name):
            about |= {"spec": name, "title": known["title"], "library": known["library"]}
        anew["tokenizers"][name] = about
    if "left_out" in manifest:
        anew["left_out"] = manifest["left_out"]
    files = {path: _known(entry, FileEntry) for path, entry in manifest["files"].items()}
    files |= {path: one.entry for path, one in remade.items() if one.entry}
    made = with_files(anew, files)
    plain = cast(dict[str, Any], json.loads(json.dumps(made)))
    others = [path for path in remade if reports[path].writer != own_writer()]
    for place in _free(manifest, others):
        _copy(manifest, plain, place)
    return plain


def _known(entry: Mapping[str, Any], kind: Any) -> Any:
    """What an entry has of the keys that one of its kind can have."""
    return {name: value for name, value in entry.items() if name in kind.__annotations__}


def _free(manifest: Manifest, others: Sequence[str]) -> Iterator[Sequence[str]]:
    """The places of this manifest whose values may differ from those made anew.

    `others` are the files that another pyarrow wrote.
    """
    own = [name for name in manifest["tokenizers"] if name not in named()]
    for free, names in ((FREE, None), (FREE_IF_GIVEN, own), (FREE_OF_ANOTHER_WRITER, others)):
        for first, *rest in free:
            if not rest:
                yield (first,)
                continue
            known = cast(Mapping[str, Any], manifest)[first]
            yield from ((first, name, rest[-1]) for name in (known if names is None else names))


def _copy(manifest: Mapping[str, Any], anew: dict[str, Any], place: Sequence[str]) -> None:
    """Give a manifest made anew the value of the other at a place, where that has one."""
    *above, last = place
    for name in above:
        if name not in manifest or name not in anew:
            return
        manifest, anew = manifest[name], anew[name]
    if last in manifest:
        anew[last] = manifest[last]
    else:
        anew.pop(last, None)


def check_anew(
    root: Path,
    manifest: Manifest,
    anew: dict[str, Any],
    reports: Mapping[str, FileReport],
    whole: FileReport,
) -> None:
    """Report where the manifest is not the one made anew, or is not written as a build does.

    To the file's report what is wrong with its entry, the rest to that of the `whole`.
    """
    mine = cast(Mapping[str, Any], manifest)
    for path, entry in manifest["files"].items():
        for place, what in differences(entry, anew["files"][path]):
            reports[path].add(f"{'.'.join(place)} {what}", Law.REBUILT)
    for place, what in differences({**mine, "files": {}}, {**anew, "files": {}}):
        whole.add(f"{'.'.join(place)} {what}", Law.REBUILT)
    if not whole.count and all(not report.count for report in reports.values()):
        if json.dumps(mine) != json.dumps(anew):
            whole.add("its files or keys stand in another order than a build's", Law.REBUILT)
        elif (root / MANIFEST).read_bytes() != manifest_text(manifest).encode():
            what = "it is not written as a build writes it: other spaces, escapes or encoding"
            whole.add(what, Law.REBUILT)


def differences(
    mine: object, anew: object, place: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Where two values of JSON differ, and how, from the outermost place on."""
    if isinstance(mine, Mapping) and isinstance(anew, Mapping):
        for name in {**anew, **mine}:
            if name not in anew:
                yield (*place, name), "does not belong there"
            elif name not in mine:
                yield (*place, name), "is missing"
            else:
                yield from differences(mine[name], anew[name], (*place, name))
    elif type(mine) is not type(anew) or mine != anew:
        yield place, f"is {short(mine)}, made anew {short(anew)}"
