"""Correlation of tasks and their clusters."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ruler_common.errors import RulerError
from ruler_eval.analysis.complexity import correlate
from ruler_eval.figures.structure import correlation_figures
from ruler_eval.report.render import render
from tests.eval.scoring_helpers import right
from tests.in_process import ruler, ruler_output


def results(**scores):
    """Scores by task, one for each length: `results(vt=[90, 80])`."""
    lengths = ["4k", "8k", "16k", "32k", "64k"]
    cells = {}
    for task, values in scores.items():
        for length, score in zip(lengths, values, strict=False):
            place = {"tokenizer": "tekken", "language": "en", "instruction_language": "en"}
            cells[f"{task}_{length}"] = {"task": task, "length": length, "score": score, **place}
    return {"dataset": {"standard": True}, "configurations": cells}


def test_the_matrix_is_the_correlation_over_models_and_lengths():
    a = results(vt=[90, 80, 70], cwe=[50, 40, 45], qa_1=[60, 61, 10])
    b = results(vt=[95, 60, 50], cwe=[55, 30, 20], qa_1=[70, 69, 68])
    correlation = correlate({"a": a, "b": b})
    order = correlation["tasks"]
    vectors = {"vt": [90, 80, 70, 95, 60, 50], "cwe": [50, 40, 45, 55, 30, 20]}
    expected = np.corrcoef(vectors["vt"], vectors["cwe"])[0, 1]
    matrix = np.array(correlation["correlation"])
    assert matrix[order.index("vt"), order.index("cwe")] == pytest.approx(expected)
    assert np.allclose(matrix, matrix.T)
    assert np.allclose(np.diag(matrix), 1)
    assert len(correlation["observations"]) == 6


def test_correlated_tasks_are_joined_first_and_placed_together():
    rng = np.random.default_rng(0)
    up, down = rng.random(5), rng.random(5)
    correlation = correlate(
        {"a": results(niah=up, vt=up + 0.01 * rng.random(5), cwe=down, fwe=down * 2 + 1)}
    )
    first, second, last = correlation["merges"]
    assert {
        frozenset(merge["clusters"][0] + merge["clusters"][1]) for merge in (first, second)
    } == {frozenset({"niah", "vt"}), frozenset({"cwe", "fwe"})}
    assert first["distance"] <= second["distance"] < last["distance"]
    assert abs(correlation["tasks"].index("cwe") - correlation["tasks"].index("fwe")) == 1


def test_no_level_of_correlation_is_called_chance():
    """Scores of one model fall together with the length, whatever the tasks measure."""
    falling = correlate({"a": results(vt=[99, 95, 80, 60, 20], cwe=[90, 50, 40, 10, 2])})
    assert falling["correlation"][0][1] > 0.7
    assert "by_chance" not in falling
    text = render(correlation_figures(falling), "text")
    assert "Lengths of one model are not independent" in text
    assert "chance" not in text


def test_a_task_that_never_changes_is_left_out_and_named():
    correlation = correlate({"a": results(vt=[100, 100, 100], cwe=[1, 2, 3], fwe=[3, 2, 2])})
    assert correlation["constant"] == ["vt"]
    assert sorted(correlation["tasks"]) == ["cwe", "fwe"]
    one_model = correlate({"a": results(vt=[100, 100, 100], cwe=[1, 2, 3])})
    assert (one_model["tasks"], one_model["correlation"], one_model["merges"]) == (
        ["cwe"],
        [[1.0]],
        [],
    )


def test_observations_that_miss_a_task_are_left_out_and_too_few_refused():
    correlation = correlate({"a": results(vt=[1, 2, 4, 3], cwe=[1, 2, 3])})
    assert len(correlation["left_out"]) == 1
    with pytest.raises(RulerError, match="2 pairs of model and length, and at least 3"):
        correlate({"a": results(vt=[1, 2], cwe=[1, 2])})
    with pytest.raises(RulerError, match="at least 2 tasks"):
        correlate({"a": results(vt=[1, 2, 3])})


def test_the_command_prints_matrix_and_clusters_and_writes_json(write_run, tmp_path):
    rng = np.random.default_rng(0)
    paths = []
    for name in "ab":
        skill = {"ruler": 0.7 if name == "a" else 0.4}

        def answer(config, row, skill=skill):
            return right(config, row) if rng.random() < skill["ruler"] else ""

        run = write_run(answer, name)
        ruler("score", run)
        paths.append(run / "results.json")
    out = tmp_path / "correlation.json"
    stdout = ruler_output("analyze", *paths, "--out", out)
    assert "Over 4 pairs of model and length" in stdout
    assert "Clusters as they join" in stdout
    result = json.loads(out.read_text())
    assert len(result["tasks"]) + len(result["constant"]) == 13
