"""Files are written completely or not at all, and read as UTF-8."""

from __future__ import annotations

import contextlib

import pytest

from ruler_common.errors import RulerError
from ruler_common.files import read_text, temporary_beside, write_whole
from tests.full_disk import limit_file_size


def test_a_file_is_written_completely_or_not_at_all(tmp_path):
    path = tmp_path / "made" / "file.txt"
    write_whole(path, "old\n")
    with limit_file_size(100_000), pytest.raises(OSError, match="File too large"):
        write_whole(path, "new" * 100_000)
    assert [path.read_bytes(), *path.parent.iterdir()] == [b"old\n", path]
    with contextlib.suppress(KeyboardInterrupt), temporary_beside(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert [path.read_bytes(), *path.parent.iterdir()] == [b"old\n", path]


def test_a_text_is_read_as_utf8_without_byte_order_mark(tmp_path):
    path = tmp_path / "file"
    path.write_bytes("\ufeffé".encode())
    assert read_text(path) == "é"
    path.write_bytes(b"\xff")
    with pytest.raises(RulerError, match="is not UTF-8 text"):
        read_text(path)
