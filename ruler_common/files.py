"""Read and write files; an error is one sentence that names the file.

    data = read_bytes(path)                    # a suite, a results.json
    suite = read_toml(path)
    manifest = parse_json(text, Manifest, path, "Build it again.")    # its types are checked
    for number, line in lines_of(path):        # predictions and records
        ...
    with open_parquet(path) as file:           # a pyarrow.parquet.ParquetFile
        file.read_row_group(0)
    write_whole(path, text)                    # whole or not at all

Functions raise RulerError, except `json_value`, `read_as` and `parse_yaml`, which raise ValueError.
pydantic, pyarrow and yaml are imported at their first use, since they are slow to import.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruler_common.errors import RulerError
from ruler_common.text import one_line, printable

if sys.version_info >= (3, 11) or TYPE_CHECKING:
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from pydantic import ConfigDict, TypeAdapter, ValidationError

UNREADABLE = (OSError, ValueError, TypeError, LookupError, MemoryError, NotImplementedError)
"""What pyarrow raises for a file that is not Parquet, or is damaged."""
ONLY_FIELDS: ConfigDict = {"extra": "forbid"}
"""The configuration of a dataclass whose unknown fields `read_as` refuses."""


# ---- Bytes and text ------------------------------------------------------------------------------


def sha256_of(path: Path) -> str:
    """Return the hex sha256 of a file, read in chunks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file. Raises RulerError for a folder."""
    if path.is_dir():
        raise RulerError(f"'{path}' is a folder: name a file.")
    return path.read_bytes()


def read_text(path: Path) -> str:
    """Return the UTF-8 text of a file without a byte order mark. Raises RulerError."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RulerError(f"'{path}' is not UTF-8 text.") from error


def check_writable(path: Path) -> None:
    """Raise RulerError if a file or folder cannot be made at a path; nothing is written."""
    path = path.resolve()
    parent = next(place for place in (path, *path.parents) if place.exists())
    if not os.access(parent, os.W_OK) or parent.parts[1:2] in (("proc",), ("sys",)):
        raise RulerError(f"'{parent}' cannot be written: name a place elsewhere.")


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, from 1, and their line feeds."""
    if path.is_dir():
        raise RulerError(f"'{path}' is a folder: name a file.")
    with path.open("rb") as file:
        yield from enumerate(file, 1)


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """Give a temporary path that is renamed to `path` if the block ends without an error.

    A reader sees the old file or the new one, never a part; a killed process leaves no more than
    `.NAME.PID.tmp` behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a UTF-8 text file with line feeds, whole or not at all; raises OSError.

    Half of a surrogate pair, which has no UTF-8 form, is written as JSON escapes it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_beside(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", "backslashreplace"))


# ---- JSON, TOML and YAML -------------------------------------------------------------------------


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
    """Return the JSON object in a text, its fields checked by type.

    Args:
        text: The JSON.
        kind: A TypedDict, which the object must be.
        where: What an error calls the file.
        remedy: The sentence with which an error ends.
        newest: The newest `format` that this version reads.
        wrong: What an error says of a file with a fault.

    Raises:
        RulerError: The text is not such an object, or its `format` is newer.
    """
    try:
        value = json_value(text)
    except ValueError as error:
        raise RulerError(f"'{where}' is {wrong}: {error}. {remedy}") from error
    if not isinstance(value, dict):
        raise RulerError(f"'{where}' is {wrong}: it is not a JSON object. {remedy}")
    version = value.get("format")
    if newest is not None and type(version) is int and version > newest:
        raise RulerError(f"'{where}' has the newer format {version}: update this package.")
    check_type(value, kind, where, remedy, wrong)
    return value


def check_type(
    value: Any, kind: Any, where: str | Path, remedy: str, wrong: str = "damaged"
) -> None:
    """Raise RulerError for a value that is not of a type, such as a TypedDict: its first fault."""
    from pydantic import ValidationError

    try:
        _checker(kind).validate_python(value, strict=True)
    except ValidationError as error:
        raise RulerError(f"'{where}' is {wrong}: {_first_fault(error)}. {remedy}") from None


def read_as(value: Any, kind: Any) -> Any:
    """Return a plain value as a dataclass, whose tuples are lists there.

    Raises ValueError that names the first field that is unknown, missing or of a wrong type, and
    TypeError for a value that JSON does not have.
    """
    from pydantic import ValidationError

    try:
        return _checker(kind).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise ValueError(_first_fault(error)) from None


@cache
def _checker(kind: Any) -> TypeAdapter[Any]:
    """Return pydantic's check of a type; kept, since it takes a while to make."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _first_fault(error: ValidationError) -> str:
    """Return the first field that is missing or of a wrong type, and what is wrong with it."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "unexpected_keyword_argument":
        what = "is unknown"
    else:
        what = str(first["msg"])
        what = what.replace("Input should", "should").replace("Field", "the field is")
    return f"{printable(place)} {printable(what)}"


def read_toml(path: Path | Traversable) -> dict[str, Any]:
    """Return the contents of a TOML file. Raises RulerError if it is missing or malformed."""
    try:
        text = read_text(path) if isinstance(path, Path) else path.read_text(encoding="utf-8")
    except OSError as error:
        raise RulerError(f"Cannot read '{path}': {error.strerror}.") from error
    except ValueError as error:
        raise RulerError(f"'{path}' is not valid TOML: {one_line(error)}.") from error
    return parse_toml(text, path)


def parse_toml(text: str | bytes, path: str | Path | Traversable) -> dict[str, Any]:
    """Return the contents of a TOML text. Raises RulerError that names its file."""
    try:
        return tomllib.loads(text if isinstance(text, str) else text.decode("utf-8"))
    except RecursionError as error:
        raise RulerError(f"'{path}' is not valid TOML: it is nested too deeply.") from error
    except ValueError as error:  # tomllib's own errors too
        raise RulerError(f"'{path}' is not valid TOML: {one_line(error)}.") from error


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML text, of plain values alone. Raises ValueError."""
    import yaml  # type: ignore[import-untyped]

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(one_line(error)) from error


# ---- Parquet -------------------------------------------------------------------------------------


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file as a pyarrow.parquet.ParquetFile.

    Raises RulerError for a file that is not one, and if reading within the block shows damage.
    """
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (*UNREADABLE, RecursionError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        why = str(error).partition("\n")[0]
        raise RulerError(
            f"'{path}' is not a readable Parquet file: {why}. Download or build it again."
        ) from error


def leaf_columns(path: Path) -> list[str]:
    """Return the columns of a Parquet file, nested ones by their path: `doc.choices.list.item`."""
    with open_parquet(path) as file:
        return [file.schema.column(place).path for place in range(len(file.schema))]


def rows_of(path: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file with these leaf columns; none if there are no columns."""
    if not columns:
        return
    with open_parquet(path) as file:
        for group in range(file.num_row_groups):
            yield from file.read_row_group(group, columns=list(columns)).to_pylist()
