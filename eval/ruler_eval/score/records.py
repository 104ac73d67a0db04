"""The records of a prediction file: JSON Lines, a JSON document, CSV or Parquet.

    for where, record in records_of(Path("predictions.csv"), damaged=[]):
        ...                                # "predictions.csv:2", {"index": "0", "prediction": "…"}

The records of a JSON document are a list, the only list of objects in an object, or objects by
number, which is then their `index`. A CSV file's separator is found in its first line.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import json_value, leaf_columns, lines_of, read_bytes, rows_of
from ruler_common.text import one_line

_NO_TEXT = "holds bytes that are not UTF-8, and they count as �: write the file in UTF-8"
Records = Iterator[tuple[str, Any]]


def records_of(file: Path, damaged: list[str]) -> Records:
    """Yield the place and the value of each record; note lines that are not JSON in `damaged`.

    Raises RulerError for a file that cannot be read.
    """
    if file.suffix == ".csv":
        return _csv(file, damaged)
    return _document(file) if file.suffix == ".json" else _lines(file, damaged)


def parquet_records(
    file: Path, chosen: Callable[[Collection[str]], Iterable[str]]
) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a Parquet file; `chosen` says which of its columns, `doc.id` and so on."""
    columns = leaf_columns(file)
    _each_once(file, columns)
    for number, row in enumerate(rows_of(file, list(chosen(columns))), 1):
        yield f"{file}:{number}", row


def _each_once(file: Path, columns: Collection[str]) -> None:
    """Refuse a table with two columns of one name, of which one would be read unseen."""
    if twice := [name for name, times in Counter(columns).items() if times > 1]:
        raise RulerError(f"'{file}' has several columns named '{twice[0]}': leave one of them.")


def _lines(file: Path, damaged: list[str]) -> Records:
    with file.open("rb") as opened:
        if opened.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise RulerError(f"'{file}' is UTF-16: save it as UTF-8.")
    sound = True
    for number, data in lines_of(file):
        where = f"{file}:{number}"
        line, is_text = _decoded(data, "utf-8-sig" if number == 1 else "utf-8")
        if not line or line.isspace():
            continue
        try:
            record = json_value(line)
        except ValueError:
            damaged.append(f"{where} is not JSON")
            continue
        if sound and not is_text:
            damaged.append(f"{where} {_NO_TEXT}")
        sound = sound and is_text
        yield where, record


def _decoded(data: bytes, encoding: str = "utf-8-sig") -> tuple[str, bool]:
    """Return the text of bytes, with � for those that are none, and whether all are."""
    try:
        return data.decode(encoding), True
    except UnicodeDecodeError:
        return data.decode(encoding, errors="replace"), False


def _document(file: Path) -> Records:
    try:
        found = json_value(read_bytes(file))
    except ValueError as error:
        raise RulerError(f"'{file}' is not a JSON document: {one_line(error)}.") from error
    for number, record in enumerate(_records_in(found), 1):
        yield f"{file}:{number}", record


def _records_in(document: Any) -> list[Any]:
    """Return the records of a document: a list, the one list of objects in it, or numbered ones."""
    if not isinstance(document, dict):
        return document if isinstance(document, list) else [document]
    if document and all(key.isdecimal() and isinstance(document[key], dict) for key in document):
        return [{"index": key, **record} for key, record in document.items()]
    lists = [value for value in document.values() if _is_list_of_objects(value)]
    return lists[0] if len(lists) == 1 else [document]


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _csv(file: Path, damaged: list[str]) -> Records:
    csv.field_size_limit(1 << 30)
    data = read_bytes(file)
    utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text, is_text = _decoded(data, "utf-16" if utf_16 else "utf-8-sig")
    if not is_text:
        damaged.append(f"{file} {_NO_TEXT}")
    header = text.partition("\n")[0]
    separator = max(",;\t", key=header.count)  # the first, a comma, if there are none
    # strict: after an open quotation mark the lines up to the next would be one answer
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
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
