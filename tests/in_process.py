"""Run `ruler`, in this process or as a process.

    done = ruler("list", root)                     # what a process would print and return
    subprocess.run(ruler_command("list", root))    # a process, where a signal or a start matters

That both do the same is shown where commands are run as users write them: the README's, the
wheel's, the card's.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ruler_release.app


class Printed(NamedTuple):
    """How a command ended, and what it printed."""

    stdout: str
    stderr: str
    code: Any


@contextlib.contextmanager
def as_program(arguments: Sequence[object], folder: Path | None) -> Iterator[None]:
    """A command line in place of this program's, in a folder."""
    there, argv = Path.cwd(), sys.argv
    interrupted = signal.getsignal(signal.SIGINT)
    os.chdir(folder or there)
    sys.argv = ["ruler", *map(str, arguments)]
    try:
        yield
    finally:
        os.chdir(there)
        sys.argv = argv
        signal.signal(signal.SIGINT, interrupted)


def ruler(*arguments: object, cwd: Path | None = None) -> Printed:
    """Run `ruler ARGUMENTS` by the program's own entry point."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    with (
        as_program(arguments, cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            ruler_release.app.main()
        except SystemExit as end:
            code = end.code or 0
    return Printed(out.getvalue(), err.getvalue(), code)


def ruler_command(*arguments: object) -> list[str]:
    """Return the command line of `ruler ARGUMENTS` as a process."""
    return [sys.executable, "-m", "ruler_release", *map(str, arguments)]


def ruler_output(*arguments: object, cwd: Path | None = None) -> str:
    """Run `ruler ARGUMENTS`, which must succeed, and return what it prints."""
    done = ruler(*arguments, cwd=cwd)
    assert done.code == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def ruler_error(*arguments: object, cwd: Path | None = None) -> str:
    """Run `ruler ARGUMENTS`, which must end with exit code 2, and return its error message."""
    done = ruler(*arguments, cwd=cwd)
    assert done.code == 2, f"{done.stdout}\n{done.stderr}"
    return done.stderr
