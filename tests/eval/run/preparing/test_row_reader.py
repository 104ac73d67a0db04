"""Rows come from the row groups that hold them, which are let go again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ruler_dataset
from ruler_common.errors import RulerError
from ruler_eval.run.preparing import row_reader
from ruler_eval.run.preparing.row_reader import COLUMNS, RowReader


def test_a_row_has_the_columns_of_a_prompt_as_the_release_has_them(small: Path) -> None:
    reader = RowReader(str(small))
    for index in (3, 0, 4):
        whole = ruler_dataset.load(small, "vt_4k")[index]
        assert reader("vt_4k", index) == ("vt_4k", {name: whole[name] for name in COLUMNS})
    found = [(index, row["length"]) for index, row in reader.all_rows("vt_4k", ("length",))]
    assert found == [(row["index"], row["length"]) for row in ruler_dataset.load(small, "vt_4k")]


def test_a_row_that_is_not_there_is_named(small: Path) -> None:
    with pytest.raises(RulerError, match="'vt_4k' has no row 5"):
        RowReader(str(small))("vt_4k", 5)


def test_each_row_group_is_read_once_where_its_rows_are_expected(small: Path) -> None:
    """Rows of two configurations in turns, as waves send them; the texts are the release's."""
    reader, read = counting(small)
    keys = [(config, index) for index in (4, 1, 3) for config in ("vt_4k", "cwe_4k")]
    reader.expect(keys)
    found = {key: reader(*key)[1] for key in keys}
    assert read == [("vt_4k", 0), ("cwe_4k", 0)]
    for config, index in keys:
        whole = ruler_dataset.load(small, config)[index]
        assert found[config, index] == {name: whole[name] for name in COLUMNS}
    assert reader("vt_4k", 1)[1] == found["vt_4k", 1]  # again, though it was sent: an engine died
    assert len(read) == 3


def test_without_room_rows_are_read_again(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_reader, "MOST_KEPT", 0)
    reader, read = counting(small)
    reader.expect([("vt_4k", 0), ("vt_4k", 1)])
    assert [reader("vt_4k", index)[1]["index"] for index in (0, 1)] == [0, 1]
    assert len(read) == 2


def counting(release: Path) -> tuple[RowReader, list[tuple[str, int]]]:
    """A reader, and the row groups that it has read for prompts."""
    read: list[tuple[str, int]] = []

    class Counting(RowReader):
        def _read(self, config: str, file: Any, number: int, columns: list[str]) -> Any:
            if "input" in columns:
                read.append((config, number))
            return super()._read(config, file, number, columns)

    return Counting(str(release)), read


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    from tests.eval.run import small_release

    root = small_release.write(tmp_path / "ruler", rows=2, only=("vt",))
    (file,) = root.rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:-9] + b"x" + file.read_bytes()[-8:])
    with pytest.raises(RulerError, match="sha256"):
        RowReader(str(root))("vt_4k", 0)
