"""The rows of a release: their columns in Python, Arrow and `datasets`, canary and frozen order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import open_parquet
from ruler_common.manifest_fields import FileEntry, Manifest
from ruler_common.names import LENGTHS

if TYPE_CHECKING:
    import datasets

FULL_ROWS = {"ruler": 500, "oneruler": 50}
"""Rows per file of a full release, as in the papers."""
CANARIES = {  # data version -> dataset -> a GUID by which rows are found in training data
    "1.0.0": {
        "ruler": "8fd5e18a-9d4b-4926-8c36-4e95eff80e38",
        "oneruler": "42dedfe8-a025-410b-ae7d-7e4434d10390",
    },
}
"""The GUID is in every row, in the card and in the manifest. It never changes."""


def canary_of(dataset: str, data_version: str) -> str:
    """Return the GUID of a dataset and data version. Raises RulerError if it has none."""
    if data_version not in CANARIES:
        raise RulerError(
            f"Data version {data_version} has no canary: enter a new GUID for each dataset in "
            "ruler_common/rows.py."
        )
    return CANARIES[data_version][dataset]


# ---- Columns -------------------------------------------------------------------------------------

# A Python type with its Arrow type, the one statement of the schema of a row
Text = Annotated[str, "string"]
Int = Annotated[int, "int32"]
Float = Annotated[float, "float32"]
Bool = Annotated[bool, "bool"]


class Evidence(TypedDict):
    """A needle, assignment or gold passage of a row: character offsets in `input`.

    `depth` is (start - context_start) / (context_end - context_start). `answer` is true if it
    contains a reference, and false for a distractor.
    """

    start: Int
    end: Int
    depth: Float
    answer: Bool


class Row(TypedDict):
    """A row of either dataset, its columns in order; lengths in tokens, offsets in characters."""

    index: Int
    task: Text
    language: Text
    instruction_language: Text
    max_length: Int
    input: Text
    answer_prefix: Text
    outputs: list[Text]
    max_new_tokens: Int
    length: Int
    context_start: Int
    context_end: Int
    question: Text
    evidence: list[Evidence]
    none_word: Text
    canary: Text


def _type_name(kind: Any) -> str:
    """Return the name of a column's type, such as `list<string>`."""
    if get_origin(kind) is list:
        return f"list<{_type_name(get_args(kind)[0])}>"
    if kind is Evidence:
        return f"struct<{', '.join(f'{part}: {name}' for part, name in EVIDENCE.items())}>"
    name: str = kind.__metadata__[0]
    return name


def _type_names(kind: Any) -> dict[str, str]:
    """Return the fields of a TypedDict, with the names of their types."""
    fields = get_type_hints(kind, include_extras=True)
    return {name: _type_name(field) for name, field in fields.items()}


EVIDENCE = _type_names(Evidence)
"""The parts of a span and their Arrow types."""
COLUMN_TYPES = _type_names(Row)
"""The columns of a row, in order, and the names of their types."""


def arrow_schema() -> Any:
    """Return the pyarrow.Schema of the Parquet files.

    It has no metadata for `datasets`: version 3 cannot read the types that version 4 and later
    would write there, and all versions derive the same features from the columns alone.
    """
    import pyarrow as pa

    span: list[Any] = [pa.field(part, kind) for part, kind in EVIDENCE.items()]
    lists = {"outputs": pa.list_(pa.string()), "evidence": pa.list_(pa.struct(span))}
    return pa.schema([pa.field(name, lists.get(name, kind)) for name, kind in COLUMN_TYPES.items()])


def record_batch(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as a pyarrow.RecordBatch.

    RecordBatch.from_pylist would do so too, but like pyarrow.array and pyarrow.scalar it imports
    pandas, which takes longer than making a small file.
    """
    import pyarrow as pa

    schema = arrow_schema()
    columns = []
    for field in schema:
        columns.append(_arrow_array([row[field.name] for row in rows], field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _arrow_array(values: Sequence[Any], kind: Any) -> Any:
    """Return values, none of them missing, as a pyarrow.Array of a type of `arrow_schema`."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_struct(kind):
        columns = [
            _arrow_array([value[field.name] for value in values], field.type) for field in kind
        ]
        return pa.StructArray.from_arrays(columns, fields=list(kind))
    if pa.types.is_list(kind):
        ends = _arrow_array([0, *accumulate(map(len, values))], pa.int32())
        items = _arrow_array([item for value in values for item in value], kind.value_type)
        return pa.ListArray.from_arrays(ends, items, type=kind)
    if pa.types.is_string(kind):
        encoded = [value.encode() for value in values]
        ends = np.array([0, *accumulate(map(len, encoded))], dtype=np.int32)
        return pa.StringArray.from_buffers(
            len(values), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))
        )
    if pa.types.is_boolean(kind):
        data = np.packbits(np.array(values, dtype=bool), bitorder="little")
    else:
        data = np.array(values, dtype=kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(data)])


def features() -> datasets.Features:
    """Return the columns as `datasets.Features`."""
    from datasets import Features

    return Features.from_arrow_schema(arrow_schema())


def check_columns(path: Path) -> None:
    """Raise RulerError if a file is not a Parquet file with the columns of a release."""
    expected = arrow_schema()
    with open_parquet(path) as file:
        schema = file.schema_arrow
    if (schema.names, schema.types) != (expected.names, expected.types):
        raise RulerError(
            f"'{path}' does not have the columns of a release, {', '.join(COLUMN_TYPES)}. "
            "Download or build it again."
        )


def refuse_nulls(table: Any, where: object) -> None:
    """Raise RulerError for rows (an Arrow table or batch) with a missing value."""
    import pyarrow as pa

    for name in table.schema.names:
        column = table.column(name)
        arrays = [*column.chunks] if isinstance(column, pa.ChunkedArray) else [column]
        while arrays:
            array = arrays.pop()
            if array.null_count:
                raise RulerError(f"'{where}' has a row without {name}: download or build it again.")
            if pa.types.is_struct(array.type):
                arrays += array.flatten()
            elif pa.types.is_nested(array.type):
                arrays.append(array.values)  # `flatten` would import pyarrow.compute, which is slow


def row_order(data_version: str, dataset: str, task: str, length: str, rows: int) -> list[int]:
    """Return the indices 0 … rows − 1 in the frozen random order of a task at a length.

    The first rows in this order are a random sample, the same for every model and language. Rows
    are sorted by a hash of data version, task and index, and the order is read as a circle: each
    length of a full release starts at a different place, any other length at a place chosen by a
    hash. Lengths start with different rows because row i asks the same question at every length.
    """
    if not rows:
        return []
    hashes = []
    for index in range(rows):
        hashes.append(_hash(data_version, task, index))
    circle = sorted(range(rows), key=hashes.__getitem__)
    lengths = LENGTHS[dataset]
    if length in lengths:
        start = rows * lengths.index(length) // len(lengths)
    else:
        start = int.from_bytes(_hash(data_version, length), "big") % rows
    return circle[start:] + circle[:start]


def _hash(*parts: object) -> bytes:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).digest()


def indices_of(manifest: Manifest, entry: FileEntry) -> list[int]:
    """Return the indices of a file's rows, in the frozen order."""
    return row_order(
        data_version=manifest["data_version"],
        dataset=manifest["dataset"],
        task=entry["task"],
        length=entry["length"],
        rows=entry["rows"],
    )
