"""The Parquet files of a release are read alike by old and new readers."""

from __future__ import annotations

import json
import subprocess
import venv
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from ruler_common.rows import COLUMN_TYPES, features

VT = "data/tekken/4k/vt.parquet"  # has evidence
CWE = "data/tekken/4k/cwe.parquet"  # all its lists of evidence are empty


def rows_by_pyarrow(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file as Python objects."""
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


@pytest.mark.parametrize("path", [VT, CWE])
def test_a_file_says_nothing_that_only_some_readers_understand(release, path):
    with pq.ParquetFile(release / path) as file:
        assert set(file.metadata.metadata) == {b"ARROW:schema"}


@pytest.mark.parametrize(("path", "config"), [(VT, "vt_4k"), (CWE, "cwe_4k")])
def test_datasets_derives_the_features_from_the_columns(release, tmp_path, path, config):
    import datasets

    rows = datasets.load_dataset(str(release), config, split="test", cache_dir=str(tmp_path))
    assert rows.features == features()
    assert rows.to_list() == rows_by_pyarrow(release / path)


@pytest.mark.parametrize("path", [VT, CWE])
def test_pandas_reads_the_rows(release, path):
    frame = pd.read_parquet(release / path)
    assert list(frame.columns) == list(COLUMN_TYPES)
    rows = frame.to_dict(orient="records")
    for row in rows:
        row["outputs"], row["evidence"] = list(row["outputs"]), list(row["evidence"])
    assert rows == rows_by_pyarrow(release / path)


# Prints, for each file, the types of the columns in `datasets` and the rows by each reader.
READ = """
import json, sys
import datasets, duckdb, pandas, polars
release, cache, *pairs = sys.argv[1:]
found = {"version": datasets.__version__}
for config, path in zip(pairs[::2], pairs[1::2]):
    loaded = datasets.load_dataset(release, config, split="test", cache_dir=cache)
    table = duckdb.read_parquet(path)
    found[config] = {
        "types": [str(kind) for kind in loaded.features.arrow_schema.types],
        "rows": {
            "datasets": loaded.to_list(),
            "pandas": pandas.read_parquet(path).to_dict(orient="records"),
            "polars": polars.read_parquet(path).to_dicts(),
            "duckdb": [dict(zip(table.columns, row)) for row in table.fetchall()],
        },
    }
print(json.dumps(found, default=lambda value: value.tolist()))
"""


@pytest.mark.nightly
def test_datasets_3_polars_and_duckdb_read_the_same_rows(release, tmp_path):
    venv.create(tmp_path / "old", symlinks=True, with_pip=True)
    python = str(tmp_path / "old/bin/python")
    packages = ("datasets==3.6.0", "pandas<3", "pyarrow<21", "polars", "duckdb")
    subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    pairs = ("vt_4k", str(release / VT), "cwe_4k", str(release / CWE))
    done = subprocess.run(
        [python, "-I", "-c", READ, str(release), str(tmp_path / "cache"), *pairs],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["version"] == "3.6.0"
    types = [str(kind) for kind in features().arrow_schema.types]
    for config, path in (("vt_4k", VT), ("cwe_4k", CWE)):
        assert found[config]["types"] == types
        expected = rows_by_pyarrow(release / path)
        for reader, rows in found[config]["rows"].items():
            assert rows == expected, reader
