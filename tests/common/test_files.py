"""A file is written whole or not at all, and read within bounds."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from ruler_common.errors import RulerError
from ruler_common.files import (
    MOST_BYTES,
    MOST_LINE,
    lines_of,
    open_file,
    read_bytes,
    read_text,
    temporary_beside,
    write_whole,
)
from tests.full_disk import files_of_at_most


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "made" / "file.txt"
    write_whole(path, "old\n")
    with files_of_at_most(100_000), pytest.raises(OSError, match="File too large"):
        write_whole(path, "new" * 100_000)
    assert [path.read_bytes(), *path.parent.iterdir()] == [b"old\n", path]
    with contextlib.suppress(KeyboardInterrupt), temporary_beside(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert [path.read_bytes(), *path.parent.iterdir()] == [b"old\n", path]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
def test_a_folder_a_pipe_and_a_device_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "link", Path("/dev/null")):
        with pytest.raises(RulerError, match="is no file that can be read, but a folder, pipe or"):
            open_file(path)
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "good").symlink_to(tmp_path / "file")
    assert read_bytes(tmp_path / "good") == b"x"


def test_a_document_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(RulerError, match="has more than 4 bytes: it is not read"):
        read_bytes(path, 4)
    os.truncate(path, MOST_BYTES + 1)
    with pytest.raises(RulerError, match="has more than 134,217,728 bytes"):
        read_bytes(path)


def test_a_text_is_utf8_without_its_mark(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("\ufeffé".encode())
    assert read_text(path) == "é"
    path.write_bytes(b"\xff")
    with pytest.raises(RulerError, match="is no text in UTF-8"):
        read_text(path)


def test_lines_keep_their_ends_and_one_without_end_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a\n\nb")
    assert [*lines_of(path)] == [(1, b"a\n"), (2, b"\n"), (3, b"b")]
    os.truncate(path, MOST_LINE + 10)
    with pytest.raises(RulerError, match="line 3, has more than 67,108,864 bytes"):
        [*lines_of(path)]
