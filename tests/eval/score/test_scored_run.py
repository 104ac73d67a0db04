"""A RUN folder is scored again when its answers are not those of its results.json."""

from __future__ import annotations

import json
import shutil

import pytest

from ruler_eval.score.results import load
from ruler_eval.score.stored import open_results
from tests.eval.scoring_helpers import right
from tests.in_process import ruler, ruler_error, ruler_output
from tests.run_folder import edit_answers

CONFIGS = ["vt_4k", "niah_single_1_4k", "cwe_4k", "fwe_4k"]


@pytest.fixture
def pair(write_run):
    """A right run, and one whose rows all failed and were scored before they were answered."""
    good = write_run(right, "good", CONFIGS)
    failed = {"finish_reason": "error", "error": "HTTP 500"}
    retried = write_run(lambda config, row: failed, "retried", CONFIGS)
    for folder in (good, retried):
        ruler_output("score", folder)
    for config in CONFIGS:
        shutil.copyfile(good / f"{config}.jsonl", retried / f"{config}.jsonl")
    return good, retried


def test_a_stale_results_json_does_not_decide_a_gate(pair):
    good, retried = pair
    stale = retried.parent / "stale/results.json"
    stale.parent.mkdir()
    for name in ("results.json", "rows.parquet"):
        shutil.copyfile(retried / name, stale.with_name(name))
    stdout, error, code = ruler("compare", good, retried, "--max-drop", 30)
    assert code == 0, error
    assert "which is below 30 points" in " ".join(stdout.split())
    assert error == f"Scored '{retried}': its answers changed after the last time.\n"
    _, error, code = ruler("compare", good, retried, "--max-drop", 30)
    assert (code, error) == (0, "")  # results.json is of these answers now
    stdout, error, code = ruler("compare", good, stale, "--max-drop", 30)
    assert (code, error) == (1, "")  # a file is taken as it is


def test_a_run_without_results_is_scored(write_run):
    good, bad = write_run(right, "good", CONFIGS), write_run(lambda *_: "", "bad", CONFIGS)
    ruler_output("score", bad)
    _, error, code = ruler("compare", good, bad)
    assert (code, error) == (0, f"Scored '{good}': it had no results.json.\n")
    assert (good / "results.json").is_file()


def test_the_errors_of_a_run_are_not_answers_of_it(built, tmp_path):
    run = tmp_path / "run"
    flags = ("--configs", "vt_4k", "--backend", "oracle", "--out", run)
    ruler_output("run", "--dataset", built, *flags)
    failed = {"prediction": "", "finish_reason": "error", "error": "HTTP 500"}
    edit_answers(run, lambda record: record | failed if record["index"] == 0 else record)
    ruler_output("score", run)
    before = load(run / "results.json")["configurations"]
    ruler_output("errors", run, "--out", run / "errors.jsonl")
    ruler_output("score", run)
    assert before["vt_4k"]["failed"] == 1
    assert load(run / "results.json")["configurations"] == before
    written = (run / "results.json").stat().st_mtime_ns
    open_results(run)
    assert (run / "results.json").stat().st_mtime_ns == written


def test_it_is_scored_in_the_way_it_was_before(write_run):
    run = write_run(lambda config, row: right(config, row) if row["index"] else None, "a", CONFIGS)
    ruler_output("score", run, "--partial", "--truncated", "wrong", "--threshold", "base")
    before = json.loads((run / "results.json").read_text(encoding="utf-8"))
    text = (run / "vt_4k.jsonl").read_text(encoding="utf-8")
    (run / "vt_4k.jsonl").write_text("".join(text.splitlines(keepends=True)[1:]), encoding="utf-8")
    ruler_output("report", run, "--out", run.parent / "page.html")
    after = json.loads((run / "results.json").read_text(encoding="utf-8"))
    for name in ("rules", "options", "partial", "model"):
        assert after[name] == before[name]
    assert after["configurations"]["vt_4k"]["missing"] == 2
    assert before["configurations"]["vt_4k"]["missing"] == 1


def test_a_run_that_cannot_be_scored_is_refused_with_what_to_do(pair, tmp_path):
    good, retried = pair
    path = retried / "results.json"
    results = json.loads(path.read_text(encoding="utf-8"))
    results["dataset"]["source"] = str(tmp_path / "gone")
    path.write_text(json.dumps(results), encoding="utf-8")
    error = ruler_error("compare", good, retried)
    assert f"ruler score {retried} --dataset RELEASE" in " ".join(error.split())


def test_damaged_results_of_a_run_name_the_command_that_scores_it(write_run):
    run = write_run(right, "run", CONFIGS)
    (run / "results.json").write_bytes(b"")
    error = ruler_error("report", run)
    assert f"Score the run again: ruler score {run}" in error


def test_results_without_their_answers_are_used_unchanged(pair):
    good, retried = pair
    ruler_output("score", retried)
    for config in CONFIGS:
        (good / f"{config}.jsonl").unlink()
    assert ruler("compare", good, retried)[1:] == ("", 0)
