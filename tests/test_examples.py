"""The files in examples/: they are to be copied, so their commands are run as they stand."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.test_readme import ROOT, run

SMALL = {
    "BASE": "oracle",
    "CHANGED": "oracle",
    "MAX_DROP": "40",
    "BACKEND": "oracle",
    "BUILD": "--lengths 4k --tasks vt --samples 40 --sources embedded",
    "CONFIGS": "vt_4k",
}


def test_the_gate_runs_the_base_once_and_stops_when_the_answer_is_known(tmp_path: Path) -> None:
    text = (ROOT / "examples/quantised_gate.yml").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["env"].keys() == SMALL.keys()
    (job,) = workflow["jobs"].values()
    steps = {step["name"]: step["run"] for step in job["steps"] if "run" in step}
    assert [*steps] == ["install", "rows", "base", "gate"]
    said = run("\n".join([steps["rows"], steps["base"], steps["gate"]]), tmp_path, **SMALL)
    assert "B surely lost less" in said
    found = json.loads((tmp_path / "decision.json").read_text())
    assert (found["verdict"], found["of"]) == ("smaller", 40)
    assert found["rows"] < 40
    begun = (tmp_path / "runs/base/run.json").stat().st_mtime_ns
    run(steps["base"], tmp_path, **SMALL)  # it is there: nothing is run
    assert (tmp_path / "runs/base/run.json").stat().st_mtime_ns == begun
