"""Create commands from dataclasses: a field with an `Option` becomes a flag.

    command("verify", VerifyOptions, verify)

The dataclass checks its values, so that a Python call and a command have the same checks. What
click does not have is here too: flags in panels, examples at the end of the help, flags that every
command has, and the line that turns completion on.
"""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

import click

from ruler_common.errors import RulerError
from ruler_common.options import Flag, Option, create, flag_of, flags_of
from ruler_common.text import (
    command_line,
    end_if_unread,
    hide_progress,
    plain,
    without_passwords,
)
from ruler_release import completion

Options = TypeVar("Options")
TYPES: dict[type, click.ParamType[Any]] = {int: click.INT, float: click.FLOAT, str: click.STRING}
_EVAL = 'if command -v ruler >/dev/null; then eval "$(_RULER_COMPLETE={shell}_source ruler)"; fi'
# zsh has no `compdef` until compinit has run, which a new ~/.zshrc does not do
_COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit };"
SHELLS = {
    "bash": ("~/.bashrc", _EVAL.format(shell="bash")),
    "zsh": (
        "~/.zshrc",
        _EVAL.format(shell="zsh").replace("then ", f"then {_COMPINIT} ", 1),
    ),
    "fish": (
        "~/.config/fish/config.fish",
        "type -q ruler; and _RULER_COMPLETE=fish_source ruler | source",
    ),
}
"""For each shell: its startup file, and the line that turns completion on where `ruler` exists."""


def command(name: str, kind: type[Options], act: Callable[[Options], None]) -> PanelCommand:
    """Return the command `name`, which calls `act` with the options that its flags set."""
    help, examples = _help_and_examples(act)
    options = _options_by_flag(kind)
    names = {option.other_name: name for name, option in options.items() if option.other_name}
    return PanelCommand(
        name,
        options=options,
        context_settings={"token_normalize_func": lambda name: names.get(name, name)},
        params=parameters_of(kind),
        callback=lambda **flags: end_if_unread(lambda: act(read_options(kind, flags))),
        help=help,
        epilog=examples,
    )


def _help_and_examples(act: Callable[..., None]) -> tuple[str, str]:
    """Split a docstring into its text and its examples, which the help shows at the end."""
    paragraphs = (inspect.getdoc(act) or "").split("\n\n")
    examples = [text for text in paragraphs if text.startswith("Example")]
    rest = [text for text in paragraphs if text not in examples]
    # \b: click keeps the lines of such a paragraph as they are, so that they can be copied
    return "\n\n".join(rest), "\n\n".join(f"\b\n{text}" for text in examples)


def parameters_of(kind: type) -> list[click.Parameter]:
    """Return click's parameter for each flag or argument of a dataclass."""
    return [_parameter(name, flag) for name, flag in flags_of(cast(Any, kind)).items()]


def _options_by_flag(kind: type) -> dict[str, Option]:
    """Return the option of each flag."""
    return {name: flag.option for name, flag in flags_of(cast(Any, kind)).items()}


def read_options(kind: Callable[..., Options], flags: dict[str, Any]) -> Options:
    """Create the options from the values of flags; a flag without a value keeps its default."""
    values = {}
    for name, value in flags.items():
        if value is None or value == ():
            continue
        option = flags_of(kind)[name].option
        values[name] = value if option.parse is None else option.parse(value)
        if values[name] == ():
            raise RulerError(
                f"{flag_of(name, option)} names nothing: give a name, or leave it out."
            )
    return create(kind, **values)


def _parameter(name: str, flag: Flag) -> click.Parameter:
    """Return click's parameter for a flag or an argument."""
    option, required = flag.option, flag.default is MISSING
    kind, several = _plain_type(flag.hint)
    if option.parse is not None:
        kind = click.STRING
    metavar = option.metavar
    if option.choices:
        metavar = metavar or f"[{'|'.join(option.choices)}]"

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[Any]:
        return _completed(context, name, option, incomplete)

    completes = complete if option.choices or name in completion.NAMES else None
    if option.argument:
        return click.Argument(
            [name],
            type=kind,
            nargs=-1 if several else 1,
            required=required,
            metavar=metavar,
            shell_complete=completes,
        )
    flags = [flag_of(name, option), name]
    if option.short:
        flags.append(option.short)
    # if there is any default, even None, click does not require the flag
    default_of_click: dict[str, Any] = {} if required else {"default": None}
    return click.Option(
        flags,
        type=None if kind is bool else kind,
        is_flag=True if kind is bool else None,  # with False a value could not begin with -
        multiple=option.repeatable,
        required=required,
        metavar=metavar,
        help=option.text + _bounds(option, flag.default),
        envvar=option.envvar,
        shell_complete=completes,
        **default_of_click,
    )


