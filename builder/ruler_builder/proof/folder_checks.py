"""Check what stands in a release's folder: plain files, each listed or the project's own.

    no_plain_file(root, "data/tekken/4k/vt.parquet")     # "a link", "a named pipe", …; "" if it is
    for name, what in strangers(root, manifest): ...     # under data/, where nothing else may be
    beside(root)                                         # what else is there, which no law is about

What is no plain file is named and never opened: a link leads out of the folder, and whoever opens a
named pipe waits for ever.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ruler_builder.card import croissant, eval_yaml
from ruler_builder.card.card_files import CARD
from ruler_builder.common.build_folder import BUILD_FOLDER
from ruler_common.manifest_form import MANIFEST, Manifest

_DATA = "data"
_OWN = {_DATA, CARD, MANIFEST, eval_yaml.FILE, croissant.FILE, BUILD_FOLDER, ".fetch"}
_OF_THE_HUB = {".gitattributes"}


def no_plain_file(root: Path, name: str) -> str:
    """What a path of a release is instead of a plain file in it; "" if it is one, or not there.

    So is a path on which a folder is a link.
    """
    path = root
    for part in Path(name).parts:
        path /= part
        try:
            mode = path.lstat().st_mode
        except OSError:
            return ""
        if stat.S_ISLNK(mode):
            return "a link"
    return "" if stat.S_ISREG(mode) else "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"


def strangers(root: Path, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """What else than folders and listed files stands under data/, hidden or not, and why not."""
    if no_plain_file(root, _DATA) == "a link":
        yield _DATA, "it is a link: put the files themselves into the release"
        return
    unread: list[OSError] = []
    for folder, folders, names in os.walk(root / _DATA, onerror=unread.append):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for found in sorted(Path(folder, name) for name in [*links, *names]):
            name = found.relative_to(root).as_posix()
            if name not in manifest["files"]:
                kind = no_plain_file(root, name)
                yield name, f"{kind or 'the file'} is not in the manifest"
    for error in unread:
        name = Path(error.filename).relative_to(root).as_posix()
        if (root / name).exists():
            yield name, "the folder cannot be read"


def beside(root: Path) -> list[str]:
    """What stands beside a release's own files and folders, in order; folders end with a slash."""
    found = (path for path in root.iterdir() if path.name not in _OWN | _OF_THE_HUB)
    return sorted(f"{path.name}/" if path.is_dir() else path.name for path in found)
