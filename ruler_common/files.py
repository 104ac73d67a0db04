"""Read and write files; an error is one sentence that names the file.

    suite = read_toml(path)
    manifest = parse_json(text, Manifest, path, "Build it again.")    # checks the fields' types
    with open_parquet(path) as file:           # a pyarrow.parquet.ParquetFile
        file.read_row_group(0)
    write_whole(path, text)                    # a reader never sees a half-written file

Functions raise RulerError, except `read_as` and `parse_yaml`, which raise ValueError.
pydantic, pyarrow and yaml are slow to import, so they are imported when first used.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruler_common.errors import RulerError, system_error_sentence
from ruler_common.text import one_line, printable

if sys.version_info >= (3, 11) or TYPE_CHECKING:
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from pydantic import ConfigDict, TypeAdapter, ValidationError

UNREADABLE = (OSError, ValueError, TypeError, LookupError, MemoryError, NotImplementedError)
"""The exceptions that pyarrow raises for a file that is damaged or not Parquet."""
ONLY_FIELDS: ConfigDict = {"extra": "forbid"}
"""The pydantic configuration of a dataclass for which `read_as` refuses unknown fields."""


# ---- Bytes and text ------------------------------------------------------------------------------


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def has_digest(path: Path, sha256: str) -> bool:
    """Return whether a path is a file with this sha256."""
    return path.is_file() and sha256_of(path) == sha256


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, without a byte order mark. Raises RulerError."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RulerError(f"'{path}' is not UTF-8 text: save it as UTF-8.") from error


def check_writable(path: Path) -> None:
    """Raise RulerError if a file or folder cannot be created at a path, without creating it."""
    check_outside_rows(path)
    existing = resolved = path.resolve()
    while not existing.exists():
        existing = existing.parent
    if existing != resolved and not existing.is_dir():
        raise RulerError(f"'{path}' cannot be created: '{existing}' is a file, not a folder.")
    is_virtual = existing.parts[1:2] in (("proc",), ("sys",))  # root may "write" to these
    if is_virtual or not os.access(existing, os.W_OK):
        raise RulerError(f"'{existing}' cannot be written: choose another folder.")


def check_outside_rows(path: Path) -> None:
    """Raise RulerError for a path in the data folder of a release, which has only its rows."""
    resolved = path.resolve()
    for folder in (resolved, *resolved.parents):
        if folder.name == "data" and _is_release(folder.parent):
            raise RulerError(
                f"'{path}' is in the folder of a release's rows: choose a place outside of it."
            )


def _is_release(folder: Path) -> bool:
    """Return whether a folder has the manifest of a release, and not another manifest.json."""
    manifest = folder / "manifest.json"
    return manifest.is_file() and b'"rows_sha256"' in manifest.read_bytes()


def check_file(
    path: str | Path | None, name: str, flag: str = "--out", inputs: Sequence[Path] = ()
) -> None:
    """Raise RulerError if a command cannot write its file, before any work.

    Args:
        path: The file, or None if the command writes no file.
        name: The file name to suggest if the path is a folder or has the suffix of another kind.
        flag: The flag that names the file.
        inputs: The files that the command reads.
    """
    if path is None:
        return
    path = Path(path)
    if path.is_dir():
        raise RulerError(f"'{path}' is a folder: name a file with {flag}, such as {path / name}.")
    if _is_device(path):
        raise RulerError(f"'{path}' is a device or a pipe: name a file with {flag}.")
    kind, kind_of_name = _KINDS.get(Path(name).suffix), _KINDS.get(path.suffix.lower())
    if kind is not None and kind_of_name not in (None, kind):
        raise RulerError(
            f"'{path}' is a name for {kind_of_name}, and the file is {kind}: name a "
            f"{Path(name).suffix} file with {flag}."
        )
    check_keeps(path, inputs, flag)
    check_writable(path)


def check_keeps(path: Path, inputs: Sequence[Path] = (), flag: str = "--out") -> None:
    """Raise RulerError if a file would replace an input, a record of a run or a manifest."""
    resolved = path.resolve()
    folder = resolved.parent
    if resolved in [file.resolve() for file in inputs]:
        what = "is read by this command"
    elif resolved.name in _RECORDS and (folder / "run.json").is_file():
        what = "is a record of a run"
    elif resolved.name == "manifest.json" and _is_release(folder):
        what = "is the manifest of a release"
    else:
        return
    raise RulerError(f"'{path}' {what} and would be lost: name another file with {flag}.")


_RECORDS = ("answers.jsonl", "decision.json", "estimate.json", "run.json")
"""The files that a run keeps next to its run.json."""
_KINDS = {
    ".csv": "CSV",
    ".htm": "HTML",
    ".html": "HTML",
    ".json": "JSON",
    ".jsonl": "JSON",
    ".md": "Markdown",
    ".parquet": "Parquet",
    ".pdf": "PDF",
    ".png": "an image",
    ".svg": "an image",
    ".tex": "LaTeX",
    ".toml": "TOML",
    ".txt": "text",
}
"""What a file is by its suffix."""


def _is_device(path: Path) -> bool:
    """Return whether a path is a device or a pipe, such as /dev/stdout, not a file or a folder."""
    if path.exists() and not path.is_file() and not path.is_dir():
        return True
    return path.absolute().parent in (Path("/dev"), Path("/dev/fd"))


def check_folder(path: Path) -> None:
    """Raise RulerError if a command cannot write into its folder, before any work."""
    if path.exists() and not path.is_dir():
        raise RulerError(f"'{path}' is a file: name a folder.")
    check_writable(path)


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed to `path` if the block ends without an error.

    A reader sees the old file or the new one, never a part of one. A killed process leaves the
    temporary file `.NAME.PID.tmp` behind.
    """
    if _is_device(path):  # the name would become an ordinary file, even that of /dev/null
        raise RulerError(f"'{path}' is a device or a pipe: name a file.")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    r"""Write a UTF-8 text file, of which a reader never sees a part. Raises OSError.

    A lone surrogate, which UTF-8 cannot encode, is written as the escape `\udXXX`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_beside(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", "backslashreplace"))


# ---- JSON, TOML and YAML -------------------------------------------------------------------------


def write_json(path: Path | None, value: Mapping[str, Any]) -> None:
    """Write the result of a command as JSON, if the user named a file for it."""
    if path is not None:
        write_whole(path, json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def parse_json(
    text: str | bytes,
    kind: Any,
    where: str | Path,
    remedy: str,
    newest: int | None = None,
    wrong: str = "damaged",
) -> Any:
    """Parse a JSON object and check the types of its fields.

    Args:
        text: The JSON text.
        kind: The TypedDict with the types of the fields.
        where: The name of the file, for an error.
        remedy: The last sentence of an error: what to do about it.
        newest: The newest `format` that this version can read.
        wrong: What an error calls a file that is not valid.

    Raises:
        RulerError: The text is not such an object, or its `format` is newer than `newest`.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
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
    """Raise RulerError that names the first error if a value does not match a type."""
    from pydantic import ValidationError

    try:
        _checker(kind).validate_python(value, strict=True)
    except ValidationError as error:
        raise RulerError(f"'{where}' is {wrong}: {_first_error(error)}. {remedy}") from None


