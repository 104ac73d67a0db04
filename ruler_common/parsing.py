"""JSON and TOML, read strictly: what is wrong is one sentence that names the file.

    manifest = parse_json(text, Manifest, path, "Get or build it anew.")    # checked by type
    suite = read_toml(path)    # on every Python: tomllib is new in 3.11

Raises RulerError alone.
"""

from __future__ import annotations

import json
import math
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruler_common.errors import RulerError
from ruler_common.text import printable

if sys.version_info >= (3, 11) or TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def parse_json(
    text: str | bytes,
    kind: Any,
    where: str | Path,
    remedy: str,
    newest: int | None = None,
    wrong: str = "damaged",
) -> Any:
    """The JSON object in a text, its fields checked by type: `kind` is a TypedDict.

    Raises RulerError, one sentence that names the file and the field and ends with the remedy, and
    for a `format` above `newest`. Stricter than JSON's own reader: no NaN, no whole number
    of over 64 bits, no key twice.
    """
    try:
        found = json.loads(
            text,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_each_once,
        )
        version = found.get("format")
    except (ValueError, RecursionError, AttributeError) as error:
        why = "it is no object" if isinstance(error, AttributeError) else error
        raise RulerError(f"'{where}' is {wrong}: {why}. {remedy}") from error
    if newest is not None and type(version) is int and version > newest:
        raise RulerError(f"'{where}' has the newer format {version}: update this package.")
    if first := _wrong_type(found, kind):
        raise RulerError(f"'{where}' is {wrong}: {' '.join(map(printable, first))}. {remedy}")
    return found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _no_number(text)


def _whole(text: str) -> int:
    if len(text) > 20 or not -(1 << 63) <= int(text) < 1 << 63:
        raise ValueError(f"{text[:20]}… is too large a number")
    return int(text)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, none of whose keys stands there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{next(key for key in keys if keys.count(key) > 1)!r} stands there twice")
    return found


@cache
def _checker(kind: Any) -> TypeAdapter[Any]:
    """What checks the types of an object's fields: its TypedDict, read by pydantic."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _wrong_type(found: Any, kind: Any) -> tuple[str, str] | None:
    """The first field that is missing or of a wrong type, and what is wrong with it."""
    from pydantic import ValidationError

    try:
        _checker(kind).validate_python(found, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        what = first["msg"].replace("Input should", "should").replace("Field", "the field is")
        return ".".join(map(str, first["loc"])), what
    return None


def read_toml(path: Path | Traversable) -> dict[str, Any]:
    """The contents of a TOML file; RulerError where it is missing or malformed."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RulerError(f"Cannot read '{path}': {error.strerror}.") from error
    except tomllib.TOMLDecodeError as error:
        raise RulerError(f"'{path}' is not valid TOML: {error}.") from error
