"""JSON, YAML and TOML, read strictly: what is wrong is one sentence that names the file.

    manifest = parse_json(text, Manifest, path, "Get or build it anew.")    # checked by type
    suite = read_toml(path)    # on every Python: tomllib is new in 3.11
    value = json_value(line)   # any JSON; ValueError for none

Raises RulerError, but `json_value` and `parse_yaml` ValueError. The size of a file is bounded where
it is read (files.py), how many values its text holds and how deep they nest here: an empty list
of two bytes takes sixty in memory.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruler_common.errors import RulerError
from ruler_common.files import read_text
from ruler_common.text import one_line, printable

if sys.version_info >= (3, 11) or TYPE_CHECKING:
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from pydantic import ConfigDict, TypeAdapter, ValidationError

MOST_VALUES = 5_000_000
"""Of a document or line, counted by its signs: commas and opening brackets."""
MOST_DEPTH = 100
"""Lists and objects within each other: writing a value again takes a call for each."""
ONLY_FIELDS: ConfigDict = {"extra": "forbid"}
"""Of a dataclass that `read_as` makes: no other fields than its own."""
_TOO_DEEP = f"it nests deeper than {MOST_DEPTH} levels"


def json_value(text: str | bytes, strict: bool = True) -> Any:
    """The value that a JSON text stands for. Raises ValueError alone, whatever the text.

    Stricter than JSON's own reader: no key twice, no more than MOST_DEPTH levels and MOST_VALUES;
    with `strict` no NaN and no whole number of over 64 bits either, which other tools write.
    """
    opened = check_values(text)
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    try:
        found = _decoder(strict).decode(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if opened > MOST_DEPTH and _is_too_deep(found):
        raise ValueError(_TOO_DEEP)
    return found


@cache
def _decoder(strict: bool) -> json.JSONDecoder:
    """What reads JSON, made once: making it costs as much as reading a line."""
    if not strict:
        return json.JSONDecoder(object_pairs_hook=_each_once)
    return json.JSONDecoder(
        object_pairs_hook=_each_once,
        parse_constant=_no_number,
        parse_float=_finite,
        parse_int=_whole,
    )


def check_values(text: str | bytes) -> int:
    """How many lists and objects a JSON text opens at most; ValueError for too many values."""
    if isinstance(text, bytes):
        lists, objects, commas = text.count(b"["), text.count(b"{"), text.count(b",")
    else:
        lists, objects, commas = text.count("["), text.count("{"), text.count(",")
    if lists + objects + commas > MOST_VALUES:
        raise ValueError(f"it holds more than {MOST_VALUES:,} values")
    return lists + objects


def _is_too_deep(value: Any) -> bool:
    level: list[Any] = [[value]]
    for _ in range(MOST_DEPTH + 1):
        inner: list[Any] = []
        for part in level:
            inner += part.values() if type(part) is dict else part
        level = [part for part in inner if type(part) is dict or type(part) is list]
        if not level:
            return False
    return True


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
    for a `format` above `newest`.
    """
    try:
        found = json_value(text)
        version = found.get("format")
    except (ValueError, AttributeError) as error:
        why = "it is no object" if isinstance(error, AttributeError) else error
        raise RulerError(f"'{where}' is {wrong}: {why}. {remedy}") from error
    if newest is not None and type(version) is int and version > newest:
        raise RulerError(f"'{where}' has the newer format {version}: update this package.")
    check_type(found, kind, where, remedy, wrong)
    return found


def check_type(
    found: Any, kind: Any, where: str | Path, remedy: str, wrong: str = "damaged"
) -> None:
    """Raise RulerError for a value that is not of a type, such as a TypedDict: its first fault."""
    if first := _wrong_type(found, kind):
        raise RulerError(f"'{where}' is {wrong}: {' '.join(map(printable, first))}. {remedy}")


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
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"{key[:80]!r} stands there twice")
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
        return _first_fault(error)
    return None


def _first_fault(error: ValidationError) -> tuple[str, str]:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    what = str(first["msg"]).replace("Input should", "should").replace("Field", "the field is")
    place = ".".join(map(str, first["loc"]))
    return place, "is unknown" if first["type"] == "unexpected_keyword_argument" else what


def read_as(value: Any, kind: Any) -> Any:
    """A plain value as a dataclass, whose tuples are lists there.

    Raises ValueError that names the first field that is unknown, missing or of a wrong type, and
    TypeError for a value that JSON does not have.
    """
    from pydantic import ValidationError

    try:
        return _checker(kind).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise ValueError(" ".join(map(printable, _first_fault(error)))) from None


def read_toml(path: Path | Traversable) -> dict[str, Any]:
    """The contents of a TOML file; RulerError where it is missing or malformed."""
    try:
        text = read_text(path) if isinstance(path, Path) else path.read_text(encoding="utf-8")
    except OSError as error:
        raise RulerError(f"Cannot read '{path}': {error.strerror}.") from error
    except ValueError as error:
        raise RulerError(f"'{path}' is not valid TOML: {one_line(error)}.") from error
    return parse_toml(text, path)


def parse_toml(text: str | bytes, path: str | Path | Traversable) -> dict[str, Any]:
    """The contents of a TOML text; RulerError that names its file where it is malformed."""
    try:
        return tomllib.loads(text if isinstance(text, str) else text.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # tomllib's own is a ValueError
        why = _TOO_DEEP if isinstance(error, RecursionError) else one_line(error)
        raise RulerError(f"'{path}' is not valid TOML: {why}.") from error


def parse_yaml(text: str) -> Any:
    """The value of a YAML text, of plain values alone. Raises ValueError, whatever the text."""
    import yaml  # type: ignore[import-untyped]

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(one_line(error)) from error