class _PathType(click.Path):
    """A path, but not the empty text of a shell variable that is not set, which means `.`."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("it is empty: name a file or a folder.", param, ctx)
        return super().convert(value, param, ctx)


def _plain_type(hint: Any) -> tuple[Any, bool]:
    """Return click's type for a field's type, and whether the field takes several values."""
    if get_origin(hint) is Annotated:
        return _plain_type(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
        several = any(get_origin(kind) in (tuple, Iterable) for kind in kinds)
        return _plain_type(Path if Path in kinds else kinds[0])[0], several
    if get_origin(hint) is tuple:
        return _plain_type(get_args(hint)[0])[0], True
    if hint is bool:
        return bool, False
    if hint is Path:
        return _PathType(), False
    return TYPES.get(hint, click.STRING), False


def _bounds(option: Option, default: Any) -> str:
    """Return the default and the bounds of a flag for its help: `  [default: 32; 1 to 1000]`."""
    facts = []
    if default not in (MISSING, None, False, "", ()):
        facts.append(f"default: {', '.join(default) if isinstance(default, tuple) else default}")
    if option.min is not None and option.max is not None:
        facts.append(f"{option.min:g} to {option.max:g}")
    elif option.min is not None:
        facts.append(f"more than {option.min:g}" if option.above else f"{option.min:g} or more")
    return f"  [{'; '.join(facts)}]" if facts else ""


def _completed(context: click.Context, name: str, option: Option, incomplete: str) -> list[Any]:
    """Return the completions of the text typed so far."""
    if option.choices:
        return [name for name in option.choices if name.startswith(incomplete)]
    try:
        return completion.NAMES[name](context.params, incomplete)
    except RulerError:  # the command reports it when it is run
        return []


class PanelCommand(click.Command):
    """A command whose help shows its flags by panel."""

    def __init__(self, name: str, *, options: Mapping[str, Option], **more: Any) -> None:
        super().__init__(name, **more)
        self.options = options
        self.params += common_flags(hidden=True)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the flags; a release that is named without its flag gets a hint."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            _, without_flag, _ = self.make_parser(ctx).parse_args(words)
            if without_flag and error.param is not None and error.param.name == "dataset":
                named = command_line("--dataset", without_flag[0])
                raise click.UsageError(f"Did you mean {named}?", ctx) from None
            raise

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: `format_options` writes the arguments."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each panel, in the order of the fields."""
        _write_panels(self, self.options, ctx, formatter)


class PanelGroup(click.Group):
    """A group whose help shows its commands by panel."""

    def __init__(
        self, name: str, *, options: Mapping[str, Option] | None = None, **more: Any
    ) -> None:
        super().__init__(name, **more)
        self.options = options or {}
        self.panels: dict[str, str] = {}
        self.params += common_flags(hidden=name != "ruler")

    @classmethod
    def with_own_flags(
        cls, name: str, kind: type[Options], act: Callable[[Options], None]
    ) -> PanelGroup:
        """Return a group that calls `act`, as a command does, if no subcommand is named."""

        def callback(**flags: Any) -> None:
            if click.get_current_context().invoked_subcommand is None:
                act(read_options(kind, flags))

        help, examples = _help_and_examples(act)
        return cls(
            name,
            options=_options_by_flag(kind),
            params=parameters_of(kind),
            callback=callback,
            invoke_without_command=True,
            help=help,
            epilog=examples,
        )

    def add_panel(self, panel: str, commands: Sequence[click.Command]) -> None:
        """Add commands that the help shows together."""
        for command in commands:
            self.add_command(command)
            self.panels[command.name or ""] = panel

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the flags, then the commands by panel, in the order in which they were added."""
        _write_panels(self, self.options, ctx, formatter)
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            panel = self.panels.get(name, "Commands")
            panels.setdefault(panel, []).append((name, (command.help or "").split("\n\n")[0]))
        for panel, records in panels.items():
            with formatter.section(panel):
                formatter.write_dl(records)


def common_flags(hidden: bool) -> list[click.Parameter]:
    """Return the flags that every command has; only the help of `ruler` itself shows them."""

    def act(does: Callable[[], None]) -> Callable[..., None]:
        return lambda context, parameter, is_set: does() if is_set else None

    return [
        click.Option(
            [name], is_flag=True, expose_value=False, hidden=hidden, callback=act(does), help=help
        )
        for name, does, help in (
            ("--debug", log_to_stderr, "Log each step, and errors with their traceback."),
            ("--quiet", hide_progress, "Show no progress, only results, warnings and errors."),
        )
    ]


def log_to_stderr() -> None:
    """Log the steps of the program to stderr, without keys and passwords."""
    handler = logging.StreamHandler()
    handler.setFormatter(_SafeFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for name in ("ruler_builder", "ruler_eval", "ruler"):
        logging.getLogger(name).setLevel(logging.DEBUG)


class _SafeFormatter(logging.Formatter):
    """Formats log lines and tracebacks without keys and passwords."""

    def format(self, record: logging.LogRecord) -> str:
        return safe(without_passwords(super().format(record)))


def safe(text: str) -> str:
    """Return a text without keys, and with control characters escaped."""
    from ruler_eval.run.secrets import hide_keys

    return plain(hide_keys(text))


def _write_panels(
    command: click.Command,
    options: Mapping[str, Option],
    ctx: click.Context,
    formatter: click.HelpFormatter,
) -> None:
    """Write a section of the help for each panel, in the order of the fields."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        option = options.get(parameter.name or "")
        panel = (option.panel if option else None) or "Options"
        record = parameter.get_help_record(ctx)
        if isinstance(parameter, click.Argument) and option is not None:
            panel, record = "Arguments", (parameter.make_metavar(ctx), option.help)
        if record is not None:
            panels.setdefault(panel, []).append(record)
    for panel, records in panels.items():
        with formatter.section(panel):
            formatter.write_dl(records, col_max=28)


def completion_line() -> tuple[str, str]:
    """Return the startup file of the user's shell, and the line for it. Raises RulerError."""
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in SHELLS:
        raise RulerError(
            f"The shell '{shell}' is not one of {', '.join(SHELLS)}: set SHELL to one of them."
        )
    return SHELLS[shell]
