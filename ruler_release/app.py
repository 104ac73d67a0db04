"""The `ruler` command: its application, to which the commands are added.

A mistake that the user can correct ends with one sentence and exit code 2; its traceback is logged
with `ruler --debug` alone.
"""

from __future__ import annotations

import io
import logging
import signal
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from ruler_common.errors import RulerError
from ruler_common.text import plain, without_passwords
from ruler_release.commands import batch, sources
from ruler_release.commands.build import build, list_release, verify
from ruler_release.commands.compare import analyze, compare
from ruler_release.commands.doctor import doctor
from ruler_release.commands.export import export
from ruler_release.commands.hub import fetch, push, results
from ruler_release.commands.quickstart import example, quickstart
from ruler_release.commands.report import report, show
from ruler_release.commands.run import decide, run
from ruler_release.commands.score import errors, score

log = logging.getLogger("ruler")
app = typer.Typer(
    help="Frozen RULER and ONERULER long-context test sets: build, verify, load, run, score.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Start": (quickstart, example),
    "Build": (build, verify, list_release, fetch),
    "Run": (run, doctor),
    "Score": (score, errors, compare, decide, show, report, analyze),
    "Publish": (push, results, export),
    "Maintain": (sources.tokenizers,),
}
"""The commands, in the order in which they are used, as `ruler --help` groups them."""
for panel, commands in PANELS.items():
    for command in commands:
        name = "list" if command is list_release else None
        app.command(name, rich_help_panel=panel)(command)
app.add_typer(batch.app, name="batch", rich_help_panel="Run")
app.add_typer(sources.app, rich_help_panel="Maintain")


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"ruler-release {version('ruler-release')}")
        raise typer.Exit


def _discreet(text: str) -> str:
    from ruler_eval.run.backends.secrets import hide_keys

    return plain(hide_keys(text))


class _Discreet(logging.Formatter):
    """Lines of the log, tracebacks too, without keys and passwords."""

    def format(self, record: logging.LogRecord) -> str:
        return _discreet(without_passwords(super().format(record)))


def _record(*args: Any, **kwargs: Any) -> logging.LogRecord:
    """A message of the log without the passwords in addresses; huggingface_hub prints its own."""
    found = logging.LogRecord(*args, **kwargs)
    text = found.getMessage()
    if (clean := without_passwords(text)) != text:
        found.msg, found.args = clean, ()
    return found


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Log what is done, and errors with their traceback.")
    ] = False,
) -> None:
    """Options that stand before the command: `ruler --debug build …`."""
    if debug:
        shown = logging.StreamHandler()
        shown.setFormatter(_Discreet("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.basicConfig(level=logging.INFO, handlers=[shown])
        for name in ("ruler_builder", "ruler_eval", log.name):
            logging.getLogger(name).setLevel(logging.DEBUG)


class _Stopped(BaseException):
    """Ctrl-C; typer would end the program on a KeyboardInterrupt without a word."""


def _stop(*_: object) -> None:
    raise _Stopped


_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises for a command line that is none; it exports no name for it."""


def _sentence(text: object) -> str:
    """What an error says, in one line that a terminal shows and does not obey, without keys."""
    return _discreet("\\n".join(str(text).splitlines()))


def _usage(error: Any) -> str:
    """The sentence for a wrong command line: it repeats the user's words, whatever they hold."""
    path = error.ctx.command_path if error.ctx else "ruler"
    said = error.format_message().rstrip(". ")
    return f"{said}{'' if said.endswith('?') else '.'} See: {path} --help"


def main() -> None:
    """Run the command line; a mistake in it, or a RulerError, is one sentence and exit code 2."""
    signal.signal(signal.SIGINT, _stop)
    logging.setLogRecordFactory(_record)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an ASCII terminal shows é as \xe9
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(app(prog_name="ruler", standalone_mode=False))
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # the help is shown
            sys.exit(0 if len(sys.argv) == 1 else 2)
        typer.echo(f"Error: {_sentence(_usage(error))}", err=True)
        sys.exit(2)
    except typer.Abort:
        sys.exit(1)
    except (RulerError, OSError) as error:  # OSError: a full disk, a folder not to be written
        log.debug("The traceback", exc_info=True)
        kept = "" if isinstance(error, RulerError) else ". What was finished is kept."
        typer.echo(f"Error: {_sentence(error)}{kept}", err=True)
        sys.exit(2)
    except _Stopped:
        typer.echo("Stopped; what was finished is kept. The same command goes on.", err=True)
        sys.exit(130)
