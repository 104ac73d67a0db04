"""The files in examples/: they are to be copied, so their commands are run as they stand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.documents import ROOT

SMALL = {
    "BASE": "oracle",
    "CHANGED": "oracle",
    "MAX_DROP": "40",
    "BACKEND": "oracle",
    "BUILD": "--lengths 4k --tasks vt --samples 40 --sources embedded",
    "CONFIGS": "vt_4k",
}


def run(commands: str, folder: Path, **more: str) -> str:
    """Run a step in bash, as the workflow does; what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env={**os.environ, "PATH": path, **more},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@pytest.mark.nightly
def test_the_gate_runs_the_base_once_and_stops_when_the_answer_is_known(tmp_path):
    text = (ROOT / "examples/quantised_gate.yml").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["env"].keys() == SMALL.keys()
    (job,) = workflow["jobs"].values()
    steps = {step["name"]: step["run"] for step in job["steps"] if "run" in step}
    assert [*steps] == ["install", "rows", "base", "gate"]
    message = run("\n".join([steps["rows"], steps["base"], steps["gate"]]), tmp_path, **SMALL)
    assert "(97.5 % confidence)" in message
    result = json.loads((tmp_path / "decision.json").read_text())
    assert (result["verdict"], result["of"]) == ("smaller", 40)
    assert result["rows"] < 40
    begun = (tmp_path / "runs/base/run.json").stat().st_mtime_ns
    run(steps["base"], tmp_path, **SMALL)  # it is there: nothing is run
    assert (tmp_path / "runs/base/run.json").stat().st_mtime_ns == begun
