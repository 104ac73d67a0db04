"""Bytes and texts that no column of a Parquet file has are named, though every row is sound.

Each is planted so that pyarrow reads the file and gives the same rows; the manifest follows it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ruler_builder.verify.verify import verify
from ruler_common.files import sha256_of
from ruler_common.manifest_form import MANIFEST
from ruler_common.rows import arrow_schema
from tests.builder.proof import planting, typed_thrift
from tests.builder.proof.typed_thrift import INT, number
from tests.shares import share

PATH = "data/tekken/4k/fwe.parquet"
HIDDEN = b"The answers are 42."
INPUT = 5  # the column of the prompts
KEY_VALUE = {1: b"note", 2: HIDDEN}


@dataclass
class Parquet:
    """A file in its parts: the fields of its footer, and the bytes of every column."""

    fields: dict[int, Any]
    columns: list[list[bytes]]
    between: dict[int, bytes] = field(default_factory=dict)
    """Bytes after so many row groups."""
    behind: bytes = b""
    """Bytes after the footer's fields."""
    magic: bytes = b"PAR1"
    copies: bool = False
    """Whether every column is followed by what the footer says of it, as pyarrow 17 has it."""

    @classmethod
    def read(cls, path: Path) -> Parquet:
        data = path.read_bytes()
        fields, end = typed_thrift.read(data, len(data) - 8 - int.from_bytes(data[-8:-4], "little"))
        assert end == len(data) - 8
        chunks = [[chunk[3] for chunk in group[1]] for group in fields[4]]
        columns = [[data[c[9] : c[9] + c[7]] for c in some] for some in chunks]
        return cls(fields, columns, copies=fields[4][0][1][0][2] > 0)

    def data(self) -> bytes:
        """The file with every offset and size made to follow."""
        found = self.magic
        for place, (group, columns) in enumerate(zip(self.fields[4], self.columns, strict=True)):
            start = len(found)
            for chunk, column in zip(group[1], columns, strict=True):
                chunk[3] |= {9: len(found), 7: len(column)}
                found += column
                if self.copies:
                    chunk[2] = len(found)
                    found += typed_thrift.write(chunk)
            sizes = [(chunk[3][6], chunk[3][7]) for chunk in group[1]]
            group |= {5: start, 2: sum(one for one, _ in sizes), 6: sum(two for _, two in sizes)}
            found += self.between.get(place, b"")
        footer = typed_thrift.write(self.fields) + self.behind
        return found + footer + len(footer).to_bytes(4, "little") + b"PAR1"

    def about(self, column: int = INPUT) -> dict[int, Any]:
        """What the footer says of a column in the first row group."""
        found: dict[int, Any] = self.fields[4][0][1][column][3]
        return found

    def repack(self, change: Callable[[dict[int, Any], bytes], bytes]) -> None:
        """Change the page of the prompts: its head and its packed bytes."""
        column = self.columns[0][INPUT]
        head, at = typed_thrift.read(column)
        body = change(head, column[at:])
        head[3] = number(len(body), INT)
        written = typed_thrift.write(head)
        self.columns[0][INPUT] = written + body
        self.about()[6] += len(written) - at


def in_metadata_of_a_field(file: Parquet) -> None:
    """As pyarrow keeps it: in Arrow's own schema."""
    import base64

    schema = arrow_schema()
    told = schema.field("input").with_metadata({"note": HIDDEN.decode()})
    schema = schema.set(INPUT, told)
    text = base64.b64encode(schema.serialize().to_pybytes())
    file.fields[5] = [file.fields[5][0], {1: b"ARROW:schema", 2: text}]


def behind_a_page(file: Parquet) -> None:
    file.columns[0][INPUT] += HIDDEN


