"""The folder `.build` of a release that is being built: what is planned, and what is made.

    .build/plan.json       the manifest without its files, and the paths to make under `todo`
    .build/journal.jsonl   a line for each file that was made, with its manifest entry
    .build/shard.json      in the folder of a shard: which one, and the paths of all shards

The first two are gone when the build is complete, the third stays for `ruler merge`. From
the journal a stopped build resumes; `ruler verify` and `ruler push` ask here what is unfinished.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import cast

from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import lines_of, read_bytes, sha256_of, write_whole
from ruler_common.manifest import parse_manifest, read_manifest
from ruler_common.manifest_form import MANIFEST, FileEntry, Manifest
from ruler_common.parsing import parse_json
from ruler_common.work import Shard

BUILD_FOLDER = ".build"
PLAN, JOURNAL, SHARD = "plan.json", "journal.jsonl", "shard.json"
_AGAIN = "Remove it and build again."


class _Todo(TypedDict):
    todo: list[str]


class BuildPlan(Manifest):
    """An unfinished build: its manifest without files, and the paths of the files to make."""

    todo: list[str]


def read_plan(root: Path) -> BuildPlan | None:
    """The plan of an unfinished build; None if none is under way. Raises RulerError if damaged."""
    plan = root / BUILD_FOLDER / PLAN
    if not plan.exists():
        return None
    found = parse_json(read_bytes(plan), _Todo, plan, _AGAIN)
    parse_manifest(json.dumps({**found, "files": {}}), plan)
    return cast(BuildPlan, found)


class ShardRecord(TypedDict):
    """Whose folder a shard's release is: `2/4`, and the files that all four shards make."""

    shard: str
    planned: dict[str, str]  # the path of each file and the name of its configuration


def read_shard(root: Path) -> ShardRecord | None:
    """What a folder says of the shard that was built in it; None where none was."""
    path = root / BUILD_FOLDER / SHARD
    if not path.exists():
        return None
    return cast(ShardRecord, parse_json(read_bytes(path), ShardRecord, path, _AGAIN))


def claim_for_shard(root: Path, shard: Shard, planned: dict[str, str]) -> None:
    """Make a folder that of one shard. Raises RulerError where it is another's."""
    there = read_shard(root)
    if there and there["shard"] != str(shard):
        raise RulerError(
            f"'{root}' is the folder of shard {there['shard']}: give every shard a folder of its "
            "own, and join them with `ruler merge`."
        )
    files = {**(there["planned"] if there else {}), **planned}
    text = json.dumps({"shard": str(shard), "planned": files})
    write_whole(root / BUILD_FOLDER / SHARD, text + "\n")


def clear_build(root: Path) -> None:
    """Remove what is of use only while a build is unfinished."""
    for name in (PLAN, JOURNAL):
        (root / BUILD_FOLDER / name).unlink(missing_ok=True)
    if not read_shard(root):
        shutil.rmtree(root / BUILD_FOLDER, ignore_errors=True)


def unfinished(root: Path) -> int:
    """How many files of a build under way are not in the manifest yet."""
    plan = read_plan(root)
    if plan is None:
        return 0
    listed = read_manifest(root)["files"] if (root / MANIFEST).exists() else {}
    return sum(path not in listed for path in plan["todo"])


class _Made(TypedDict):
    """A line of the journal."""

    path: str
    entry: FileEntry


def read_journal(root: Path) -> dict[str, FileEntry]:
    """The files an unfinished build has made, each checked by its digest."""
    done: dict[str, FileEntry] = {}
    journal = root / BUILD_FOLDER / JOURNAL
    for number, line in lines_of(journal) if journal.exists() else ():
        try:
            found = cast(_Made, parse_json(line, _Made, f"{journal}:{number}", ""))
        except RulerError:  # half written when the build was stopped
            continue
        path = root / found["path"]
        if path.is_file() and sha256_of(path) == found["entry"]["sha256"]:
            done[found["path"]] = found["entry"]
    for leftover in root.glob("data/**/.*.parquet.*"):
        leftover.unlink()
    return done


def write_plan(root: Path, shared: Manifest, paths: list[str]) -> None:
    """Write the plan: the manifest without its files, and the paths to make."""
    text = json.dumps({**shared, "todo": paths}, ensure_ascii=False)
    write_whole(root / BUILD_FOLDER / PLAN, text)


def add_to_journal(root: Path, path: str, entry: FileEntry) -> None:
    """Enter a file that is whole, with its manifest entry."""
    line = json.dumps({"path": path, "entry": entry}, ensure_ascii=False)
    with (root / BUILD_FOLDER / JOURNAL).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
