"""What an unfinished build has planned and made, on disk (common/build_folder.py names the files).

write_plan(root, shared, paths)
append(root, path, entry)           # once a file is whole
read_journal(root)                  # {path: entry} of the files that are there and right
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from typing_extensions import TypedDict

from ruler_builder.common.build_folder import BUILD_FOLDER, JOURNAL, PLAN
from ruler_common.errors import RulerError
from ruler_common.files import lines_of, sha256_of, write_whole
from ruler_common.manifest_form import FileEntry, Manifest
from ruler_common.parsing import parse_json


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


def append(root: Path, path: str, entry: FileEntry) -> None:
    """Enter a file that is whole, with its manifest entry."""
    line = json.dumps({"path": path, "entry": entry}, ensure_ascii=False)
    with (root / BUILD_FOLDER / JOURNAL).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
