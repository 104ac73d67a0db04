"""Verify a release: every law holds of its files, and made anew from its manifest it is the same.

report = verify(Path("ruler"), workers=2)
report.ok, report.proved, report.files["data/tekken/4k/vt.parquet"].breaches
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ruler_builder.common.build_folder import unfinished
from ruler_builder.common.processes import worker_pool
from ruler_builder.families.task import DATA_VERSION
from ruler_builder.proof.prove import prove
from ruler_builder.proof.verify_report import FileReport, VerifyReport
from ruler_builder.reading.breaches import Law
from ruler_builder.reading.sources_at_hand import SourcesAtHand
from ruler_builder.sources.language_folder import language_folders as read_folders
from ruler_builder.tokens.reference_counter import ReleaseAtHand, places
from ruler_builder.verify.manifest_anew import check_anew, manifest_anew
from ruler_builder.verify.rebuild import Remade, Remaker, jobs_left_out, plan
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import MANIFEST
from ruler_common.work import OnRows, processes_for


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
    left = unfinished(root)
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
    with worker_pool(workers, Remaker, (here,), on_progress) as run:
        for one in run(Remaker.remake, todo.jobs):
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
