"""Options of a command and its Python function: type, default, help and bounds in one place.

    @dataclass(frozen=True, kw_only=True)
    class RunOptions:
        out: Annotated[Path, Option("Folder of this run.", short="-o")]
        temperature: Annotated[float | None, Option("0 is greedy.", min=0)] = None

        def __post_init__(self) -> None:
            check_options(self)

A field with an `Option` is also a flag; a field without one exists only in Python. A field with
`OptionsOf` holds options of another dataclass by name, and each of them is a flag:

    run: Annotated[Mapping[str, Any], OptionsOf(RunOptions, names=("out", "temperature"))]
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

from ruler_common.errors import RulerError
from ruler_common.names import check_name

Place = str | Path
"""A file or a folder."""
NameOrNames = str | Iterable[str]
"""A name, or several names."""
Options = TypeVar("Options")


@dataclass(frozen=True)
class Option:
    """What a flag has besides the type and the default of its field."""

    help: str
    panel: str | None = None  # the heading above the flag in the help
    short: str | None = None  # such as "-o"
    flag: str | None = None  # the name of the flag, if it is not that of the field
    other_name: str | None = None  # a second spelling of the flag, which the help does not show
    min: float | None = None
    max: float | None = None
    above: bool = False  # whether a number must be greater than `min`, not only equal to it
    choices: tuple[str, ...] | None = None
    # Turns the text of the flag into the value; for a repeatable flag, the list of texts
    parse: Callable[[Any], Any] | None = None
    metavar: str | None = None  # the placeholder of the value in the help
    repeatable: bool = False
    argument: bool = False  # whether the value is written without a flag
    envvar: str | None = None  # the environment variable that is read without the flag
    default: str | None = None  # what the default is, if it is not the default of the field

    @property
    def text(self) -> str:
        """The help, with the default that is not the default of the field."""
        return f"{self.help} Default: {self.default}." if self.default else self.help


@dataclass(frozen=True)
class OptionsOf:
    """What a field needs that holds options of another dataclass: a mapping of those that are set.

    The command creates the other dataclass from them, and sets those that are not.
    """

    kind: Any
    names: tuple[str, ...]  # the options that are flags
    required: tuple[str, ...] = ()
    panel: str | None = None  # one heading above all of them, instead of their own
    defaults: Mapping[str, str] = field(default_factory=dict)  # what the command sets
    environment: bool = True  # whether flags that are not given are read from the environment


class Flag(NamedTuple):
    """A flag of a command."""

    hint: Any  # the type of its field
    option: Option
    default: Any  # MISSING if the flag is required
    holder: str | None = None  # the field that holds it, if its own dataclass is another one


@lru_cache
def hints_of(kind: Any) -> dict[str, Any]:
    """Return the annotations of a dataclass by field name."""
    return get_type_hints(kind, include_extras=True)


@lru_cache
def options_of(kind: Any) -> dict[str, Option]:
    """Return the options of a dataclass by field name."""
    options = {}
    for name, hint in hints_of(kind).items():
        for note in getattr(hint, "__metadata__", ()):
            if isinstance(note, Option):
                options[name] = note
    return options


@lru_cache
def flags_of(kind: Any) -> dict[str, Flag]:
    """Return the flags of a dataclass by name, also those of options that its fields hold."""
    flags = {}
    hints, options = hints_of(kind), options_of(kind)
    for place in fields(kind):
        if place.name in options:
            default = place.default
            if default is MISSING and place.default_factory is not MISSING:
                default = None
            flags[place.name] = Flag(hints[place.name], options[place.name], default)
        for note in getattr(hints[place.name], "__metadata__", ()):
            if isinstance(note, OptionsOf):
                flags.update(_held_flags(place.name, note))
    return flags


def _held_flags(holder: str, held: OptionsOf) -> dict[str, Flag]:
    """Return the flags of options that a field holds."""
    flags = {}
    for name in held.names:
        flag = flags_of(held.kind)[name]
        default = None if flag.default is MISSING else flag.default
        if name in held.required:
            default = MISSING
        option = replace(flag.option, panel=held.panel or flag.option.panel)
        if not held.environment:
            option = replace(option, envvar=None)
        if name in held.defaults:
            option, default = replace(option, default=held.defaults[name]), None
        flags[name] = Flag(flag.hint, option, default, holder)
    return flags


def create(kind: Callable[..., Options], *args: Any, **values: Any) -> Options:
    """Create options from the values of flags; those that a field holds are collected in it.

    A `~` at the start of a path becomes the user's home folder, because shells do not expand it in
    `--out=~/runs` and notebooks have no shell. Positional values are files and folders. A string of
    names is split at its commas, as on the command line.
    """
    args = tuple(_without_tilde(value) for value in args)
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        flag = flags_of(kind).get(name)
        if flag is not None and (name == "dataset" or _takes_path(flag.hint)):
            value = _without_tilde(value)
        if isinstance(value, str) and flag is not None and flag.option.parse is names_in:
            value = names_in(value)
        if isinstance(value, str) and flag is not None and _is_only_path(flag.hint):
            value = Path(value)
        if flag is None or flag.holder is None:
            arguments[name] = value
        else:
            arguments[flag.holder] = {**arguments.get(flag.holder, {}), name: value}
    return kind(*args, **arguments)


def _takes_path(hint: Any) -> bool:
    """Whether the type of a field has a path in it."""
    return hint is Path or any(_takes_path(part) for part in get_args(hint))


def _is_only_path(hint: Any) -> bool:
    """Whether a field has a path, and no text that names one."""
    kinds = get_args(get_args(hint)[0])  # without the Option
    return Path in kinds and str not in kinds


def _without_tilde(value: Any) -> Any:
    """Return a path, or several, with the user's folder instead of a `~` at the beginning."""
    if isinstance(value, Path):
        return Path(_without_tilde(str(value)))
    if isinstance(value, str):
        return os.path.expanduser(value)
    if isinstance(value, tuple | list):
        return type(value)(_without_tilde(part) for part in value)
    return value


