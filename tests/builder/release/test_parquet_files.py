"""A file holds the rows that were added to it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ruler_builder.release.parquet import write_rows
from ruler_common.rows import COLUMNS, arrow_schema

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
            for name, kind in COLUMNS.items()
        }
    ),
    min_size=1,
    max_size=7,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS)
def test_a_file_holds_what_was_added(tmp_path, rows):
    schema, path = arrow_schema(), tmp_path / "rows.parquet"
    write_rows(path, rows, group=3, level=1)
    written = pq.read_table(path)
    written.validate(full=True)
    assert written.schema.metadata == schema.metadata
    assert written.cast(schema).equals(pa.Table.from_pylist(rows, schema))
    assert pq.ParquetFile(path).num_row_groups == -(-len(rows) // 3)
