"""What the API takes for files and names: one may stand alone where several can be given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

Order = TypeVar("Order")
Place = str | Path  # a file or folder
Names = str | Iterable[str]  # a name, or several


def several(names: Names | None) -> tuple[str, ...]:
    """The names, of which one may stand alone; None is none."""
    return (names,) if isinstance(names, str) else tuple(names or ())


def text(place: Place | None) -> str | None:
    """The folder or repository as text; None is none."""
    return None if place is None else str(place)


def path(place: Place | None) -> Path | None:
    """The place as a path; None is none."""
    return None if place is None else Path(place)


def paths(files: Place | Iterable[Place]) -> list[Path]:
    """The files as paths, of which one may stand alone."""
    return [Path(files)] if isinstance(files, str | Path) else list(map(Path, files))


def filled(kind: Callable[..., Order], given: Mapping[str, Any], **read: Any) -> Order:
    """An order, or what a call gives, by the arguments of the same names; those `read`, as read.

    filled(PredictionSource, locals(), references=path(references))
    """
    from inspect import signature  # a slow import, which few calls need

    own = {name: given[name] for name in signature(kind).parameters if name in given}
    return kind(**{**own, **read})
