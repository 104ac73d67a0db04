"""Run `ruler` in this process, as a user's shell would, and watch every byte it writes.

    done = Sandbox(folder).run("list", "case/ruler")
    done.code, done.stderr, done.faults()

The folder holds sound files in `base`; a case copies some of them to `case`, damages one and runs a
command, which may write into `case` alone. What Python opens for writing, makes, renames or removes
is seen by an audit hook; what a library writes by itself is seen by listing the folders around.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruler_common.text import plain
from tests.in_process import ruler

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = (
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.symlink",
    "os.link",
    "os.truncate",
)
_LINKS = ("os.symlink", "os.link")
"""The first name is what they lead to, and is not written."""
_seen: list[str] | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is None:
        return
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, str | bytes | os.PathLike) and flags & _WRITES:
            _seen.append(os.path.abspath(os.fsdecode(path)))
    elif event in ("os.remove", "os.rmdir") and arguments[1] != -1:
        return  # a name within a folder that is being removed: the listing sees what is gone
    elif event in _CHANGES:
        made = arguments[1:2] if event in _LINKS else arguments[:2]
        names = (name for name in made if isinstance(name, str | bytes | os.PathLike))
        _seen.extend(os.path.abspath(os.fsdecode(name)) for name in names)


sys.addaudithook(_hook)


@dataclass(frozen=True, kw_only=True)
class Done:
    """How a command ended, what it printed, and what it wrote where it may not."""

    code: object
    stdout: str
    stderr: str
    outside: list[str]

    def faults(self) -> list[str]:
        """What is wrong with how it ended: nothing, if there is a result or one sentence."""
        shown = self.stdout + self.stderr
        found = [f"wrote {path}" for path in self.outside]
        if self.code not in (0, 1, 2, 3):
            found.append(f"exit code {self.code}")
        if "Traceback" in self.stderr:
            found.append(self.stderr)
        if plain(shown) != shown:
            found.append(f"printed what a terminal obeys: {shown!r}")
        if self.code == 2 and not self.stderr.rstrip().rpartition("\n")[2].startswith("Error: "):
            found.append(f"no sentence at the end: {self.stderr!r}")
        return found


def _was_temporary(path: str) -> bool:
    """Whether a path was in a folder of tempfile's that is gone."""
    made = re.match(re.escape(os.path.join(tempfile.gettempdir(), "tmp")) + "[a-z0-9_]+", path)
    return made is not None and not os.path.lexists(made[0])


Listing = set[tuple[str, int]]
"""Paths, each with the time of its last change."""


class Sandbox:
    """A folder in which commands run; its folder `case` is theirs, and nothing besides."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.base, self.case = folder, folder / "base", folder / "case"
        caches = (os.environ["RULER_CACHE"], os.environ["HF_HOME"])
        self.free = (*caches, "/dev/null", str(self.case))
        self._known: Listing | None = None

    def new(self, *folders: str) -> None:
        """An empty case that holds links to sound folders, whose files are to be replaced."""
        if self.case.exists():
            _clear(str(self.case))
        else:
            self.case.mkdir()
        for name in folders:
            _link(f"{self.base}/{name}", f"{self.case}/{name}")

    def write(self, path: str, data: str | bytes) -> None:
        """Put a file into the case, in place of the one that is there."""
        file = self.case / path
        file.unlink(missing_ok=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)

    def run(self, *arguments: object) -> Done:
        """Run `ruler ARGUMENTS` in the folder, by the program's own entry point."""
        global _seen
        before = self._around() if self._known is None else self._known
        _seen = []
        try:
            done = ruler(*arguments, cwd=self.folder)
        finally:
            seen, _seen = _seen, None
        wrote = [path for path in seen if not path.startswith(self.free)]
        wrote = [path for path in wrote if not _was_temporary(path)]
        outside = [path for path in wrote if "__pycache__" not in path]
        self._known = self._around()
        outside += [name for name, _ in before ^ self._known]
        return Done(**done._asdict(), outside=outside)

    def _around(self) -> Listing:
        """Every file around the case, with the time of its last change."""
        found: Listing = set()
        waiting = [str(self.folder)]
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.name == "case":
                        continue
                    found.add((entry.path, entry.stat(follow_symlinks=False).st_mtime_ns))
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        return found


def _link(source: str, target: str) -> None:
    os.mkdir(target)
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_dir():
                _link(entry.path, f"{target}/{entry.name}")
            else:
                os.link(entry.path, f"{target}/{entry.name}")


def _clear(folder: str) -> None:
    """Remove what is in a folder; shutil.rmtree takes several times as long."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _clear(entry.path)
                os.rmdir(entry.path)
            else:
                os.unlink(entry.path)
