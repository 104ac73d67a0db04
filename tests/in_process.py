"""Run `ruler`, in this process or as a separate process.

    done = ruler("list", root)                     # stdout, stderr and exit code
    subprocess.run(ruler_command("list", root))    # if a test needs signals or the start-up

The tests of the README, the wheel and the card run the real program, as users do.
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


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


class Printed(NamedTuple):
    """The output of a command and its exit code."""

    stdout: str
    stderr: str
    code: Any


@contextlib.contextmanager
def as_program(arguments: Sequence[object], folder: Path | None) -> Iterator[None]:
    """Replace this program's arguments and current folder for the block."""
    old_folder, old_arguments = Path.cwd(), sys.argv
    old_handler = signal.getsignal(signal.SIGINT)
    os.chdir(folder or old_folder)
    sys.argv = ["ruler", *map(str, arguments)]
    try:
        yield
    finally:
        os.chdir(old_folder)
        sys.argv = old_arguments
        signal.signal(signal.SIGINT, old_handler)


def ruler(*arguments: object, cwd: Path | None = None) -> Printed:
    """Run `ruler ARGUMENTS` through the program's entry point."""
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
