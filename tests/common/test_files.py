"""A file is written whole or not at all."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from ruler_common.files import temporary_beside, write_whole
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
