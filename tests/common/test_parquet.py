"""Chosen columns of a Parquet file are read, and a damaged file is refused."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruler_common.errors import RulerError
from ruler_common.files import leaf_columns, open_parquet, read_parquet_rows

TABLE = pa.table({"input": ["a", "b", "c"], "doc": [{"id": 1}, {"id": 2}, {"id": 3}]})


def test_chosen_columns_are_read(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path, row_group_size=2)
    assert leaf_columns(path) == ["input", "doc.id"]
    assert [*read_parquet_rows(path, ["doc.id"])] == [
        {"doc": {"id": number}} for number in (1, 2, 3)
    ]
    assert [*read_parquet_rows(path, [])] == []


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" * 5, b"x" * 1000])
def test_a_file_that_is_not_parquet_is_refused(tmp_path, data):
    path = tmp_path / "a.parquet"
    path.write_bytes(data)
    with pytest.raises(RulerError, match=r"is not a readable Parquet file: .* build it again\.$"):
        leaf_columns(path)


def test_a_file_damaged_inside_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path, compression="zstd")
    data = bytearray(path.read_bytes())
    data[4:60] = bytes(56)
    path.write_bytes(data)
    with pytest.raises(RulerError, match="is not a readable Parquet file"), open_parquet(path) as a:
        a.read()