def flag_of(name: str, option: Option) -> str:
    """Return the flag of a field: `--max-model-len`."""
    return option.flag or f"--{name.replace('_', '-')}"


def names_in(text: str) -> tuple[str, ...]:
    """Split names that are separated by commas or spaces."""
    return tuple(re.findall(r"[^\s,]+", text))


def several(names: NameOrNames | None) -> tuple[str, ...]:
    """Return a tuple of names from a single name, several names, or None."""
    if isinstance(names, str):
        return (names,)
    return tuple(names or ())


def paths(places: Place | Iterable[Place]) -> list[Path]:
    """Return a list of paths from a single path or several."""
    if isinstance(places, str | Path):
        return [Path(places)]
    return list(map(Path, places))


def check_options(options: object) -> None:
    """Raise RulerError for a value that is out of bounds or not one of the choices.

    Text that is not UTF-8 is refused too, because it could not be written to a file.
    """
    kind: Any = type(options)
    for name, option in options_of(kind).items():
        value = getattr(options, name)
        flag = flag_of(name, option)
        if isinstance(value, str):
            if value.encode("utf-8", "replace").decode() != value:
                raise RulerError(
                    f"{flag} is not valid UTF-8: correct the encoding of your terminal."
                )
            if option.choices is not None:
                check_name(flag, value, option.choices)
            continue
        if value is None or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        low, high = option.min, option.max
        too_low = low is not None and (value <= low if option.above else value < low)
        too_high = high is not None and value > high
        if too_low or too_high or not math.isfinite(value):
            bounds = []
            if low is not None:
                bounds.append(f"above {low:g}" if option.above else f"of at least {low:g}")
            if high is not None:
                bounds.append(f"of at most {high:g}")
            accepted = f"a number {' and '.join(bounds)}".rstrip()
            raise RulerError(f"{flag} takes {accepted}, not {value:g}.")
