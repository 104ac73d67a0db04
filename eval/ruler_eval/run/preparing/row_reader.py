"""Rows of a release as they are sent, read a row group at a time; digests are checked.

    reader = RowReader("ruler")
    for index, row in reader.all_rows("vt_4k", ("input",)): …      # in file order, then let go
    reader.expect([("vt_4k", 17), ("cwe_4k", 3), …])               # the order of sending
    config, row = reader("vt_4k", 17)                              # the columns of a prompt

A release holds gigabytes of text: of a row group that is read, no more is kept than the rows that
are expected, packed (kept_rows.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from threading import Lock
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.files import UNREADABLE
from ruler_common.rows import refuse_nulls
from ruler_common.work import let_go
from ruler_eval.frozen_release import Release
from ruler_eval.run.preparing.kept_rows import KeptRows, Key

COLUMNS = ("index", "input", "answer_prefix", "max_new_tokens", "length")
"""All that a prompt is made of: references and evidence never come near a model."""
SentRow = tuple[str, Mapping[str, Any]]
"""A configuration and the columns of one row that make its prompt."""
MOST_KEPT = 64 << 20
"""Bytes of packed rows that are kept, at most."""
MOST_OPEN = 128
"""Configurations whose indices are kept at a time."""


class RowReader:
    """Rows by configuration and index. Threads may share one."""

    def __init__(self, dataset: str, revision: str | None = None) -> None:
        self.dataset, self.revision = dataset, revision
        self._places = lru_cache(MOST_OPEN)(self._places_of)
        self._kept = KeptRows(MOST_KEPT)
        self._lock = Lock()

    def expect(self, keys: Iterable[Key]) -> None:
        """The rows that are to be sent, in this order: each row group is read as seldom as can be.

        It replaces what was expected before. A row that was not expected can be had too.
        """
        with self._lock:
            self._kept.expect(keys)

    def __call__(self, config: str, index: int) -> SentRow:
        """A row as it is sent. Raises RulerError if there is no such row."""
        with self._lock:
            row = self._kept.take((config, index)) or self._read_with_others(config, index)
        return config, {name: row[name] for name in COLUMNS}

    def place(self, config: str, index: int) -> tuple[int, int]:
        """The row group of a row, and its place within. Raises RulerError if there is none."""
        places = self._places(config)
        if index not in places:
            raise RulerError(f"'{config}' has no row {index}. Run: ruler verify DIR")
        return places[index]

    def all_rows(
        self, config: str, columns: Sequence[str]
    ) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Each row's index and these columns, in file order; one row group is held at a time."""
        with self._file(config) as file:
            for number in range(file.num_row_groups):
                table = self._read(config, file, number, ["index", *columns])
                for place in range(table.num_rows):
                    row = table.slice(place, 1).to_pylist()[0]
                    yield row["index"], row

    @cached_property
    def _release(self) -> Release:
        return Release.open(self.dataset, self.revision)

    def _file(self, config: str) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(self._release.path(config))

    def _read(self, config: str, file: Any, number: int, columns: list[str]) -> Any:
        try:
            table = file.read_row_group(number, columns=columns)
        except UNREADABLE as error:
            path = self._release.path(config)
            raise RulerError(f"'{path}' cannot be read: get or build it anew.") from error
        refuse_nulls(table, self._release.path(config))
        let_go()  # what unpacking took, and groups that were read before
        return table

    def _places_of(self, config: str) -> dict[int, tuple[int, int]]:
        """Where each index of a configuration stands: its row group and its place within."""
        with self._file(config) as file:
            return {
                index: (number, place)
                for number in range(file.num_row_groups)
                for place, index in enumerate(
                    self._read(config, file, number, ["index"])["index"].to_pylist()
                )
            }

    def _read_with_others(self, config: str, index: int) -> Mapping[str, Any]:
        """A row out of its row group, of which the rows that are expected are kept."""
        number, place = self.place(config, index)
        with self._file(config) as file:
            table = self._read(config, file, number, list(COLUMNS))
        texts = table["input"]
        for row in table.drop_columns(["input"]).to_pylist():
            key = config, row["index"]
            if self._kept.expects(key):
                self._kept.add(key, row, texts[self.place(*key)[1]].as_buffer())
        found: Mapping[str, Any] = table.slice(place, 1).to_pylist()[0]
        return found
