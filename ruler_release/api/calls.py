"""Make a Python call of a function of options: `run(dataset, configs="all_4k", …)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ruler_common.options import options_of

Arguments = ParamSpec("Arguments")
Options = TypeVar("Options")
Result = TypeVar("Result")


def takes(
    kind: Callable[Arguments, Options],
) -> Callable[[Callable[[Options], Result]], Callable[Arguments, Result]]:
    """Let a function of one options object be called with the fields of the options instead.

    Type checkers, editors and notebooks show the fields as the call's arguments, and its docstring
    lists what each is.
    """

    def decorate(act: Callable[[Options], Result]) -> Callable[Arguments, Result]:
        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            return act(kind(*args, **kwargs))

        helps = "\n".join(f"    {name}: {option.help}" for name, option in options_of(kind).items())
        call.__wrapped__ = kind  # type: ignore[attr-defined]  # editors show the fields of `kind`
        call.__doc__ = f"{act.__doc__}\n\nArgs:\n{helps}"
        call.__name__ = call.__qualname__ = act.__name__
        call.__module__ = act.__module__
        return call

    return decorate
