"""The records of a prediction file: JSON Lines, a JSON document, CSV or Parquet, within bounds.

    for where, record in records_of(Path("predictions.csv"), damaged=[]):
        ...                                # "predictions.csv:2", {"index": "0", "prediction": "…"}

The records of a JSON document are a list, an object of objects by number (each then has that as its
`idx`), or the list that stands under a name which some form gives them.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import lines_of, read_bytes
from ruler_common.parquet import leaf_columns, rows_of
from ruler_common.parsing import json_value
from ruler_common.text import one_line

_NO_TEXT = "holds bytes that are no UTF-8, and they count as �: write the file in UTF-8"
Records = Iterator[tuple[str, Any]]


def records_of(file: Path, damaged: list[str], lists: Collection[str] = ()) -> Records:
    """Where each record stands, and the record; lines that are no JSON are noted in `damaged`.

    `lists` are the names under which a document may hold its records. Raises RulerError for a file
    that cannot be read within the bounds.
    """
    if file.suffix == ".csv":
        return _csv(file, damaged)
    return _document(file, lists) if file.suffix == ".json" else _lines(file, damaged)


def parquet_records(
    file: Path, chosen: Callable[[Collection[str]], Iterable[str]]
) -> Iterator[tuple[str, Any]]:
    """The rows of a Parquet file; `chosen` says which of its columns, `doc.id` and so on."""
    columns = leaf_columns(file)
    _each_once(file, columns)
    for number, row in enumerate(rows_of(file, list(chosen(columns))), 1):
        yield f"{file}:{number}", row


def _each_once(file: Path, columns: Collection[str]) -> None:
    """Refuse a table with two columns of one name, of which one would be read unseen."""
    if twice := [name for name, times in Counter(columns).items() if times > 1]:
        raise RulerError(f"'{file}' has several columns named '{twice[0]}': leave one of them.")


def _lines(file: Path, damaged: list[str]) -> Records:
    sound = True
    for number, data in lines_of(file):
        where = f"{file}:{number}"
        line, is_text = _decoded(data, "utf-8-sig" if number == 1 else "utf-8")
        if not line or line.isspace():
            continue
        try:
            record = json_value(line)
        except ValueError:
            damaged.append(f"{where} is no JSON")
            continue
        if sound and not is_text:
            damaged.append(f"{where} {_NO_TEXT}")
        sound = sound and is_text
        yield where, record


def _decoded(data: bytes, encoding: str = "utf-8-sig") -> tuple[str, bool]:
    """The text of bytes, with � for those that are none, and whether all are."""
    try:
        return data.decode(encoding), True
    except UnicodeDecodeError:
        return data.decode(encoding, errors="replace"), False


def _document(file: Path, lists: Collection[str]) -> Records:
    try:
        found = json_value(read_bytes(file))
    except ValueError as error:
        raise RulerError(f"'{file}' is no JSON document: {one_line(error)}.") from error
    records = found if isinstance(found, list) else [found]
    if isinstance(found, Mapping):
        name = next((name for name in lists if isinstance(found.get(name), list)), None)
        if name is not None:
            about = {key: value for key, value in found.items() if key != name}
            records = [
                {**record, "document": about} if isinstance(record, Mapping) else record
                for record in found[name]
            ]
        elif found and all(key.isdecimal() and isinstance(found[key], dict) for key in found):
            records = [{**record, "idx": key} for key, record in found.items()]
    yield from ((f"{file}:{number}", record) for number, record in enumerate(records, 1))


def _csv(file: Path, damaged: list[str]) -> Records:
    csv.field_size_limit(1 << 30)
    text, is_text = _decoded(read_bytes(file))
    if not is_text:
        damaged.append(f"{file} {_NO_TEXT}")
    # strict: of an open quotation mark the lines up to the next would be one answer
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = next(reader, [])
        _each_once(file, columns)
        for cells in filter(None, reader):
            where, count = f"{file}:{reader.line_num}", len(columns)
            if len(cells) < count or any(cells[count:]):  # an answer would be read in part
                raise RulerError(
                    f"'{where}' has {len(cells)} cells and the first line {count}: put a text "
                    "that holds commas or lines between quotation marks."
                )
            yield where, dict(zip(columns, cells, strict=False))
    except csv.Error as error:
        where = f"{file}:{reader.line_num}"
        raise RulerError(f"'{where}' is not written as CSV: {error}.") from error
