"""A disk that is full ends a command with one sentence, and no temporary file stays on it."""

from __future__ import annotations

import re
import tempfile

import pytest

from tests.full_disk import small_disk

ROOMS = (4096, 8192, 16384, 32768, 65536, 131072, 262144, 4_000_000)
"""Bytes of room: from where nothing goes on to where everything does."""
FEW_ROOMS = {"report": (65536, 4_000_000)}  # a page takes a second
MAKE = ("--sources", "embedded", "--lengths", "1k", "--samples", "8", "--workers", "1")
ANSWERING = ("--dataset", "base/ruler", "--configs", "all", "--backend", "oracle")
API = ("--provider", "openai", "--model", "m")
COMMANDS = {
    "build": ("build", "case/out", *MAKE, "--tasks", "niah_multikey_3"),
    "run": ("run", *ANSWERING, "--out", "case/out"),
    "batch": ("batch", "write", *ANSWERING[:4], *API, "--out", "case/out"),
    "score": ("score", "base/RUN-ruler", "--out", "case/out/results.json"),
    "report": ("report", "base/RUN-ruler", "--out", "case/out/a.html"),
    "show": ("show", "vt_4k", "1", "--dataset", "base/ruler", "--html", "case/out/row.html"),
    "export": ("export", "base/ruler", "--format", "upstream", "--to", "case/out"),
    "kvpress": ("export", "base/ruler", "--format", "kvpress", "--to", "case/out"),
}
KEPT_TO_GO_ON = re.compile(r"out/\.build(/.*)?|.*\.lock")
FULL = re.compile(r"^Error: .*(No space left on device|File too large)")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_temporary_file_stays_on_a_full_disk(name, sandbox, monkeypatch):
    left, whole = set[str](), set[str]()
    rooms = FEW_ROOMS.get(name, ROOMS)
    for room in rooms:
        sandbox.new()
        sandbox.case.rmdir()
        with small_disk(sandbox.case, room):
            (sandbox.case / "tmp").mkdir()
            monkeypatch.setattr(tempfile, "tempdir", str(sandbox.case / "tmp"))
            done = sandbox.run(*COMMANDS[name])
            there = {path.relative_to(sandbox.case).as_posix() for path in sandbox.case.rglob("*")}
        assert done.faults() == []
        if done.code == 0:
            whole = there
            break
        assert FULL.search(done.stderr.splitlines()[-1])
        left |= {path for path in there if not KEPT_TO_GO_ON.fullmatch(path)}
    assert room > rooms[0], "no room was too small"
    assert left <= whole
