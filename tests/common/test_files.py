"""Files are written completely or not at all, and read as UTF-8."""

from __future__ import annotations

import contextlib
import os

import pytest

from ruler_common.errors import RulerError
from ruler_common.files import check_file, read_text, temporary_beside, write_whole
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


def test_a_device_or_a_pipe_is_not_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(RulerError, match=r"pipe' is a device or a pipe: name a file\."):
        write_whole(pipe, "text")
    assert pipe.is_fifo()
    for path in (pipe, "/dev/stdout", "/dev/null"):
        with pytest.raises(RulerError, match="name a file with --out"):
            check_file(path, "results.json")


def test_a_text_is_read_as_utf8_without_byte_order_mark(tmp_path):
    path = tmp_path / "file"
    path.write_bytes("\ufeffé".encode())
    assert read_text(path) == "é"
    path.write_bytes(b"\xff")
    with pytest.raises(RulerError, match="is not UTF-8 text"):
        read_text(path)
