"""No Parquet file takes more memory than a row group of a release may, whatever it says."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruler_common.errors import RulerError
from ruler_common.outside import parquet_bounds
from ruler_common.outside.parquet_bounds import MOST_FOOTER, MOST_UNPACKED, open_parquet
from tests.shares import ALL

TEXT = "x" * (1 << 20)
PLAIN = {"use_dictionary": False, "compression": "zstd"}
FEW = pa.table({"input": ["a", "b", "c"], "evidence": [[1], [], [2, 3]]})


def written(path: Path, table: pa.Table, **options: object) -> Path:
    pq.write_table(table, path, **options)
    return path


@pytest.fixture
def megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row group of 16 MB is too large: of a gigabyte it takes seconds to write one."""
    assert MOST_UNPACKED == 1 << 30
    monkeypatch.setattr(parquet_bounds, "MOST_UNPACKED", 16 << 20)


@pytest.fixture
def too_many(request: pytest.FixtureRequest) -> int:
    """How many texts of a megabyte no row group may hold."""
    if not ALL:
        request.getfixturevalue("megabytes")
    return 1100 if ALL else 18


def texts(many: int) -> pa.Table:
    return pa.table({"input": pa.array([TEXT] * many)})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_dictionary": False, "compression": "zstd"},
        {"data_page_version": "2.0"},
        {"write_statistics": False, "compression": "none"},
    ],
)
def test_a_file_within_the_bounds_is_read(tmp_path: Path, options: dict[str, object]) -> None:
    with open_parquet(written(tmp_path / "a.parquet", FEW, **options)) as file:
        assert file.read().equals(FEW)


def test_pages_that_unpack_to_too_much_are_refused(tmp_path: Path, too_many: int) -> None:
    path = written(tmp_path / "a.parquet", texts(too_many), **PLAIN)
    assert path.stat().st_size < parquet_bounds.MOST_UNPACKED / 1000
    with pytest.raises(RulerError, match=r"a row group would unpack to 1[\d,]+ bytes"):
        open_parquet(path)


def test_a_dictionary_that_many_rows_name_is_refused(tmp_path: Path, too_many: int) -> None:
    path = written(tmp_path / "a.parquet", texts(too_many), compression="zstd")
    with pytest.raises(RulerError, match=r"a row group would unpack to 1[\d,]+ bytes"):
        open_parquet(path)


def test_too_many_values_in_lists_are_refused(tmp_path: Path) -> None:
    table = pa.table({"evidence": [[0] * 2_000_001]})
    with pytest.raises(RulerError, match="2,000,002 values"):
        open_parquet(written(tmp_path / "a.parquet", table))


def test_texts_told_by_their_differences_are_refused(tmp_path: Path) -> None:
    options = {"use_dictionary": False, "column_encoding": {"input": "DELTA_BYTE_ARRAY"}}
    with pytest.raises(RulerError, match="a page has the encoding 7, which no release has"):
        open_parquet(written(tmp_path / "a.parquet", texts(3), **options))


def varint(number: int) -> bytes:
    number, out = number << 1, bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def test_a_footer_that_hides_what_its_pages_unpack_to_is_not_believed(
    tmp_path: Path, too_many: int
) -> None:
    """Only the headers of the pages are true: pyarrow unpacks by these."""
    path = written(tmp_path / "a.parquet", texts(too_many), **PLAIN)
    data = path.read_bytes()
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    true = varint(chunk.total_uncompressed_size)
    small = varint(1 << 7 * len(true) - 2)[: len(true) - 1] + b"\x01"
    assert data.count(true, footer) >= 1
    path.write_bytes(data[:footer] + data[footer:].replace(true, small))
    claimed = pq.ParquetFile(path).metadata.row_group(0).column(0)
    assert claimed.total_uncompressed_size != chunk.total_uncompressed_size
    with pytest.raises(RulerError, match=r"a row group would unpack to 1[\d,]+ bytes"):
        open_parquet(path)


def test_rows_that_are_not_there_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", pa.table({"index": range(1000)}))
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    spoiled = data[footer:].replace(varint(1000), varint(8000))
    path.write_bytes(data[:footer] + spoiled)
    assert pq.ParquetFile(path).metadata.num_rows == 8000
    first = data[footer:].index(varint(1000))
    path.write_bytes(data[: footer + first] + varint(8000) + data[footer + first + 2 :])
    with pytest.raises(RulerError, match="it claims 8,000 rows and has 1,000"):
        open_parquet(path)


def test_a_footer_without_end_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with path.open("wb") as file:
        file.truncate(MOST_FOOTER + 100)
        file.seek(0, 2)
        file.write((MOST_FOOTER + 1).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(RulerError, match="its footer has more than 16,777,216 bytes"):
        open_parquet(path)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" * 5, b"x" * 1000])
def test_what_is_no_parquet_file_is_one_sentence(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(data)
    with pytest.raises(RulerError, match=r"is no Parquet file: .*Get or build it anew\.$"):
        open_parquet(path)


def test_the_header_of_a_page_is_read_as_pyarrow_reads_it(tmp_path: Path) -> None:
    """Each bit of the first header turned over: pyarrow reads no more than what was counted."""
    path = written(tmp_path / "a.parquet", FEW, use_dictionary=False, compression="none")
    data, refused = path.read_bytes(), 0
    for bit in range(4 * 8, 40 * 8):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        try:
            with open_parquet(path) as file:
                assert file.read(["input"]).nbytes < 1000
        except RulerError:
            refused += 1
        except (OSError, pa.ArrowException):
            continue
    assert refused > 50
