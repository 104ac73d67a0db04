"""The commands of docs/publish.md, run as written against the stand-in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import in_process
from tests.documents import blocks
from tests.hub.client import environment
from tests.hub.stand_in import StandIn


@pytest.mark.nightly
def test_the_publishing_commands_work_as_written(release, tmp_path):
    (block,) = blocks("docs/publish.md", "Commands", "bash")
    block = block.replace("ruler results", "ruler results --own-rows")  # 20 rows are not frozen
    shutil.copytree(release, tmp_path / "out")  # docs/build.md's
    run = ("run", "--dataset", "out", "--configs", "vt_4k", "--backend", "oracle")
    assert in_process.ruler(*run, "--out", "runs/mine", cwd=tmp_path).code == 0
    assert in_process.ruler("score", "runs/mine", cwd=tmp_path).code == 0
    hub = StandIn()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        cwd=tmp_path,
        env=environment(hub.url, tmp_path / "home", PATH=path, ORG="org"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert hub.dataset("org/ruler").tags == {"v1.0.0": hub.dataset("org/ruler").main}
    assert "spaces/org/ruler_score" in hub.repos
    assert "Nothing is wrong: 3 files, 60 rows." in done.stdout
    assert list((tmp_path / ".eval_results").glob("*.yaml"))
    hub.close()
