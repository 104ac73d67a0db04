"""Options that a Python call and a command share: type, default, help and bounds, once.

    @dataclass(frozen=True, kw_only=True)
    class RunOptions:
        out: Annotated[Path, Option("Folder of this run.", short="-o")]
        temperature: Annotated[float | None, Option("0 is greedy.", min=0)] = None

        def __post_init__(self) -> None:
            check_options(self)

A field with an `Option` is a flag; a field without one is only for Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, get_type_hints

from ruler_common.errors import RulerError
from ruler_common.names import check_name

Place = str | Path
"""A file or a folder."""
Names = str | Iterable[str]
"""A name, or several."""


@dataclass(frozen=True)
class Option:
    """The help and the limits of a flag, besides the type and the default of its field.

    `panel` groups flags in the help; `flag` is the flag's name if it is not the field's. A number
    is from `min` to `max`; with `above` it is greater than `min`. `parse` reads the text of a flag
    that is not a plain value (for a repeatable flag: the list of texts); `metavar` is what the help
    shows for such a text. An `argument` is written without a flag. `envvar` gives the value if the
    flag does not.
    """

    help: str
    panel: str | None = None
    short: str | None = None
    flag: str | None = None
    min: float | None = None
    max: float | None = None
    above: bool = False
    choices: tuple[str, ...] | None = None
    parse: Callable[[Any], Any] | None = None
    metavar: str | None = None
    repeatable: bool = False
    argument: bool = False
    envvar: str | None = None


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


def flag_of(name: str, option: Option) -> str:
    """Return the flag of a field: `--max-model-len`."""
    return option.flag or f"--{name.replace('_', '-')}"


def names_in(text: str) -> tuple[str, ...]:
    """Read names that are separated by commas."""
    return tuple(re.findall(r"[^\s,]+", text))


def several(names: Names | None) -> tuple[str, ...]:
    """Return the names as a tuple: one may be given without a list, and None is none."""
    if isinstance(names, str):
        return (names,)
    return tuple(names or ())


def paths(places: Place | Iterable[Place]) -> list[Path]:
    """Return the places as paths: one may be given without a list."""
    if isinstance(places, str | Path):
        return [Path(places)]
    return list(map(Path, places))


def check_options(options: object) -> None:
    """Raise RulerError for a value that is out of its bounds, or not one of its choices.

    A text that UTF-8 cannot hold is refused, too: it could not be written into a file.
    """
    kind: Any = type(options)
    for name, option in options_of(kind).items():
        value = getattr(options, name)
        flag = flag_of(name, option)
        if isinstance(value, str):
            if value.encode("utf-8", "replace").decode() != value:
                raise RulerError(f"{flag} has half a character: write it in UTF-8.")
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
