"""The commands of the files in examples/ run as written."""

from __future__ import annotations

import json
import os

import pytest
import yaml

from tests.documents import run_bash
from tests.project import ROOT

SMALL = {
    "BASE": "oracle",
    "CHANGED": "oracle",
    "MAX_DROP": "40",
    "BACKEND": "oracle",
    "BUILD": "--lengths 4k --tasks vt --rows 40 --sources embedded",
    "CONFIGS": "vt_4k",
}


@pytest.mark.nightly
def test_the_gate_runs_the_base_once_and_stops_when_the_answer_is_known(tmp_path):
    text = (ROOT / "examples/quantised_gate.yml").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["env"].keys() == SMALL.keys()
    (job,) = workflow["jobs"].values()
    steps = {step["name"]: step["run"] for step in job["steps"] if "run" in step}
    assert [*steps] == ["install", "rows", "base", "gate"]
    environment = os.environ | SMALL
    script = "\n".join([steps["rows"], steps["base"], steps["gate"]])
    message = run_bash(script, tmp_path, environment)
    assert "(97.5 % confidence)" in message
    result = json.loads((tmp_path / "decision.json").read_text())
    assert (result["verdict"], result["of"]) == ("smaller", 40)
    assert result["rows"] < 40
    started = (tmp_path / "runs/base/run.json").stat().st_mtime_ns
    run_bash(steps["base"], tmp_path, environment)  # the run exists: nothing is run
    assert (tmp_path / "runs/base/run.json").stat().st_mtime_ns == started