FAULTS: dict[str, Callable[[Parquet], object]] = {
    "bytes between two row groups": lambda file: file.between.update({0: HIDDEN}),
    "bytes before the footer": lambda file: file.between.update({1: HIDDEN}),
    "bytes behind the footer's fields": lambda file: setattr(file, "behind", HIDDEN),
    "a field that no footer has": lambda file: file.fields.update({10: HIDDEN}),
    "one that no column has": lambda file: file.about().update({18: HIDDEN}),
    "one that no row group has": lambda file: file.fields[4][1].update({12: HIDDEN}),
    "another key and value": lambda file: file.fields[5].append(KEY_VALUE),
    "a key and a value of a column": lambda file: file.about().update({8: [KEY_VALUE]}),
    "a field of the schema that says more": lambda file: file.fields[2][3].update({12: HIDDEN}),
    "metadata of a field": in_metadata_of_a_field,
    "statistics of a text": lambda file: file.about().update({12: {5: HIDDEN, 6: HIDDEN}}),
    "another writer's name": lambda file: file.fields.update({6: HIDDEN}),
    "one that only begins as pyarrow's": lambda file: file.fields.update({6: WRITER + HIDDEN}),
    "bytes behind a page": behind_a_page,
    "a frame behind a page's own": lambda file: file.repack(
        lambda head, body: body + b"\x50\x2a\x4d\x18" + len(HIDDEN).to_bytes(4, "little") + HIDDEN
    ),
    "a head of a page that says more": lambda file: file.repack(
        lambda head, body: (head.update({9: HIDDEN}), body)[1]
    ),
    "statistics in the head of a page": lambda file: file.repack(
        lambda head, body: (head[5].update({5: {5: HIDDEN}}), body)[1]
    ),
    "a path of a file": lambda file: file.fields[4][0][1][0].update({1: b""}),
    "another number of rows": lambda file: file.fields.update({3: 21}),
    "another beginning": lambda file: setattr(file, "magic", b"42!!"),
}
WRITER = b"parquet-cpp-arrow version 99.0.0"


@pytest.fixture(scope="module")
def sound(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of one file with two row groups."""
    root = Path(shutil.copytree(release, tmp_path_factory.mktemp("sound") / "ruler"))
    rows = pq.read_table(root / PATH).to_pylist()
    planting.keep(root, PATH)
    planting.write_rows(root / PATH, rows, group=10)
    write(root, (root / PATH).read_bytes())
    return root


@pytest.fixture
def root(sound: Path, tmp_path: Path) -> Path:
    """A copy of it, which may be changed."""
    return Path(shutil.copytree(sound, tmp_path / "ruler"))


def write(root: Path, data: bytes) -> None:
    """Write the file; the manifest follows."""
    (root / PATH).write_bytes(data)
    manifest = json.loads((root / MANIFEST).read_bytes())
    manifest["files"][PATH] |= {"bytes": len(data), "sha256": sha256_of(root / PATH)}
    planting.write_manifest(root, manifest)


def found_in(root: Path) -> list[str]:
    report = verify(root, laws_only=True)
    assert [name for name, file in report.files.items() if file.count and name != PATH] == []
    return [f"{breach.law}: {breach.what}" for breach in report.files[PATH].breaches]


def test_a_file_put_together_anew_is_sound(root: Path) -> None:
    assert found_in(root) == []
    data = Parquet.read(root / PATH).data()
    assert data == (root / PATH).read_bytes()


def test_the_copies_that_pyarrow_17_writes_are_no_breach(root: Path) -> None:
    file = Parquet.read(root / PATH)
    file.fields[6], file.copies = b"parquet-cpp-arrow version 17.0.0", True
    write(root, data := file.data())
    assert found_in(root) == []
    at = file.about()[9] + file.about()[7]
    place = data.index(b"input", at)
    write(root, data[:place] + b"words" + data[place + 5 :])
    assert found_in(root)


@pytest.mark.parametrize("name", share(3, FAULTS))
def test_what_no_row_has_is_named(root: Path, name: str) -> None:
    file = Parquet.read(root / PATH)
    FAULTS[name](file)
    before = pq.read_table(root / PATH)
    write(root, file.data())
    if name not in ("another beginning", "another number of rows", "a path of a file"):
        assert pq.read_table(root / PATH).equals(before)
    found = found_in(root)
    assert found
    assert all(what.startswith("6: ") for what in found)


@pytest.mark.parametrize("name", share(3, [name for name in FAULTS if "riter" not in name]))
def test_a_text_is_named_in_a_file_by_another_pyarrow_too(root: Path, name: str) -> None:
    file = Parquet.read(root / PATH)
    file.fields[6] = WRITER
    FAULTS[name](file)
    write(root, file.data())
    assert found_in(root)


def test_other_figures_of_another_pyarrow_are_no_breach_but_a_note(root: Path) -> None:
    file = Parquet.read(root / PATH)
    file.about().update({17: 3})
    write(root, file.data())
    assert found_in(root)
    file.fields[6] = WRITER
    write(root, file.data())
    assert found_in(root) == []
    (note,) = (note for note in verify(root, laws_only=True).notes if "99.0.0" in note)
    assert note.endswith("their figures of pages are not compared.")


def test_a_file_that_is_encoded_otherwise_is_named(root: Path) -> None:
    for options in (
        {"use_dictionary": True},
        {"compression": "snappy"},
        {"data_page_version": "2.0"},
    ):
        usual = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
        table = pq.read_table(root / PATH)
        pq.write_table(table, root / PATH, row_group_size=10, **{**usual, **options})
        write(root, (root / PATH).read_bytes())
        assert found_in(root)
