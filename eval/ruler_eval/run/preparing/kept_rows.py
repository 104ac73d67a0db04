"""Rows that were read before their turn, packed, up to a number of bytes.

    kept = KeptRows(most=192 << 20)
    kept.expect([("vt_4k", 3), ("cwe_4k", 9), …])      # in the order of sending
    kept.add(("cwe_4k", 9), columns, text)             # where its turn is to come
    kept.take(("cwe_4k", 9))                           # once; None where it is not kept

A row group holds the rows of many waves and is unpacked as a whole: what else it holds is kept
until it is sent. Where that is too much, those rows go that are sent last, the best that can be
done (Belady, IBM Systems Journal 5.2, 1966, doi:10.1147/sj.52.0078).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Key = tuple[str, int]
"""A configuration and the index of a row."""


class Packed(NamedTuple):
    """The text of a row, packed, its size in bytes before that, and the row's other columns."""

    text: bytes
    size: int
    columns: Mapping[str, Any]


class KeptRows:
    """Packed rows by key; `most` is the bytes of their texts."""

    def __init__(self, most: int) -> None:
        import pyarrow as pa

        self.most, self.bytes = most, 0
        self._codec = pa.Codec("zstd", compression_level=1)  # a third of the size, 2 ms a 128k row
        self._turns: dict[Key, int] = {}
        self._rows: dict[Key, Packed] = {}
        self._last: list[tuple[int, Key]] = []
        """The kept rows, and some that were taken, the last to be sent first."""

    def expect(self, keys: Iterable[Key]) -> None:
        """The rows still to be sent, in this order; of others none are kept."""
        self._turns = {key: turn for turn, key in enumerate(keys)}
        self._rows = {key: row for key, row in self._rows.items() if key in self._turns}
        self.bytes = sum(len(row.text) for row in self._rows.values())
        self._last = [(-self._turns[key], key) for key in self._rows]
        heapq.heapify(self._last)

    def expects(self, key: Key) -> bool:
        """Whether the row's turn is to come, and it is not kept."""
        return key in self._turns and key not in self._rows

    def add(self, key: Key, columns: Mapping[str, Any], text: Any) -> None:
        """Keep a row that is expected; `text` is a buffer. The last to be sent may go for it."""
        turn = -self._turns[key]
        while self.bytes >= self.most:
            if not self._rows or (self._last[0][0] > turn and self._last[0][1] in self._rows):
                return
            self._drop(heapq.heappop(self._last)[1])
        packed = bytes(self._codec.compress(text))  # its buffer has the room of the whole text
        self._rows[key] = Packed(packed, text.size, columns)
        self.bytes += len(packed)
        heapq.heappush(self._last, (turn, key))

    def take(self, key: Key) -> dict[str, Any] | None:
        """The columns of a row and its text, `input`; it is sent now and kept no more."""
        self._turns.pop(key, None)
        row = self._drop(key)
        if row is None:
            return None
        text = self._codec.decompress(row.text, decompressed_size=row.size)
        return {**row.columns, "input": text.to_pybytes().decode()}

    def _drop(self, key: Key) -> Packed | None:
        row = self._rows.pop(key, None)
        self.bytes -= len(row.text) if row else 0
        return row
