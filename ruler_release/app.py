"""The `ruler` command: its commands, and how errors end it.

A mistake that the user can correct ends with one sentence and exit code 2; its traceback is logged
only with `ruler --debug`.
"""

from __future__ import annotations

import io
import logging
import signal
import sys
from typing import Any

import click

from ruler_common.errors import RulerError
from ruler_common.text import plain, without_passwords
from ruler_eval.publish import ResultsOptions
from ruler_eval.report.options import ReportOptions
from ruler_release.command_line import PanelGroup, command, install_completion
from ruler_release.commands import (
    batch,
    build,
    compare,
    doctor,
    export,
    hub,
    quickstart,
    report,
    run,
    score,
    sources,
)

log = logging.getLogger("ruler")


def _install_completion(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        print(install_completion())
        context.exit()


def _log(debug: bool) -> None:
    """Log what is done, if --debug was given."""
    if not debug:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(_SafeFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for name in ("ruler_builder", "ruler_eval", log.name):
        logging.getLogger(name).setLevel(logging.DEBUG)


app = PanelGroup(
    "ruler",
    help="Frozen RULER and ONERULER long-context test sets: build, verify, load, run, score.",
    no_args_is_help=True,
    callback=_log,
    params=[
        click.Option(
            ["--install-completion"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_install_completion,
            help="Let the shell complete configurations, backends and suites.",
        ),
        click.Option(
            ["--debug"], is_flag=True, help="Log what is done, and errors with their traceback."
        ),
    ],
)
app = click.version_option(
    package_name="ruler-release", prog_name="ruler-release", message="%(prog)s %(version)s"
)(app)
BATCH = PanelGroup(
    "batch",
    help="Run through batch files: OpenAI's and other half-price APIs, or `vllm run-batch`.",
    no_args_is_help=True,
    commands=[
        command("write", batch.BatchWriteCommand, batch.write),
        command("read", batch.BatchReadCommand, batch.read),
    ],
)
SOURCES = PanelGroup.with_own_flags("sources", sources.SourcesCommand, sources.list_sources)
SOURCES.add_command(command("fetch", sources.FetchSourcesCommand, sources.fetch))
PANELS: dict[str, tuple[click.Command, ...]] = {
    "Start": (
        command("quickstart", quickstart.QuickstartCommand, quickstart.quickstart),
        command("example", quickstart.ExampleCommand, quickstart.example),
    ),
    "Build": (
        command("build", build.BuildCommand, build.build),
        command("verify", build.VerifyCommand, build.verify),
        command("list", build.ListCommand, build.list_release),
        command("fetch", hub.FetchCommand, hub.fetch),
    ),
    "Run": (
        command("eval", run.EvalCommand, run.evaluate),
        command("run", run.RunCommand, run.run),
        command("doctor", doctor.DoctorCommand, doctor.doctor),
        BATCH,
    ),
    "Score": (
        command("score", score.ScoreCommand, score.score),
        command("errors", score.ErrorsCommand, score.errors),
        command("compare", compare.CompareCommand, compare.compare),
        command("decide", run.DecideCommand, run.decide),
        command("show", report.ShowCommand, report.show),
        command("report", ReportOptions, report.report),
        command("analyze", compare.AnalyzeCommand, compare.analyze),
    ),
    "Publish": (
        command("push", hub.PushCommand, hub.push),
        command("results", ResultsOptions, hub.results),
        command("export", export.ExportCommand, export.export),
    ),
    "Maintain": (
        command("tokenizers", sources.TokenizersCommand, sources.tokenizers),
        SOURCES,
    ),
}
"""The commands, in the order in which they are used, as `ruler --help` groups them."""
for _panel, _commands in PANELS.items():
    app.add_panel(_panel, _commands)


class _SafeFormatter(logging.Formatter):
    """Lines of the log, tracebacks too, without keys and passwords."""

    def format(self, record: logging.LogRecord) -> str:
        return _safe(without_passwords(super().format(record)))


def _record(*args: Any, **kwargs: Any) -> logging.LogRecord:
    """Return a message of the log without the passwords in addresses.

    Huggingface_hub prints its own.
    """
    record = logging.LogRecord(*args, **kwargs)
    text = record.getMessage()
    if (clean := without_passwords(text)) != text:
        record.msg, record.args = clean, ()
    return record


class _Stopped(BaseException):
    """Ctrl-C; click would end the program on a KeyboardInterrupt without a word."""


def _stop(*_: object) -> None:
    raise _Stopped


def _safe(text: str) -> str:
    """Return a text without keys, and without characters that a terminal obeys."""
    from ruler_eval.run.backends.secrets import hide_keys

    return plain(hide_keys(text))


def _sentence(text: object) -> str:
    """Return what an error says, in one line."""
    return _safe("\\n".join(str(text).splitlines()))


def _usage(error: click.UsageError) -> str:
    """Return the sentence for a wrong command line.

    It repeats the user's words, whatever they hold.
    """
    path = error.ctx.command_path if error.ctx else "ruler"
    message = error.format_message().rstrip(". ")
    if isinstance(error, click.NoSuchOption) and error.option_name in ("--dataset", "-d"):
        return (
            f"`{path}` takes no {error.option_name}, which names a release that exists: write "
            "--suite ruler or --suite oneruler."
        )
    if isinstance(error, click.NoSuchOption):
        message = f"No such option '{error.option_name}'"
        if error.possibilities:
            message += f". Did you mean '{error.possibilities[0]}'?"
    if not message.endswith("?"):
        message += "."
    return f"{message} See: {path} --help"


def main() -> None:
    """Run the command line; a mistake in it, or a RulerError, is one sentence and exit code 2."""
    signal.signal(signal.SIGINT, _stop)
    logging.setLogRecordFactory(_record)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # an ASCII terminal shows é as \xe9
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app.main(prog_name="ruler", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        sys.exit(0 if len(sys.argv) == 1 else 2)
    except click.UsageError as error:
        print(f"Error: {_sentence(_usage(error))}", file=sys.stderr)
        sys.exit(2)
    except click.Abort:
        sys.exit(1)
    except (RulerError, OSError) as error:  # OSError: a full disk, a folder not to be written
        log.debug("The traceback", exc_info=True)
        kept = "" if isinstance(error, RulerError) else ". What was finished is kept."
        print(f"Error: {_sentence(error)}{kept}", file=sys.stderr)
        sys.exit(2)
    except _Stopped:
        print(
            "Stopped; what was finished is kept. Run the same command to continue.", file=sys.stderr
        )
        sys.exit(130)
