"""A disk that is full ends a command with one sentence, and no temporary file stays on it."""

from __future__ import annotations

import re
import tempfile

import pytest

from tests.full_disk import small_disk
from tests.in_process import ruler

ROOMS = (4096, 32768, 131072, 4_000_000)
"""Bytes of room: from where nothing is written to where everything is."""
MAKE = ("--sources", "embedded", "--lengths", "1k", "--samples", "8", "--workers", "1")
COMMANDS = {
    "build": ("build", "disk/out", *MAKE, "--tasks", "niah_multikey_3"),
    "run": ("run", "-d", "ruler", "-c", "all", "-b", "oracle", "--out", "disk/out"),
    "score": ("score", "run-ruler", "--out", "disk/out/results.json"),
    "show": ("show", "vt_4k", "1", "--dataset", "ruler", "--html", "disk/out/row.html"),
    "export": ("export", "ruler", "--format", "kvpress", "--to", "disk/out"),
}
KEPT_TO_GO_ON = re.compile(r"out/\.build(/.*)?|.*\.lock")
FULL = re.compile(r"^Error: .*(No space left on device|File too large)")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_temporary_file_stays_on_a_full_disk(name, oracle_runs, tmp_path, monkeypatch):
    for part in ("ruler", "run-ruler"):
        (tmp_path / part).symlink_to(oracle_runs / part)
    disk = tmp_path / "disk"
    left, whole = set[str](), set[str]()
    for room in ROOMS:
        with small_disk(disk, room):
            (disk / "tmp").mkdir()
            monkeypatch.setattr(tempfile, "tempdir", str(disk / "tmp"))
            done = ruler(*COMMANDS[name], cwd=tmp_path)
            there = {path.relative_to(disk).as_posix() for path in disk.rglob("*")}
        disk.rename(tmp_path / str(room))  # without a mount its files are still in it
        if done.code == 0:
            whole = there
            break
        assert FULL.search(done.stderr.splitlines()[-1])
        left |= {path for path in there if not KEPT_TO_GO_ON.fullmatch(path)}
    assert room > ROOMS[0], "no room was too small"
    assert left <= whole
