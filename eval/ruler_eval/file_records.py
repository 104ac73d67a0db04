"""Read the records of a prediction file, whatever its kind: by its content, not by its name.

    for where, record in file_records(Path("answers.jsonl.gz"), notes):
        where, record["prediction"]                  # "answers.jsonl.gz:1", "It is 42."

A file is JSON Lines, one or several JSON documents, a table separated by commas, semicolons or
tabs, Parquet or Arrow; its text is UTF-8 or UTF-16, and it may be compressed. The records of a JSON
document are a list, the only list of objects in an object, or objects by number, which is then
their `index`.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from ruler_common.errors import RulerError
from ruler_common.files import UNREADABLE, leaf_columns, read_parquet_rows
from ruler_common.text import number_of, one_line

Record = tuple[str, Any]
"""The place of a record, for messages, and its value."""
COMPRESSED_SUFFIXES = (".gz", ".zst", ".bz2", ".xz", ".lz4")
"""The suffixes of compressed files, which are left out when a file's name is read."""
NOT_UTF_8 = "has bytes that are not UTF-8, which are read as �: save the file as UTF-8"
_COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x04\x22\x4d\x18": "lz4",
}
"""The first bytes of compressed files."""
_OTHER_KINDS = {
    b"PK\x03\x04": "a zip archive or a spreadsheet: unpack it, or save the table as CSV",
    b"\x80\x04\x95": "a pickle, which could run code: save it as JSON Lines",
    b"\x80\x05\x95": "a pickle, which could run code: save it as JSON Lines",
    b"SQLite": "a database: save the answers as JSON Lines",
    b"ORC": "an ORC file: save it as Parquet",
    b"Obj\x01": "an Avro file: save it as JSON Lines",
}
"""The first bytes of files that are not read, and what to do."""
_PARQUET, _ARROW_FILE, _ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_SEPARATORS = ",;\t|"
_HEAD = 16  # bytes that show a file's kind


def file_records(
    file: Path,
    notes: list[str],
    wanted: Callable[[Collection[str]], Collection[str]] | None = None,
    is_record: Callable[[Any], bool] = lambda value: False,
    may_grow: bool = False,
) -> Iterator[Record]:
    """Yield the place and the value of each record of a file.

    Args:
        file: the file.
        notes: a list to which notes on lines that cannot be read are added.
        wanted: returns the columns to read of a Parquet or Arrow file, of all its leaf columns.
        is_record: whether an object is a record itself, and not a document that has the records.
        may_grow: whether the file is being written, so that its last line may be incomplete.

    Raises:
        RulerError: for a file of another kind, and for one that is damaged.
    """
    with file.open("rb") as raw:
        head = raw.read(_HEAD)
        for first_bytes, what in _OTHER_KINDS.items():
            if head.startswith(first_bytes):
                raise RulerError(f"'{file}' is {what}.")
        if head.startswith(_PARQUET):
            yield from _parquet(file, wanted)
            return
        if head.startswith((_ARROW_FILE, _ARROW_STREAM)):
            yield from _arrow(file, wanted)
            return
        raw.seek(0)
        compression = _compression(head)
        stream = raw if compression is None else _decompressed(raw, compression)
        try:
            yield from _text_records(
                file, _text_lines(file, stream, notes), notes, is_record, may_grow
            )
        except (OSError, EOFError) as error:
            if compression is None:
                raise
            raise RulerError(
                f"'{file}' is a damaged {compression} file: {one_line(error)}. Get it again."
            ) from error


def json_lines(file: Path, notes: list[str]) -> Iterator[Record]:
    """Yield the place and the value of each line of JSON; note other lines in `notes`."""
    with file.open("rb") as stream:
        yield from _values_of_lines(file, _text_lines(file, stream, notes), notes)


def plain_suffix(file: Path) -> str:
    """Return the suffix of a file without that of its compression: `.jsonl` of `a.jsonl.gz`."""
    suffixes = [suffix for suffix in file.suffixes[-2:] if suffix not in COMPRESSED_SUFFIXES]
    return suffixes[-1].lower() if suffixes else ""


# ---- Bytes and lines ---------------------------------------------------------------------------


def _compression(head: bytes) -> str | None:
    for first_bytes, name in _COMPRESSIONS.items():
        if head.startswith(first_bytes):
            return name
    return None


def _decompressed(raw: BinaryIO, compression: str) -> BinaryIO:
    if compression == "xz":
        import lzma

        return cast(BinaryIO, lzma.open(raw))
    import pyarrow as pa

    return cast(BinaryIO, io.BufferedReader(pa.CompressedInputStream(raw, compression), 1 << 20))


