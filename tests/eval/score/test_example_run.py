"""The real model's answers that the project ships: they score without a release, as they did."""

from __future__ import annotations

from pathlib import Path

import pytest

import ruler_eval.example
from ruler_common.frozen import read_frozen
from ruler_eval.example.write_example import RUNS
from ruler_eval.run.records import Records
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.predictions import open_predictions
from ruler_eval.score.rows import ScoringRules
from ruler_eval.score.scoring import score

EXAMPLE = Path(ruler_eval.example.__file__).parent
SCORES: dict[str, dict[str, dict[str, float]]] = {
    "kv-f16": {
        "2k": {
            "niah_single_1": 100.0,
            "niah_single_2": 100.0,
            "niah_single_3": 50.0,
            "niah_multikey_1": 100.0,
            "niah_multikey_2": 10.0,
            "niah_multikey_3": 10.0,
            "niah_multivalue": 62.5,
            "niah_multiquery": 60.0,
            "vt": 10.0,
            "cwe": 6.0,
            "fwe": 36.667,
            "qa_1": 20.0,
        },
        "4k": {
            "niah_single_1": 100.0,
            "niah_single_2": 100.0,
            "niah_single_3": 30.0,
            "niah_multikey_1": 40.0,
            "niah_multikey_2": 0.0,
            "niah_multikey_3": 0.0,
            "niah_multivalue": 50.0,
            "niah_multiquery": 35.0,
            "vt": 4.0,
            "cwe": 9.0,
            "fwe": 33.333,
            "qa_1": 30.0,
            "qa_2": 20.0,
        },
    },
    "kv-q4_0": {
        "2k": {
            "niah_single_1": 100.0,
            "niah_single_2": 80.0,
            "niah_single_3": 40.0,
            "niah_multikey_1": 80.0,
            "niah_multikey_2": 0.0,
            "niah_multikey_3": 0.0,
            "niah_multivalue": 60.0,
            "niah_multiquery": 57.5,
            "vt": 8.0,
            "cwe": 4.0,
            "fwe": 33.333,
            "qa_1": 20.0,
        },
        "4k": {
            "niah_single_1": 100.0,
            "niah_single_2": 100.0,
            "niah_single_3": 30.0,
            "niah_multikey_1": 30.0,
            "niah_multikey_2": 0.0,
            "niah_multikey_3": 0.0,
            "niah_multivalue": 40.0,
            "niah_multiquery": 15.0,
            "vt": 0.0,
            "cwe": 8.0,
            "fwe": 26.667,
            "qa_1": 30.0,
            "qa_2": 10.0,
        },
    },
}
"""Of each run, by length and task."""


@pytest.mark.parametrize("name", RUNS)
def test_every_task_is_scored_by_the_examples_references(name):
    options = PredictionOptions(EXAMPLE / name, references=EXAMPLE / "references")
    predictions, release = open_predictions(options)
    cells = score(predictions, release, ScoringRules()).results["configurations"]
    scores: dict[str, dict[str, float]] = {}
    for cell in cells.values():
        scores.setdefault(cell["length"], {})[cell["task"]] = cell["score"]
    assert {length: pytest.approx(tasks, abs=1e-3) for length, tasks in scores.items()} == (
        SCORES[name]
    )
    assert predictions.run["model"].startswith("SmolLM2-135M")


def test_the_runs_are_on_frozen_rows():
    lock = read_frozen("1.0.0")
    assert lock is not None
    for name in RUNS:
        digests = Records(EXAMPLE / name).digests()
        assert set(digests) == {record["config"] for record in Records(EXAMPLE / name).read()}
        assert digests.items() <= lock.rows["ruler"].items()
