"""A file holds the rows that were written, and one command at a time writes into a folder."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_builder.release.folder import locked_folder, write_rows
from ruler_common.errors import RulerError
from ruler_common.rows import COLUMN_TYPES, arrow_schema
from tests.embedded_release import build_embedded

TEXTS = st.text(max_size=5)
NUMBERS = st.integers(-(2**31), 2**31 - 1)
SPAN = st.fixed_dictionaries(
    {"start": NUMBERS, "end": NUMBERS, "depth": st.floats(0, 1), "answer": st.booleans()}
)
KINDS = {"outputs": st.lists(TEXTS, max_size=3), "evidence": st.lists(SPAN, max_size=3)}
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            name: KINDS.get(name, TEXTS if kind == "string" else NUMBERS)
            for name, kind in COLUMN_TYPES.items()
        }
    ),
    min_size=1,
    max_size=7,
)


@given(ROWS)
def test_a_file_holds_the_rows_that_were_written(tmp_path, rows):
    schema, path = arrow_schema(), tmp_path / "rows.parquet"
    rows = rows * 4
    write_rows(path, rows, max_length=1 << 20, level=1)
    written = pq.read_table(path)
    written.validate(full=True)
    assert written.schema.metadata == schema.metadata
    assert written.cast(schema).equals(pa.Table.from_pylist(rows, schema))
    assert pq.ParquetFile(path).num_row_groups == -(-len(rows) // 10)


def test_a_second_build_in_a_folder_is_refused_and_writes_nothing(tmp_path, cache):
    root = tmp_path / "ruler"
    refused = pytest.raises(RulerError, match=r"is running in '.*': wait until it ends")
    with locked_folder(root), refused:
        build_embedded(root, lengths=("4k",), rows=1)
    assert not root.exists()


def test_a_folder_is_unlocked_after_an_error(tmp_path, cache):
    with pytest.raises(KeyError), locked_folder(tmp_path):
        raise KeyError
    with locked_folder(tmp_path):
        assert not list(tmp_path.glob(".lock*"))


def test_another_machine_on_the_same_disk_is_locked_out(tmp_path, cache, monkeypatch):
    root = tmp_path / "shared/ruler"
    with locked_folder(root):
        monkeypatch.setenv("RULER_CACHE", str(tmp_path / "another"))  # that of another user
        with pytest.raises(RulerError, match="is running in"), locked_folder(root):
            raise AssertionError
    assert not root.parent.exists()
    with locked_folder(root):
        assert [path.name for path in root.parent.iterdir()] == [".ruler.building"]


def test_the_lock_file_of_a_killed_build_does_not_lock_the_folder(tmp_path, cache):
    (tmp_path / ".ruler.building").touch()
    with locked_folder(tmp_path / "ruler"):
        pass
    assert not (tmp_path / ".ruler.building").exists()


def test_a_folder_is_locked_under_all_its_names(tmp_path, cache):
    (tmp_path / "link").symlink_to(tmp_path)
    with locked_folder(tmp_path), pytest.raises(RulerError), locked_folder(tmp_path / "link"):
        raise AssertionError
