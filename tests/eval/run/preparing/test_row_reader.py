"""Rows come from the row groups that hold them, which are let go again."""

from __future__ import annotations

from pathlib import Path

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


def test_only_the_row_groups_read_last_are_kept(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = RowReader(str(small))
    reader("vt_4k", 0), reader("cwe_4k", 0)
    assert list(reader._groups) == [("vt_4k", 0), ("cwe_4k", 0)]
    monkeypatch.setattr(row_reader, "MOST_KEPT", 1)
    reader("qa_1_4k", 0)
    assert list(reader._groups) == [("qa_1_4k", 0)]


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    from tests.eval.run import small_release

    root = small_release.write(tmp_path / "ruler", rows=2, only=("vt",))
    (file,) = root.rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:-9] + b"x" + file.read_bytes()[-8:])
    with pytest.raises(RulerError, match="sha256"):
        RowReader(str(root))("vt_4k", 0)
