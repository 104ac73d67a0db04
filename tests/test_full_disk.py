"""A full disk ends a command with one sentence; no temporary file remains, and builds continue."""

from __future__ import annotations

import re
import shutil
import tempfile

import pytest

from tests.embedded_release import build_embedded, contents
from tests.full_disk import small_disk
from tests.in_process import ruler, ruler_error

SIZES = (4096, 32768, 131072, 4_000_000)  # of the disk: from too small for any file to enough
BUILD = ("--sources", "embedded", "--lengths", "1k", "--rows", "8", "--workers", "1")
COMMANDS = {
    "build": ("build", "disk/out", *BUILD, "--tasks", "niah_multikey_3"),
    "run": ("run", "-d", "ruler", "-c", "all", "-b", "oracle", "--out", "disk/out"),
    "score": ("score", "run-ruler", "--out", "disk/out/results.json"),
    "show": ("show", "vt_4k", "1", "--dataset", "ruler", "--html", "disk/out/row.html"),
    "export": ("export", "ruler", "--format", "kvpress", "--to", "disk/out"),
}
NEEDED_TO_CONTINUE = re.compile(r"out/\.build(/.*)?|.*\.lock|out/sessions(/[0-9T.-]+\.json)?")
FULL = re.compile(r"^Error: .*(No space left on device|File too large)")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_temporary_file_remains_on_a_full_disk(name, oracle_runs, tmp_path, monkeypatch):
    for part in ("ruler", "run-ruler"):
        (tmp_path / part).symlink_to(oracle_runs / part)
    disk = tmp_path / "disk"
    remaining, complete = set[str](), set[str]()
    for size in SIZES:
        with small_disk(disk, size):
            (disk / "tmp").mkdir()
            monkeypatch.setattr(tempfile, "tempdir", str(disk / "tmp"))
            done = ruler(*COMMANDS[name], cwd=tmp_path)
            paths = {path.relative_to(disk).as_posix() for path in disk.rglob("*")}
        disk.rename(tmp_path / str(size))  # if nothing was mounted, the files are still in it
        if done.code == 0:
            complete = paths
            break
        assert FULL.search(done.stderr.splitlines()[-1])
        remaining |= {path for path in paths if not NEEDED_TO_CONTINUE.fullmatch(path)}
    assert size > SIZES[0], "no disk was too small"
    assert remaining <= complete


def test_a_build_that_filled_the_disk_continues_with_its_finished_files(tmp_path, monkeypatch):
    options = {"lengths": ("4k",), "tasks": ("niah_single_1", "niah_single_2"), "rows": 20}
    build_embedded(tmp_path / "expected", **options)
    flags = ("--sources", "embedded", "--lengths", "4k", "--rows", "20", "--workers", "1")
    free = shutil.disk_usage(tmp_path)  # as if the disk became full after the check
    monkeypatch.setattr(shutil, "disk_usage", lambda path: free)
    with small_disk(tmp_path / "disk", 24_576) as disk:  # the first file fits, the card does not
        command = ("build", disk / "out", *flags, "--tasks", "niah_single_1,niah_single_2")
        assert FULL.search(ruler_error(*command).splitlines()[-1])
        shutil.copytree(disk / "out", tmp_path / "out")
    first = tmp_path / "out/data/tekken/4k/niah_single_1.parquet"
    written = first.stat().st_mtime_ns
    build_embedded(tmp_path / "out", **options)
    assert first.stat().st_mtime_ns == written
    assert contents(tmp_path / "out") == contents(tmp_path / "expected")