def _text_lines(file: Path, stream: BinaryIO, notes: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line, without a byte order mark."""
    head = stream.read(4)
    if encoding := _wide_encoding(head):
        try:
            text = (head + stream.read()).decode(encoding)
        except UnicodeDecodeError as error:
            raise RulerError(f"'{file}' is not text: save it as UTF-8.") from error
        yield from enumerate(io.StringIO(text, newline="\n"), 1)
        return
    first_line = head + stream.readline()
    if first_line[257:262] == b"ustar":
        raise RulerError(f"'{file}' is a tar archive: unpack it.")
    first_lines = io.BytesIO(first_line)
    has_noted_bytes = False
    for number, data in enumerate(itertools.chain(first_lines, stream), 1):
        encoding = "utf-8-sig" if number == 1 else "utf-8"
        try:
            line = data.decode(encoding)
        except UnicodeDecodeError:
            line = data.decode(encoding, errors="replace")
            if not has_noted_bytes:
                notes.append(f"{file}:{number} {NOT_UTF_8}")
                has_noted_bytes = True
        yield number, line


def _wide_encoding(head: bytes) -> str | None:
    """Return UTF-16 or UTF-32 if a text is in it, by its mark or the zeros of its first letters."""
    if head in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in head:
        return "utf-16-be" if head.startswith(b"\0") else "utf-16-le"
    return None


def _text_records(
    file: Path,
    lines: Iterator[tuple[int, str]],
    notes: list[str],
    is_record: Callable[[Any], bool],
    may_grow: bool,
) -> Iterator[Record]:
    """Yield the records of a text: of JSON lines, of JSON documents, or of a table."""
    looked_at: list[tuple[int, str]] = []
    for number, line in lines:
        looked_at.append((number, line))
        if line.strip():
            break
    if not looked_at or not looked_at[-1][1].strip():
        return
    first = looked_at[-1][1].lstrip()
    all_lines = itertools.chain(looked_at, lines)
    if _is_table(file, first):
        yield from _table(file, all_lines)
        return
    if not _is_json(first):  # a document over several lines, or a damaged line
        text = "".join(line for _, line in all_lines)
        if documents := _documents(text):
            yield from _records_of_documents(file, documents, is_record)
        else:
            lines = enumerate(io.StringIO(text, newline="\n"), 1)
            yield from _values_of_lines(file, lines, notes, may_grow)
        return
    second = next(((number, line) for number, line in lines if line.strip()), None)
    if second is None:  # a document in one line
        value = json.loads(first)
        yield from _records_of_documents(file, [value], is_record)
        return
    looked_at.append(second)
    yield from _values_of_lines(file, itertools.chain(looked_at, lines), notes, may_grow)


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


# ---- JSON --------------------------------------------------------------------------------------


def _values_of_lines(
    file: Path, lines: Iterable[tuple[int, str]], notes: list[str], may_grow: bool = False
) -> Iterator[Record]:
    name = str(file)
    for number, line in lines:
        if not line or line.isspace():
            continue
        where = f"{name}:{number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            if line.endswith("\n") or not may_grow:
                notes.append(f"{where} is not JSON")
            continue
        yield where, value


def _documents(text: str) -> list[Any]:
    """Return the JSON documents that a text consists of; none if it has anything else."""
    decoder, documents, at = json.JSONDecoder(), [], 0
    text = text.strip()
    while at < len(text):
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        documents.append(document)
        while at < len(text) and text[at].isspace():
            at += 1
    return documents


def _records_of_documents(
    file: Path, documents: list[Any], is_record: Callable[[Any], bool]
) -> Iterator[Record]:
    number = 0
    for document in documents:
        records = _rows_of_columns(document)
        if records is None:
            records = [document] if is_record(document) else _records_in(document)
        for record in records:
            number += 1
            yield f"{file}:{number}", record


def _records_in(document: Any) -> list[Any]:
    """Return the records of a document.

    They are the document if it is a list, the one list of objects in it, or numbered objects.
    """
    if not isinstance(document, dict):
        return document if isinstance(document, list) else [document]
    if _is_by_number(document) and all(isinstance(value, dict) for value in document.values()):
        return [{"index": key, **record} for key, record in document.items()]
    lists = [value for value in document.values() if _is_list_of_objects(value)]
    return lists[0] if len(lists) == 1 else [document]


def _rows_of_columns(document: Any) -> list[dict[str, Any]] | None:
    """Return the records of a document that has columns, as pandas writes; None for another one.

    A column is a list or an object by row, or there are the lists `columns` and `data`.
    """
    if not isinstance(document, dict) or not document:
        return None
    names, rows = document.get("columns"), document.get("data")
    if isinstance(names, list) and isinstance(rows, list):
        if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
            return None
        return [dict(zip(map(str, names), row, strict=True)) for row in rows]
    columns = [
        [*column.values()] if _is_by_number(column) else column for column in document.values()
    ]
    sizes = {len(column) if isinstance(column, list) else 0 for column in columns}
    if len(columns) == 1 or len(sizes) > 1 or sizes == {0}:
        return None
    return [dict(zip(document, row, strict=True)) for row in zip(*columns, strict=True)]


def _is_by_number(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(key.isdecimal() for key in value)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


# ---- Tables ------------------------------------------------------------------------------------


def _is_table(file: Path, first: str) -> bool:
    """Return whether a text is a table, by its first line and else by the file's name."""
    if first.startswith(("{", "[")):
        return False
    if plain_suffix(file) in (".csv", ".tsv", ".tab", ".txt"):
        return True
    if _is_json(first) or re.search(r'[{}]|": ', first):  # the rest of a damaged line of JSON
        return False
    return any(separator in first for separator in _SEPARATORS)


def _table(file: Path, lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
    """Yield the rows of a table.

    Its separator is the most frequent of _SEPARATORS in its first line, or the one that Excel's
    first line `sep=;` names.
    """
    csv.field_size_limit(1 << 30)
    number, header = next(lines)
    while not header.strip() or header.startswith("sep="):
        if header.startswith("sep="):
            separator = header[4:5]
            number, header = next(lines, (number + 1, ""))
            break
        number, header = next(lines)
    else:
        separator = max(_SEPARATORS, key=header.count)  # a comma if the line has none of them
    texts = itertools.chain([header], (line for _, line in lines))
    # not strict, a missing quotation mark would join the lines up to the next one into one answer
    reader = csv.reader(texts, delimiter=separator, strict=True)
    try:
        columns = [name.strip() for name in next(reader, [])]
        _check_columns(file, columns)
        for cells in filter(None, reader):
            where, count = f"{file}:{number - 1 + reader.line_num}", len(columns)
            if len(cells) < count or any(cells[count:]):  # part of an answer would be lost
                raise RulerError(
                    f"'{where}' has {number_of(len(cells), 'cell')} and the first line {count}: "
                    "put texts with commas or line breaks between quotation marks."
                )
            # an empty cell is a null, as pandas writes it
            yield where, {name: cell or None for name, cell in zip(columns, cells, strict=False)}
    except csv.Error as error:
        where = f"{file}:{number - 1 + reader.line_num}"
        raise RulerError(f"'{where}' is not valid CSV: {error}.") from error


def _check_columns(file: Path, columns: Iterable[str]) -> None:
    """Raise RulerError for two columns of one name, of which only one would be read."""
    for name, count in Counter(columns).items():
        if count > 1:
            raise RulerError(f"'{file}' has several columns named '{name}': keep one of them.")


# ---- Parquet and Arrow ---------------------------------------------------------------------------


def _parquet(
    file: Path, wanted: Callable[[Collection[str]], Collection[str]] | None
) -> Iterator[Record]:
    names = leaf_columns(file)
    _check_columns(file, names)
    columns = names if wanted is None else sorted(wanted(names))
    for number, row in enumerate(read_parquet_rows(file, columns), 1):
        yield f"{file}:{number}", row


def _arrow(
    file: Path, wanted: Callable[[Collection[str]], Collection[str]] | None
) -> Iterator[Record]:
    """Yield the rows of an Arrow file, or of a stream, which is what `datasets` writes."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(file)) as source:
            is_file = source.read(len(_ARROW_FILE)) == _ARROW_FILE
            source.seek(0)
            if is_file:
                reader = pa.ipc.open_file(source)
                batches = (reader.get_batch(n) for n in range(reader.num_record_batches))
            else:
                reader = pa.ipc.open_stream(source)
                batches = iter(reader)
            names = reader.schema.names
            _check_columns(file, names)
            columns = names if wanted is None else _top_columns(wanted(names), names)
            number = 0
            for batch in batches:
                for row in batch.select(columns).to_pylist():
                    number += 1
                    yield f"{file}:{number}", row
    except UNREADABLE as error:
        if isinstance(error, RulerError):
            raise
        raise RulerError(
            f"'{file}' is not a readable Arrow file: {one_line(error)}. Write it again."
        ) from error


def _top_columns(paths: Collection[str], names: Collection[str]) -> list[str]:
    return [name for name in names if any(f"{path}.".startswith(f"{name}.") for path in paths)]
