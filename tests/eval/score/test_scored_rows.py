"""rows.parquet: a line for each answer, from which numbers, errors, rows and the page are read."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from ruler_eval.score.results import load, read_lines, row_values
from tests.eval.scoring_helpers import record, right, write_lines
from tests.in_process import ruler, ruler_error, ruler_output

CONFIGS = ["vt_4k", "qa_1_4k", "niah_multivalue_4k"]


def answer(config, row):
    """Right, half right, wrong, failed, and missing."""
    if row["index"] == 3:
        return {"error": "HTTP 500", "finish_reason": "error"}
    texts = [" ".join(row["outputs"]), row["outputs"][0], " I do not know.", None, None]
    return texts[row["index"]]


@pytest.fixture
def run(write_run):
    folder = write_run(answer, configs=CONFIGS)
    ruler_output("score", folder)
    return folder


def test_every_row_has_a_line_with_its_answer_and_references(run, frozen):
    lines = pd.read_parquet(run / "rows.parquet").set_index(["config", "index"])
    assert len(lines) == 15
    for config in CONFIGS:
        for row in frozen.rows(config, ("index", "outputs")):
            line = lines.loc[config, row["index"]]
            assert list(line.outputs) == row["outputs"]
            if row["index"] < 3:
                assert line.answer == answer(config, row)
    states = lines.loc["vt_4k"].state.to_list()
    assert states == ["ok", "ok", "ok", "failed", "missing"]
    assert lines.loc["vt_4k"].kind.to_list()[3:] == ["failed", "missing"]
    assert lines.loc["vt_4k"].error[3] == "HTTP 500"
    assert row_values(load(run), "score")["vt_4k"] == {
        index: float(score) for index, score in enumerate(lines.loc["vt_4k"].score)
    }


def test_errors_rows_and_the_page_need_no_prediction_files(run, write_run, built, tmp_path):
    other = write_run(lambda config, row: "", "other", CONFIGS)
    ruler_output("score", other)

    def outputs():
        page = tmp_path / "page.html"
        ruler_output("report", run, "--out", page)
        show = ["show", "vt_4k", 2, "--dataset", built, "--run", run]
        commands = [["errors", run], show, ["compare", run, other]]
        return [ruler_output(*command) for command in commands], page.read_text()

    before = outputs()
    for config in CONFIGS:
        (run / f"{config}.jsonl").unlink()
    assert outputs() == before


def test_each_sample_has_a_line_and_so_has_a_missing_one(write_run):
    run = write_run(right, configs=["vt_4k"])
    settings = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**settings, "repeats": 3}))
    lines = [record("vt_4k", 0, "no", sample=0), record("vt_4k", 0, "none", sample=2)]
    write_lines(run / "vt_4k.jsonl", *lines)
    ruler_output("score", run)
    rows = pd.read_parquet(run / "rows.parquet")
    first = rows[rows["index"] == 0]
    assert first.state.to_list() == ["ok", "ok", "missing"]
    assert [None if pd.isna(sample) else int(sample) for sample in first["sample"]] == [0, 2, None]
    assert len(rows) == 15
    assert row_values(load(run), "state")["vt_4k"] == dict(
        enumerate(["ok", "missing", "missing", "missing", "missing"])
    )


def test_errors_say_that_only_the_first_sample_is_sorted(write_run, built):
    run = write_run(right, configs=["vt_4k"])
    path = run / "vt_4k.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    others = [{**line, "prediction": "no", "sample": 1} for line in lines]
    write_lines(path, *({**line, "sample": 0} for line in lines), *others)
    done = ruler("errors", run, "--dataset", built)
    assert "No wrong answers" in done.stdout
    assert "Only the first of 2 samples of each row is sorted." in done.stderr


def test_errors_of_a_run_with_newer_answers_are_those_of_the_newer_answers(run, built):
    write_lines(run / "vt_4k.jsonl", *[record("vt_4k", index, "zzz") for index in range(5)])
    stdout, error, code = ruler("errors", run)
    assert (code, f"Scored '{run}': its answers changed" in error) == (0, True)
    assert "missing" not in [
        line.split()[1] for line in stdout.splitlines() if line.startswith("vt_4k")
    ]


def test_half_a_character_in_an_answer_is_written_as_an_escape(write_run):
    run = write_run(lambda config, row: "\ud83d no", configs=["vt_4k"])
    ruler_output("score", run)
    assert read_lines(run / "results.json")["answer"] == ["\\ud83d no"] * 5


def test_a_table_of_another_name_lies_next_to_its_results(run, tmp_path):
    out = tmp_path / "llama.json"
    ruler_output("score", run, "--out", out)
    assert (tmp_path / "llama.rows.parquet").is_file()
    assert load(out)["rows"] == load(run)["rows"]
    (tmp_path / "llama.rows.parquet").write_bytes(b"PAR1")
    assert "is not the table of" in ruler_error("compare", out, run)


def test_a_result_that_python_wrote_as_json_is_read(run, tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps(load(run)))
    assert load(tmp_path / "mine.json") == load(run)
