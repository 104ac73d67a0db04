"""The commands of docs/publish.md run as written against a fake Hub."""

from __future__ import annotations

import shutil

import pytest

from tests.documents import blocks, run_bash
from tests.hub.client import environment
from tests.hub.fake_hub import FakeHub
from tests.in_process import ruler_output


@pytest.mark.nightly
def test_the_publishing_commands_work_as_written(release, tmp_path):
    (block,) = blocks("docs/publish.md", "Commands", "bash")
    block = block.replace("ruler results", "ruler results --custom-rows")  # 20 rows are not frozen
    shutil.copytree(release, tmp_path / "out")  # docs/build.md's
    flags = ("--dataset", "out", "--configs", "vt_4k", "--backend", "oracle")
    ruler_output("run", *flags, "--out", "runs/mine", cwd=tmp_path)
    ruler_output("score", "runs/mine", cwd=tmp_path)
    hub = FakeHub()
    printed = run_bash(block, tmp_path, environment(hub.url, tmp_path / "home", ORG="org"))
    assert hub.dataset("org/ruler").tags == {"v1.0.0": hub.dataset("org/ruler").main}
    assert "spaces/org/ruler_score" in hub.repos
    assert "Nothing is wrong: 3 files, 60 rows." in printed
    assert list((tmp_path / ".eval_results").glob("*.yaml"))
    hub.close()
