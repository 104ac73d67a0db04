"""The same answers in files of every kind: read alike, or refused with what to do."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruler_common.errors import RulerError
from tests.eval.scoring_helpers import read

ROWS = [
    {"config": "niah_single_1_4k", "index": number, "prediction": f"It is „{1000000 + number}“, "
     "right?\nJa.", "outputs": [str(1000000 + number)]}
    for number in range(3)
]  # fmt: skip


def lines():
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)


def table(separator, first=""):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(ROWS[0])
    writer.writerows(row.values() for row in ROWS)
    return first + text.getvalue()


def lz4(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "lz4") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


TEXTS = {
    "lines.jsonl": lines(),
    "lines.json": lines(),
    "lines_of_windows.jsonl": lines().replace("\n", "\r\n"),
    "blank_lines.jsonl": "\n" + lines().replace("\n", "\n\n"),
    "list.json": json.dumps(ROWS, indent=1),
    "list.jsonl": json.dumps(ROWS),
    "list_of_lines.json": "[\n" + ",\n".join(json.dumps(row) for row in ROWS) + "\n]",
    "document.json": json.dumps({"model": "m", "data": ROWS}),
    "columns.json": json.dumps({name: [row[name] for row in ROWS] for name in ROWS[0]}),
    "columns_by_number.json": json.dumps(
        {name: {str(number): row[name] for number, row in enumerate(ROWS)} for name in ROWS[0]}
    ),
    "columns_and_data.json": json.dumps(
        {"columns": [*ROWS[0]], "index": [0, 1, 2], "data": [[*row.values()] for row in ROWS]}
    ),
    "documents.json": "\n".join(json.dumps(row, indent=2) for row in ROWS),
    "numbered.json": json.dumps({str(row["index"]): row for row in ROWS}, indent=2),
    "numbered.jsonl": json.dumps({str(row["index"]): row for row in ROWS}),
    "table.csv": table(","),
    "semicolons.csv": table(";"),
    "excel.csv": table(";", "sep=;\r\n"),
    "tabs.tsv": table("\t"),
    "tabs.txt": table("\t"),
    "bars.csv": table("|"),
    "spaces_in_the_first_line.csv": ", ".join(ROWS[0]) + "\r\n" + table(",").partition("\r\n")[2],
    "table_without_a_suffix": table(","),
}
ENCODINGS = {
    "utf-8": str.encode,
    "with a mark": lambda text: text.encode("utf-8-sig"),
    "utf-16": lambda text: text.encode("utf-16"),
    "utf-16-be": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "utf-32": lambda text: text.encode("utf-32"),
    "utf-16-le without a mark": lambda text: text.encode("utf-16-le"),
}
COMPRESSIONS = {".gz": gzip.compress, ".zst": zstd, ".bz2": bz2.compress, ".xz": lzma.compress}


EXPECTED = [(row["config"], row["index"], row["prediction"], tuple(row["outputs"])) for row in ROWS]


def answers(path):
    """The answers in a file, with the line ends of this system."""
    predictions = read(path)
    assert predictions.damaged == []
    return [
        (row.config, row.index, row.text.replace("\r\n", "\n"), row.outputs)
        for row in predictions.rows
    ]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_read_by_its_content_in_any_encoding(name, encoding, tmp_path):
    path = tmp_path / name
    path.write_bytes(ENCODINGS[encoding](TEXTS[name]))
    assert answers(path) == EXPECTED


@pytest.mark.parametrize("suffix", COMPRESSIONS)
@pytest.mark.parametrize("name", ["lines.jsonl", "list.json", "tabs.tsv"])
def test_a_compressed_file_is_read_whatever_it_is_called(name, suffix, tmp_path):
    data = COMPRESSIONS[suffix](TEXTS[name].encode())
    for path in (tmp_path / f"{name}{suffix}", tmp_path / name):
        path.write_bytes(data)
        assert answers(path) == EXPECTED
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(RulerError, match=r"is a damaged \w+ file"):
        read(path)


def test_lz4_is_read(tmp_path):
    path = tmp_path / "answers.jsonl.lz4"
    path.write_bytes(lz4(lines().encode()))
    assert answers(path) == EXPECTED


def test_parquet_and_arrow_are_read(tmp_path):
    records = pa.Table.from_pylist(ROWS)
    pq.write_table(records, tmp_path / "a.parquet")
    with pa.ipc.new_file(tmp_path / "file.arrow", records.schema) as writer:
        writer.write_table(records)
    with pa.ipc.new_stream(tmp_path / "stream.arrow", records.schema) as writer:
        writer.write_table(records)
    for name in ("a.parquet", "file.arrow", "stream.arrow"):
        assert answers(tmp_path / name) == EXPECTED
    whole = (tmp_path / "stream.arrow").read_bytes()
    (tmp_path / "stream.arrow").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RulerError, match="is not a readable Arrow file"):
        read(tmp_path / "stream.arrow")


def test_a_folder_that_datasets_saved_is_read(tmp_path):
    from datasets import Dataset, DatasetDict

    saved = Dataset.from_list(ROWS)
    saved.save_to_disk(tmp_path / "saved", num_shards=2)
    assert answers(tmp_path / "saved") == EXPECTED
    DatasetDict({"test": saved}).save_to_disk(tmp_path / "splits")
    assert answers(tmp_path / "splits") == EXPECTED
    DatasetDict({"a": saved, "b": saved}).save_to_disk(tmp_path / "two")
    with pytest.raises(RulerError, match="has the splits a, b: name the folder of one"):
        read(tmp_path / "two")


def test_a_saved_folder_without_one_of_its_files_is_refused(tmp_path):
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "a.arrow"}]}))
    with pytest.raises(RulerError, match=r"a\.arrow', which '.*' names, does not exist"):
        read(tmp_path)


def test_a_folder_of_compressed_lines_is_read(tmp_path):
    (tmp_path / "answers.jsonl.zst").write_bytes(zstd(lines().encode()))
    assert answers(tmp_path) == EXPECTED


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"PK\x03\x04rest", "a zip archive or a spreadsheet: unpack it, or save the table as CSV"),
        (b"\x80\x04\x95rest", "a pickle, which could run code"),
        (b"SQLite format 3\0", "a database"),
    ],
)
def test_other_kinds_of_files_are_named(data, words, tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_bytes(data)
    with pytest.raises(RulerError, match=words):
        read(path)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_an_archive_of_files_is_refused_and_not_read_as_one(mode, tmp_path):
    path = tmp_path / "cwe_4k.jsonl"
    path.write_text(lines(), encoding="utf-8")
    with tarfile.open(tmp_path / "archive", mode) as archive:
        archive.add(path, arcname=path.name)
        archive.add(path, arcname="vt_4k.jsonl")
    with pytest.raises(RulerError, match="is a tar archive: unpack it"):
        read(tmp_path / "archive")


def test_half_a_first_line_is_noted_and_the_others_are_read(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(lines()[:40] + "\n" + lines(), encoding="utf-8")
    predictions = read(path)
    assert [row.index for row in predictions.rows] == [0, 1, 2]
    assert predictions.damaged == [f"{path}:1 is not JSON"]


def test_a_line_with_a_list_of_objects_is_a_record_and_not_a_document(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({**ROWS[0], "messages": [{"role": "user"}, {"role": "x"}]}))
    assert [row.index for row in read(path).rows] == [0]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".csv.gz"])
@pytest.mark.parametrize("name", ["cwe_4k", "llama_cwe_4k", "cwe_4096", "ruler_cwe_4k"])
def test_the_name_of_a_file_is_its_configuration_whatever_its_kind(name, suffix, tmp_path):
    path = tmp_path / f"{name}{suffix}"
    rows = [{"id": 0, "prediction": "a"}, {"id": 1, "prediction": "b"}]
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif suffix.startswith((".csv", ".tsv")):
        separator = "\t" if suffix == ".tsv" else ","
        text = "\n".join(separator.join(["id", "prediction"]).split("\n"))
        text += "".join(f"\n{row['id']}{separator}{row['prediction']}" for row in rows)
        path.write_bytes(gzip.compress(text.encode()) if suffix == ".csv.gz" else text.encode())
    else:
        path.write_text(json.dumps(rows) if suffix == ".json" else "\n".join(map(json.dumps, rows)))
    for columns in (None, "prediction=prediction"):
        assert {row.config for row in read(path, columns=columns).rows} == {"cwe_4k"}
