"""Two real runs of others, re-scored: every published score is met to 0.01."""

from __future__ import annotations

import pytest

from ruler_eval.score.results import load
from tests.eval import real_predictions as real
from tests.in_process import ruler_error, ruler_output
from tests.nightly import mostly_nightly


def scored(tmp_path, *arguments):
    out = tmp_path / "r.json"
    stdout = ruler_output("score", *arguments, "--out", out)
    return load(out), stdout


@pytest.mark.parametrize("ratio", mostly_nightly(2, ["0.25", "0.75"]))
def test_kvpress_predictions_score_what_was_published(tmp_path, ratio):
    run = real.kvpress_runs()[ratio]
    results, _ = scored(tmp_path, run)
    scores = {cell["task"]: cell["score"] for cell in results["configurations"].values()}
    assert scores == pytest.approx(real.published(run), abs=0.0051)
    assert len(scores) == 13
    assert sum(cell["n"] for cell in results["configurations"].values()) == 6500
    assert ratio in results["model"]


@pytest.mark.parametrize(("length", "tasks"), [("4096", 8), ("8192", 8)])
def test_the_reference_codes_submission_scores_what_was_published(tmp_path, length, tasks):
    root = real.folder() / real.REFERENCE
    run, references = root / "synthetic" / length, root / "references"
    results, stdout = scored(tmp_path, run, "--references", references)
    scores = {cell["task"]: cell["score"] for cell in results["configurations"].values()}
    expected = real.reference_scores(length)
    assert scores == pytest.approx({task: expected[task] for task in scores}, abs=0.0051)
    assert len(scores) == tasks
    assert "no references in" in stdout
    assert f"mean of {tasks} of 13 tasks" in stdout


def test_a_real_submission_is_not_scored_against_other_rows(tmp_path, built):
    run = real.folder() / real.REFERENCE / "synthetic/4096"
    assert "are for rows that" in ruler_error("score", run, "--dataset", built)


def test_a_folder_of_two_kvpress_runs_is_refused(tmp_path):
    assert "has several runs" in ruler_error("score", real.folder() / real.KVPRESS)
