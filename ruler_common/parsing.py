"""Read JSON, YAML and TOML; an error is one sentence that names the file.

    manifest = parse_json(text, Manifest, path, "Fetch or build it again.")  # types are checked
    suite = read_toml(path)    # on every Python: tomllib is new in 3.11
    value = json_value(line)   # any JSON

Functions raise RulerError, except `json_value` and `parse_yaml`, which raise ValueError.
"""

from __future__ import annotations

import json
import sys
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

ONLY_FIELDS: ConfigDict = {"extra": "forbid"}
"""Of a dataclass that `read_as` makes: no other fields than its own."""


def json_value(text: str | bytes) -> Any:
    """Return the value of a JSON text; raise ValueError if it is not JSON."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


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
        why = "it is not a JSON object" if isinstance(error, AttributeError) else error
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
        why = "it is nested too deeply" if isinstance(error, RecursionError) else one_line(error)
        raise RulerError(f"'{path}' is not valid TOML: {why}.") from error


def parse_yaml(text: str) -> Any:
    """The value of a YAML text, of plain values alone. Raises ValueError, whatever the text."""
    import yaml  # type: ignore[import-untyped]

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(one_line(error)) from error
