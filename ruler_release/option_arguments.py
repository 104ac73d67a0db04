"""Functions that take the options of a command as arguments: `ruler.run("ruler", configs=…)`.

    @takes(RunOptions)
    def run(options: RunOptions) -> RunSummary: …

    run("ruler", configs="all_4k", backend="oracle", out="RUN")

Type checkers and editors take the arguments and their types from the dataclass. Notebooks and
`help()` read `__signature__`, which has them without the notes for flags, and with what the
function returns.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from ruler_common.errors import RulerError
from ruler_common.names import check_name
from ruler_common.options import create, flags_of

Arguments = ParamSpec("Arguments")
Options = TypeVar("Options")
Result = TypeVar("Result")
_WIDTH = 100
_MAX_VALUE = 60
"""Characters of a value of a wrong type that are shown."""


def takes(
    kind: Callable[Arguments, Options],
) -> Callable[[Callable[[Options], Result]], Callable[Arguments, Result]]:
    """Return a decorator that lets a function take the fields of its options as arguments."""

    def decorate(act: Callable[[Options], Result]) -> Callable[Arguments, Result]:
        signature = signature_of(kind, act.__annotations__["return"])

        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            _check_arguments(act.__name__, kind, signature, args, kwargs)
            return act(create(kind, *args, **kwargs))

        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__doc__ = f"{inspect.cleandoc(act.__doc__ or '')}\n\nArgs:\n{_help_of(kind)}"
        call.__name__ = call.__qualname__ = act.__name__
        call.__module__ = act.__module__
        return call

    return decorate


def signature_of(kind: Any, result: Any) -> inspect.Signature:
    """Return the fields of a dataclass as the arguments of a function that returns `result`.

    The options that a field holds are arguments too.
    """
    types = get_type_hints(kind)
    parameters = []
    for option in fields(kind):
        default: Any = inspect.Parameter.empty
        if option.default is not MISSING:
            default = option.default
        elif option.default_factory is not MISSING:
            default = option.default_factory()
        place = (
            inspect.Parameter.KEYWORD_ONLY
            if option.kw_only
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        parameters.append(
            inspect.Parameter(option.name, place, default=default, annotation=types[option.name])
        )
    for name, flag in flags_of(kind).items():
        if flag.holder is not None:
            hint = get_args(flag.hint)[0]  # without the notes for flags
            parameters.append(
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint
                )
            )
    return inspect.Signature(parameters, return_annotation=result)


def _help_of(kind: Any) -> str:
    """Return the lines on the arguments in a docstring."""
    lines = []
    for name, flag in flags_of(kind).items():
        text = f"{name}: {flag.option.text}"
        if flag.option.choices:
            text += f" One of {', '.join(flag.option.choices)}."
        lines += textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent=" " * 8)
    if any(option.name == "progress" for option in fields(kind)):
        lines.append("    progress: Show progress on stderr, as the command does.")
    return "\n".join(lines)


def _check_arguments(
    name: str,
    kind: Any,
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Raise TypeError that names the function and the argument with a wrong name or type."""
    for right_name, flag in flags_of(kind).items():
        if flag.option.other_name in kwargs:
            wrong_name = flag.option.other_name
            raise TypeError(f"{name}() has no argument '{wrong_name}': it is '{right_name}'.")
    try:
        arguments = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        message = f"{name}() {error}"
        for keyword in kwargs:
            try:
                check_name(f"argument of {name}()", keyword, signature.parameters)
            except RulerError as unknown:
                message = str(unknown)
        raise TypeError(message) from None
    for argument, value in arguments.items():
        parameter = signature.parameters[argument]
        if value is not parameter.default:
            check_argument(name, argument, value, parameter.annotation)


def check_argument(function: str, name: str, value: Any, hint: Any) -> None:
    """Raise TypeError if a value does not have the type of an argument."""
    if has_type(value, hint):
        return
    *kinds, last = _kinds_in(hint)
    takes = f"{', '.join(kinds)} or {last}" if kinds else last
    shown = f"{repr(value)[:_MAX_VALUE]} ({type(value).__name__})"
    raise TypeError(f"{function}() takes {takes} for '{name}', not {shown}.")


def has_type(value: Any, hint: Any) -> bool:
    """Return whether a value has the type of an argument.

    True and False are not numbers, and a text may be a path. Values in a list are checked, those
    of an iterator are not.
    """
    kind = get_origin(hint)
    if kind in (Union, UnionType):
        return any(has_type(value, part) for part in get_args(hint))
    if hint is float or hint is int:
        return isinstance(value, int | hint) and not isinstance(value, bool)
    if hint is Path:
        return isinstance(value, str | Path)
    if kind is None:
        return hint is Any or isinstance(value, hint)
    if kind is Mapping:
        return isinstance(value, Mapping)
    of_values = get_args(hint)[0]
    if isinstance(value, str):  # one name, or names separated by commas
        return of_values is str
    if not isinstance(value, Iterable):
        return False
    return not isinstance(value, list | tuple | set) or all(
        has_type(part, of_values) for part in value
    )


_KINDS = {
    bool: "True or False",
    int: "an integer",
    float: "a number",
    str: "a text",
    Path: "a path",
    Mapping: "a dict",
    NoneType: "None",
}
_IN_A_LIST = {str: "texts", Path: "paths", float: "numbers"}


def _kinds_in(hint: Any) -> list[str]:
    """Return what an argument takes, in words."""
    kind = get_origin(hint)
    if kind in (Union, UnionType):
        return [words for part in get_args(hint) for words in _kinds_in(part)]
    if hint in _KINDS or kind is Mapping:
        return [_KINDS[kind or hint]]
    of_values = get_args(hint)[0]
    parts = get_args(of_values) or (of_values,)
    return [f"a list of {' or '.join(_IN_A_LIST[part] for part in parts)}"]
