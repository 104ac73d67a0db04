"""The real model's answers that the project ships: they score without a release, as they did."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ruler_eval.example
from ruler_eval.run.records import Records
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.predictions import open_predictions
from ruler_eval.score.rows import ScoringRules
from ruler_eval.score.scoring import score

EXAMPLE = Path(ruler_eval.example.__file__).parent
SCORES = {
    "niah_single_1": 100.0,
    "niah_single_2": 95.0,
    "niah_single_3": 55.0,
    "niah_multikey_1": 50.0,
    "niah_multikey_2": 0.0,
    "niah_multikey_3": 0.0,
    "niah_multivalue": 50.0,
    "niah_multiquery": 35.0,
    "vt": 7.0,
    "cwe": 6.0,
    "fwe": 30.0,
    "qa_1": 20.0,
    "qa_2": 20.0,
}


def test_every_task_is_scored_by_the_examples_references():
    options = PredictionOptions(EXAMPLE / "run", references=EXAMPLE / "references")
    predictions, release = open_predictions(options)
    cells = score(predictions, release, ScoringRules()).results["configurations"]
    scores = {cell["task"]: cell["score"] for cell in cells.values()}
    assert scores == pytest.approx(SCORES, abs=1e-3)
    assert {cell["n"] for cell in cells.values()} == {20}
    assert predictions.run["model"] == "SmolLM2-135M-Instruct"


def test_the_run_names_its_rows_by_their_digests():
    settings = json.loads((EXAMPLE / "run/run.json").read_text(encoding="utf-8"))
    assert settings["data_version"] == "1.0.0-draft"
    assert "files" not in settings
    digests = Records(EXAMPLE / "run").digests()
    assert set(digests) == {record["config"] for record in Records(EXAMPLE / "run").read()}
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests.values())
