"""The rows of a release: their columns in Python, Arrow and `datasets`, canary and frozen order."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from ruler_common.errors import RulerError
from ruler_common.files import open_parquet
from ruler_common.manifest_fields import FileEntry, Manifest
from ruler_common.names import LENGTHS

if TYPE_CHECKING:
    import datasets

# fmt: off
COLUMNS: dict[str, str] = {  # of a row, in order
    "index": "int32", "task": "string", "language": "string", "instruction_language": "string",
    "max_length": "int32", "input": "string", "answer_prefix": "string", "outputs": "list<string>",
    "max_new_tokens": "int32", "length": "int32", "context_start": "int32", "context_end": "int32",
    "question": "string",
    "evidence": "list<struct<start: int32, end: int32, depth: float32, answer: bool>>",
    "none_word": "string", "canary": "string",
}
# fmt: on

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


class Evidence(TypedDict):
    """A needle, assignment or gold passage of a row: character offsets in `input`.

    `depth` is (start - context_start) / (context_end - context_start). `answer` is true if it
    contains a reference, and false for a distractor.
    """

    start: int
    end: int
    depth: float
    answer: bool


class Row(TypedDict):
    """A row of either dataset; lengths in tokens, offsets in characters. See COLUMNS."""

    index: int
    task: str
    language: str
    instruction_language: str
    max_length: int
    input: str
    answer_prefix: str
    outputs: list[str]
    max_new_tokens: int
    length: int
    context_start: int
    context_end: int
    question: str
    evidence: list[Evidence]
    none_word: str
    canary: str


_SPAN = {"start": "int32", "end": "int32", "depth": "float32", "answer": "bool"}


def arrow_schema() -> Any:
    """Return the pyarrow.Schema of the Parquet files.

    It has no metadata for `datasets`: version 3 cannot read the types that version 4 and later
    would write there, and all versions derive the same features from the columns alone.
    """
    import pyarrow as pa

    span: list[Any] = []
    for name, kind in _SPAN.items():
        span.append(pa.field(name, kind))
    fields: list[Any] = []
    for name, kind in COLUMNS.items():
        if name == "evidence":
            fields.append(pa.field(name, pa.list_(pa.struct(span))))
        elif name == "outputs":
            fields.append(pa.field(name, pa.list_(pa.string())))
        else:
            fields.append(pa.field(name, kind))
    return pa.schema(fields)


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
            f"'{path}' does not have the columns of a release, {', '.join(COLUMNS)}. "
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
