"""Read a structure in Thrift's compact protocol, in which Parquet's footer and pages' headers are.

    fields, end = read_struct(data)        # {1: 2, 2: [{4: b"schema", …}, …], …} by field number

Every field is kept, also one that no specification has: pyarrow passes over these in silence.
"""

from __future__ import annotations

import struct
from typing import Any

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _STRUCT = 1, 2, 3, 7, 8, 9, 12
_INTEGERS = (4, 5, 6)  # of 16, 32 and 64 bits, all written alike


def read_struct(data: bytes | memoryview) -> tuple[dict[int, Any], int]:
    """The fields of the structure that data begin with, and the offset of its end.

    Raises ValueError where a field is of no known type or out of order, or the data end within it.
    """
    try:
        return _struct(data, 0)
    except RecursionError:
        raise ValueError("structures stand within each other without end") from None
    except (IndexError, struct.error):
        raise ValueError("a structure goes on after the end") from None


def _struct(data: bytes | memoryview, at: int) -> tuple[dict[int, Any], int]:
    """The same, for one within another."""
    fields: dict[int, Any] = {}
    number = 0
    while head := data[at]:
        at += 1
        if not head >> 4:
            raise ValueError("a field is out of order")
        number += head >> 4
        kind = head & 15
        if kind in (_TRUE, _FALSE):
            fields[number] = kind == _TRUE
        else:
            fields[number], at = _value(data, at, kind)
    return fields, at + 1


def _value(data: bytes | memoryview, at: int, kind: int) -> tuple[Any, int]:
    """A value of a type, and the offset of its end."""
    if kind in _INTEGERS:
        found, at = _varint(data, at)
        return (found >> 1) ^ -(found & 1), at
    if kind == _BINARY:
        size, at = _varint(data, at)
        if at + size > len(data):
            raise IndexError("a text goes on after the end")
        return bytes(data[at : at + size]), at + size
    if kind == _LIST:
        head, at = data[at], at + 1
        size, of = head >> 4, head & 15
        if size == 15:
            size, at = _varint(data, at)
        items = []
        for _ in range(size):
            item, at = _value(data, at, of)
            items.append(item)
        return items, at
    if kind == _STRUCT:
        return _struct(data, at)
    if kind in (_TRUE, _FALSE, _BYTE):  # an item of a list
        return data[at], at + 1
    if kind == _DOUBLE:
        return struct.unpack_from("<d", data, at)[0], at + 8
    raise ValueError(f"a field is of type {kind}")


def _varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        part = data[at]
        at += 1
        found |= (part & 127) << shift
        if part < 128:
            return found, at
        shift += 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")
