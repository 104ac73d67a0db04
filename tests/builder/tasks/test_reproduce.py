"""The rows of every task are the same under another hash seed and locale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import ROOT


@pytest.mark.nightly
def test_no_task_in_any_language_depends_on_hash_seed_or_locale(mirror: Path):
    command = [sys.executable, "-m", "bench.reproduce"]
    environment = {**os.environ, "RULER_MIRROR": str(mirror)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = done.stdout.splitlines()
    assert "PYTHONHASHSEED 0, LC_ALL C.UTF-8" in first
    assert "PYTHONHASHSEED 1, LC_ALL C" in second
    assert first.split(":")[0] == second.split(":")[0]  # the digest and the number of tasks
