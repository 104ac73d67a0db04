"""Run `ruler` in this process, as a user's shell would, and watch every byte it writes.

    done = Watch(folder).run("list", "case/ruler", may_write="case/OUT")
    done.code, done.stderr, done.outside

What Python opens for writing, makes, renames or removes is seen by an audit hook; what a library
writes by itself is seen by listing the folders around.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import ruler_cli

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
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys instead of showing it: escapes, and signs that turn the writing around."""
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

    def check(self) -> None:
        """Nothing but a result or one sentence, and no byte anywhere else."""
        assert self.code in (0, 1, 2, 3), self
        assert "Traceback" not in self.stderr, self
        assert not self.outside, self
        usage = "╭─ Error" in self.stderr  # typer's, which repeats the user's own words
        assert usage or not _UNSAFE.search(self.stdout + self.stderr), self
        if self.code == 2:
            assert usage or self.stderr.splitlines()[-1].startswith("Error: "), self


def _was_temporary(path: str) -> bool:
    """Whether a path was in a folder of tempfile's that is gone."""
    made = re.match(re.escape(os.path.join(tempfile.gettempdir(), "tmp")) + "[a-z0-9_]+", path)
    return made is not None and not os.path.lexists(made[0])


class Watch:
    """A folder in which commands run; its folder `case` is theirs, and nothing besides."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.case = folder / "case"
        caches = (os.environ["RULER_CACHE"], os.environ["HF_HOME"])
        self.free = (*caches, "/dev/null", str(self.case))
        self.command = typer.main.get_command(ruler_cli.app)

    def run(self, *arguments: object) -> Done:
        """Run `ruler ARGUMENTS` in the folder, by the program's own entry point."""
        global _seen
        before, out, err = self._around(), io.StringIO(), io.StringIO()
        code: object = 0
        with self._as_program(arguments):
            _seen = []
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    ruler_cli.main()
            except SystemExit as end:
                code = end.code or 0
            finally:
                seen, _seen = _seen or [], None
        wrote = [path for path in seen if not path.startswith(self.free)]
        wrote = [path for path in wrote if not _was_temporary(path)]
        outside = [path for path in wrote if "__pycache__" not in path]
        outside += [name for name, _ in before ^ self._around()]
        return Done(code=code, stdout=out.getvalue(), stderr=err.getvalue(), outside=outside)

    @contextlib.contextmanager
    def _as_program(self, arguments: tuple[object, ...]) -> Iterator[None]:
        """The command line in place; the commands are read once, which takes most of the time."""
        there, argv, app = Path.cwd(), sys.argv, ruler_cli.app
        os.chdir(self.folder)
        sys.argv = ["ruler", *map(str, arguments)]
        ruler_cli.app = self.command  # type: ignore[assignment]
        try:
            yield
        finally:
            os.chdir(there)
            sys.argv, ruler_cli.app = argv, app

    def _around(self) -> set[tuple[str, int]]:
        """Every file around the case, with the time of its last change."""
        found: set[tuple[str, int]] = set()
        waiting = [str(self.folder)]
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.path == str(self.case):
                        continue
                    found.add((entry.path, entry.stat(follow_symlinks=False).st_mtime_ns))
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        return found
