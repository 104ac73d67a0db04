"""The files of a release have the documented columns and canaries."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruler_builder.tasks.base import DATA_VERSION
from ruler_common.errors import RulerError
from ruler_common.rows import (
    CANARIES,
    COLUMN_TYPES,
    arrow_schema,
    canary_of,
    features,
    record_batch,
)


def test_the_files_have_the_schema(release):
    schema = pq.read_schema(release / "data/tekken/4k/qa_1.parquet")
    assert schema.names == list(COLUMN_TYPES)
    assert schema.equals(arrow_schema())
    assert schema.metadata is None


@pytest.mark.parametrize("task", ["niah_multikey_1", "cwe", "qa_1"])
def test_rows_become_the_batch_that_pyarrow_makes_of_them(task, release):
    rows = pq.read_table(release / f"data/tekken/4k/{task}.parquet").to_pylist()
    rows.append({**rows[0], "input": "é\0日本語🙂", "outputs": [], "none_word": "нет"})
    for part in (rows, rows[:1], []):
        batch = record_batch(part)
        batch.validate(full=True)
        assert batch.equals(pa.RecordBatch.from_pylist(part, schema=arrow_schema()))


def test_a_number_that_does_not_fit_its_column_is_not_written(release):
    (row, *_) = pq.read_table(release / "data/tekken/4k/qa_1.parquet").to_pylist()
    with pytest.raises(OverflowError):
        record_batch([{**row, "length": 1 << 31}])


def test_the_schema_is_that_of_datasets():
    import datasets

    kinds = {"start": "int32", "end": "int32", "depth": "float32", "answer": "bool"}
    span = {name: datasets.Value(kind) for name, kind in kinds.items()}
    lists = {"outputs": datasets.List(datasets.Value("string")), "evidence": datasets.List(span)}
    columns = {name: lists.get(name) or datasets.Value(kind) for name, kind in COLUMN_TYPES.items()}
    assert features() == datasets.Features(columns)
    assert arrow_schema().equals(datasets.Features(columns).arrow_schema)


def test_every_data_set_and_data_version_has_its_own_guid():
    guids = [guid for by_dataset in CANARIES.values() for guid in by_dataset.values()]
    assert len(guids) == len(set(guids)) == 2 * len(CANARIES)
    assert all(str(uuid.UUID(guid)) == guid for guid in guids)
    assert canary_of("oneruler", DATA_VERSION) != canary_of("ruler", DATA_VERSION)


def test_the_canaries_of_a_published_data_version_never_change():
    assert CANARIES["1.0.0"] == {
        "ruler": "8fd5e18a-9d4b-4926-8c36-4e95eff80e38",
        "oneruler": "42dedfe8-a025-410b-ae7d-7e4434d10390",
    }


def test_a_data_version_without_a_canary_is_refused_with_the_remedy():
    with pytest.raises(RulerError, match="has no canary: enter a new GUID"):
        canary_of("ruler", "9.9.9")
