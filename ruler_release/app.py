"""The `ruler` command: its subcommands and its error handling.

An error that the user can correct ends the command with one sentence and exit code 2; with
`--debug` its traceback is logged.
"""

from __future__ import annotations

import io
import logging
import signal
import sys
from collections.abc import Sequence
from typing import Any

import click

from ruler_common.errors import DISTRIBUTION, RulerError, system_error_sentence
from ruler_common.text import note, without_passwords
from ruler_eval.export.options import ExportOptions
from ruler_eval.publish_options import ResultsOptions
from ruler_eval.report.options import ReportOptions
from ruler_release.command_line import PanelGroup, command, completion_line, safe
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
from ruler_release.config_file import with_config_file

log = logging.getLogger("ruler")
MAX_OWNERS = 3
"""How many commands with a flag are named to someone who gave it to another command."""


def _print_completion(context: click.Context, _: click.Parameter, is_set: bool) -> None:
    if is_set:
        file, line = completion_line()
        note(f"Add this line to {file}:")
        print(line)
        context.exit()


app = PanelGroup(
    "ruler",
    help="Frozen RULER and ONERULER long-context test sets: build, verify, load, run, score.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[
        click.Option(
            ["--install-completion"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_completion,
            help="Print the line for your shell that completes configurations and other names.",
        ),
    ],
)
app = click.version_option(
    package_name=DISTRIBUTION, prog_name=DISTRIBUTION, message="%(prog)s %(version)s"
)(app)
BATCH = PanelGroup(
    "batch",
    help="Run with batch files: half-price batch APIs such as OpenAI's, or `vllm run-batch`.",
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
        with_config_file(command("eval", run.EvalCommand, run.evaluate)),
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
        command("export", ExportOptions, export.export),
    ),
    "Maintain": (
        command("tokenizers", sources.TokenizersCommand, sources.tokenizers),
        SOURCES,
    ),
}
"""The commands by their heading in `ruler --help`, in the order of their use."""
for _panel, _commands in PANELS.items():
    app.add_panel(_panel, _commands)


def _record(*args: Any, **kwargs: Any) -> logging.LogRecord:
    """Return a log record without passwords in URLs, also for huggingface_hub's handler."""
    record = logging.LogRecord(*args, **kwargs)
    text = record.getMessage()
    if (clean := without_passwords(text)) != text:
        record.msg, record.args = clean, ()
    return record


class _Stopped(BaseException):
    """Raised by Ctrl-C, because click ends the program silently on a KeyboardInterrupt."""


def _stop(*_: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C ends the program at once
    raise _Stopped


def _sentence(text: str) -> str:
    """Return the message of an error on one line."""
    return safe("\\n".join(text.splitlines()))


def _commands_with(flag: str) -> str:
    """Return the commands that have a flag, for a sentence; "" if none has it or many have."""
    names = []
    for name, its_command in app.commands.items():
        if any(flag in parameter.opts for parameter in its_command.params):
            names.append(f"`ruler {name}`")
    return ", ".join(names) if len(names) <= MAX_OWNERS else ""


def _path_of(words: Sequence[str]) -> str:
    """Return the command that words begin with, for an error of which click does not say it."""
    path = "ruler"
    group: click.Group = app
    for word in words:
        if word.startswith("-"):
            continue
        command = group.commands.get(word)
        if command is None:
            break
        path += f" {word}"
        if not isinstance(command, click.Group):
            break
        group = command
    return path


def _usage(error: click.UsageError) -> str:
    """Return the message for a wrong command line."""
    path = error.ctx.command_path if error.ctx else _path_of(sys.argv[1:])
    message = error.format_message().rstrip(". ")
    if isinstance(error, click.NoSuchOption) and error.option_name in ("--dataset", "-d"):
        return (
            f"`{path}` has no option {error.option_name}, which names an existing release: use "
            "--suite ruler or --suite oneruler."
        )
    if isinstance(error, click.NoSuchOption):
        for option in error.possibilities or ():
            if option.startswith(error.option_name):  # --config for --configs
                name = error.option_name
                return f"No such option '{name}'. Did you mean '{option}'? See: {path} --help"
    if isinstance(error, click.NoSuchOption) and (owners := _commands_with(error.option_name)):
        return f"`{path}` has no option {error.option_name}: it belongs to {owners}."
    if isinstance(error, click.NoSuchOption):
        message = f"No such option '{error.option_name}'"
        if error.possibilities:
            message += f". Did you mean '{error.possibilities[0]}'?"
    if not message.endswith("?"):
        message += "."
    parameter = getattr(error, "param", None)
    if error.ctx and isinstance(parameter, click.Argument):  # perhaps the order is wrong
        words = [path, *error.ctx.command.collect_usage_pieces(error.ctx)]
        return f"{message} Usage: {' '.join(words)}"
    return f"{message} See: {path} --help"


def main() -> None:
    """Run the command line; a mistake of the user is one sentence and exit code 2."""
    signal.signal(signal.SIGINT, _stop)
    logging.setLogRecordFactory(_record)
    # None if the shell closed it (`>&-`): what is printed then goes nowhere, as with print()
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
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
    except (RulerError, OSError) as error:  # OSError: a full disk, a folder that is not writable
        log.debug("The traceback", exc_info=True)
        text = str(error) if isinstance(error, RulerError) else system_error_sentence(error)
        print(f"Error: {_sentence(text)}", file=sys.stderr)
        sys.exit(2)
    except _Stopped:
        print("Stopped; finished work is kept. Run the same command to continue.", file=sys.stderr)
        sys.exit(130)