def read_as(value: Any, kind: Any) -> Any:
    """Convert a plain value, such as a table of TOML, to a dataclass; lists become its tuples.

    Raises ValueError with the first field that is unknown, missing or of a wrong type, and
    TypeError for a value that JSON does not have.
    """
    from pydantic import ValidationError

    try:
        return _checker(kind).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise ValueError(_first_error(error)) from None


@cache
def _checker(kind: Any) -> TypeAdapter[Any]:
    """Return pydantic's validator of a type; cached, because creating one is slow."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _first_error(error: ValidationError) -> str:
    """Describe the first field that is unknown, missing or of a wrong type."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "unexpected_keyword_argument":
        what = "is unknown"
    else:
        what = str(first["msg"])
        what = what.replace("Input should", "should").replace("Field", "the field is")
    return f"{printable(field)} {printable(what)}"


def read_toml(path: Path | Traversable) -> dict[str, Any]:
    """Read a TOML file. Raises RulerError if it is missing or malformed."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RulerError(system_error_sentence(error)) from error
    return parse_toml(data, path)


def parse_toml(data: bytes, path: str | Path | Traversable) -> dict[str, Any]:
    """Parse the bytes of a TOML file. Raises RulerError that names the file."""
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise RulerError(f"'{path}' is not UTF-8 text: save it as UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise RulerError(f"'{path}' is not valid TOML: {one_line(error)}.") from error


def parse_yaml(text: str) -> Any:
    """Parse a YAML text of plain values. Raises ValueError."""
    import yaml  # type: ignore[import-untyped]

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(one_line(error)) from error


# ---- Parquet -------------------------------------------------------------------------------------


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file as a pyarrow.parquet.ParquetFile.

    Raises RulerError if the file is not Parquet, or if reading it fails within the block.
    """
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (*UNREADABLE, RecursionError) as error:
        if isinstance(error, RulerError) or (isinstance(error, OSError) and error.errno):
            raise
        why = str(error).partition("\n")[0].rstrip(".")
        raise RulerError(
            f"'{path}' is not a readable Parquet file: {why}. Download or build it again."
        ) from error


def leaf_columns(path: Path) -> list[str]:
    """Return the columns of a Parquet file, nested ones as paths: `doc.choices.list.item`."""
    with open_parquet(path) as file:
        return [file.schema.column(index).path for index in range(len(file.schema))]


def read_parquet_rows(path: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file with these leaf columns; without columns, no rows."""
    if not columns:
        return
    with open_parquet(path) as file:
        for group in range(file.num_row_groups):
            yield from file.read_row_group(group, columns=list(columns)).to_pylist()


def release_memory() -> None:
    """Return unused memory to the system.

    pyarrow keeps that of row groups in its pool, and glibc that of long texts in the heap of each
    thread.
    """
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError, TypeError):  # only glibc has malloc_trim
        ctypes.CDLL(None).malloc_trim(0)
