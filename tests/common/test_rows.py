"""The columns of a release's files are those written down, and those of `datasets`."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from ruler_common.rows import COLUMNS, arrow_schema, features


def test_the_files_hold_the_features(release: Path) -> None:
    schema = pq.read_schema(release / "data/tekken/4k/qa_1.parquet")
    assert schema.names == list(COLUMNS)
    assert schema.equals(arrow_schema())
    assert schema.metadata == arrow_schema().metadata


def test_the_schema_written_out_is_that_of_datasets() -> None:
    import datasets

    kinds = {"start": "int32", "end": "int32", "depth": "float32", "answer": "bool"}
    span = {name: datasets.Value(kind) for name, kind in kinds.items()}
    lists = {"outputs": datasets.List(datasets.Value("string")), "evidence": datasets.List(span)}
    columns = {name: lists.get(name) or datasets.Value(kind) for name, kind in COLUMNS.items()}
    assert features() == datasets.Features(columns)
    assert arrow_schema().equals(datasets.Features(columns).arrow_schema, check_metadata=True)
