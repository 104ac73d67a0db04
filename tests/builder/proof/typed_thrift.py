"""Read Thrift's compact protocol with the type of every number, and write it again to the byte.

fields, end = read(data)
write(fields) == data[:end]
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

BYTE, SHORT, INT, LONG, BINARY, LIST, STRUCT = 3, 4, 5, 6, 8, 9, 12


class Number(int):
    """An integer that knows how wide it is; a plain one is of 64 bits."""

    kind = LONG


class Items(list[Any]):
    """A list that knows its items' type, also where it is empty; a plain one is of structures."""

    kind = STRUCT


def number(value: int, kind: int) -> Number:
    found = Number(value)
    found.kind = kind
    return found


def read(data: bytes, at: int = 0) -> tuple[dict[int, Any], int]:
    """The structure at an offset, and where it ends."""
    file = BytesIO(data)
    file.seek(at)
    return _struct(file), file.tell()


def _struct(file: BytesIO) -> dict[int, Any]:
    fields: dict[int, Any] = {}
    last = 0
    while head := file.read(1)[0]:
        last += head >> 4
        kind = head & 15
        fields[last] = kind == 1 if kind < BYTE else _value(file, kind)
    return fields


def _value(file: BytesIO, kind: int) -> Any:
    if kind == BINARY:
        return file.read(_varint(file))
    if kind == STRUCT:
        return _struct(file)
    if kind == LIST:
        head = file.read(1)[0]
        size = head >> 4 if head >> 4 < 15 else _varint(file)
        items = Items(_value(file, head & 15) for _ in range(size))
        items.kind = head & 15
        return items
    if kind == BYTE:
        return number(file.read(1)[0], BYTE)
    found = _varint(file)
    return number((found >> 1) ^ -(found & 1), kind)


def _varint(file: BytesIO) -> int:
    found = shift = 0
    while (part := file.read(1)[0]) > 127:
        found |= (part & 127) << shift
        shift += 7
    return found | part << shift


def write(fields: dict[int, Any]) -> bytes:
    """A structure; plain numbers as 64 bits, plain lists as of structures."""
    found, before = b"", 0
    for name, value in sorted(fields.items()):
        found += bytes([name - before << 4 | _kind(value)])
        found += b"" if isinstance(value, bool) else _written(value)
        before = name
    return found + b"\0"


def _kind(value: Any) -> int:
    if isinstance(value, bool):
        return 1 if value else 2
    if isinstance(value, int):
        return value.kind if isinstance(value, Number) else LONG
    return {bytes: BINARY, dict: STRUCT}.get(type(value), LIST)


def _written(value: Any) -> bytes:
    if isinstance(value, bytes):
        return _long(len(value)) + value
    if isinstance(value, dict):
        return write(value)
    if isinstance(value, list):
        kind = value.kind if isinstance(value, Items) else STRUCT
        short = len(value) < 15
        head = bytes([(len(value) if short else 15) << 4 | kind])
        return head + (b"" if short else _long(len(value))) + b"".join(map(_written, value))
    if _kind(value) == BYTE:
        return bytes([value])
    return _long(value << 1 if value >= 0 else (-value << 1) - 1)


def _long(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])
