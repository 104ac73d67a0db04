"""`ruler merge` for releases: the folders that shards built, in one release.

    merge_releases(Path("ruler"), [Path("parts/1"), Path("parts/2")], report)

The release has the bytes of one build. Each file is checked by its digest while it is copied; a
merge that was stopped goes on where it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from ruler_builder.common.build_folder import (
    ShardRecord,
    add_to_journal,
    read_journal,
    read_plan,
    read_shard,
    unfinished,
    write_plan,
)
from ruler_builder.release.build import Built, complete, existing_release
from ruler_builder.release.new_manifest import merge_settings
from ruler_builder.sources.folder_lock import alone_in
from ruler_common.errors import RulerError
from ruler_common.files import sha256_of, temporary_beside
from ruler_common.manifest import read_manifest
from ruler_common.manifest_form import FileEntry, Manifest
from ruler_common.terminal import RowsBar
from ruler_common.work import Shard


def merge_releases(root: Path, parts: Sequence[Path], report: RowsBar) -> Built:
    """Copy the files of all parts into `root` and write its manifest and card.

    Raises RulerError, before anything is written, where a part is unfinished, parts do not go
    together, or a shard is missing. The folders of the parts stay as they are.
    """
    with alone_in(root):
        return _merge(root, parts, report)


def _merge(root: Path, parts: Sequence[Path], report: RowsBar) -> Built:
    shared: Manifest | None = None
    release, begun = existing_release(root), read_plan(root)
    for earlier in (release, begun):
        if earlier:
            shared = merge_settings(shared or earlier, earlier, root)
    there = release["files"] if release else {}
    files, place = {**there}, dict[str, Path]()
    for part in parts:
        if left := unfinished(part):
            raise RulerError(f"'{part}' lacks {left} files: run its `ruler build` again.")
        manifest = read_manifest(part)
        shared = merge_settings(shared or manifest, manifest, part)
        for path, entry in manifest["files"].items():
            if files.setdefault(path, entry)["sha256"] != entry["sha256"]:
                raise RulerError(f"'{part}' has other rows of {entry['config']} than another part.")
            place[path] = part
    assert shared is not None  # there is a part
    _refuse_missing_shards([read_shard(part) for part in parts], files, shared.get("left_out", {}))
    done = read_journal(root)
    todo = [path for path in files if path not in there and path not in done]
    report.planned(len(todo), sum(files[path]["rows"] for path in todo), len(files) - len(todo))
    write_plan(root, shared, list(files))
    for path in todo:
        _copy(place[path], root, path, files[path])
        add_to_journal(root, path, files[path])
        report.rows(files[path]["rows"])
    return Built(complete(root, shared, files), todo)


def _refuse_missing_shards(
    records: Sequence[ShardRecord | None],
    files: Mapping[str, FileEntry],
    left_out: Mapping[str, str],
) -> None:
    """Raise RulerError if the shards of these folders planned files that are in none of them."""
    known = [record for record in records if record]
    absent = {
        path
        for record in known
        for path, config in record["planned"].items()
        if path not in files and config not in left_out
    }
    if not absent:
        return
    here = {Shard.parse(record["shard"]) for record in known}
    others = sorted(
        Shard(number, total)
        for total in {shard.total for shard in here}
        for number in range(1, total + 1)
        if Shard(number, total) not in here
    )
    raise RulerError(
        f"{len(absent)} files are in none of these folders, first {min(absent)}: "
        f"add the folders of the shards {', '.join(map(str, others))}."
    )


def _copy(part: Path, root: Path, path: str, entry: FileEntry) -> None:
    """Copy a file whole; RulerError if it is not the one of its manifest."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    with temporary_beside(root / path) as temporary:
        shutil.copyfile(part / path, temporary)
        if sha256_of(temporary) != entry["sha256"]:
            raise RulerError(f"'{part / path}' is damaged. Run: ruler verify {part}")
