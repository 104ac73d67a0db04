"""`ruler score` on every format of predictions: one release, the same scores."""

from __future__ import annotations

import csv
import json

import pytest

from ruler_common.names import GROUPS
from ruler_eval.score.results import load
from tests.eval.scoring_helpers import write_lines
from tests.in_process import ruler, ruler_error, ruler_output


def rows_of(frozen, config):
    return list(frozen.rows(config, ("index", "input", "outputs")))


def as_reference(frozen, folder, tasks):
    for task in tasks:
        path = folder / f"4096/pred/{task}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            for row in rows_of(frozen, f"{task}_4k"):
                line = {**row, "pred": " ".join(row["outputs"]), "others": {"id": row["index"]}}
                file.write(json.dumps({**line, "truncation": -1, "length": 4000}) + "\n")
    return folder


def as_submission(frozen, folder, tasks):
    path = folder / "4096/pred/submission.csv"
    path.parent.mkdir(parents=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Task", "ID", "Prediction"])
        for task in tasks:
            for row in rows_of(frozen, f"{task}_4k"):
                writer.writerow([task, row["index"], " ".join(row["outputs"])])
    return folder


def as_samples(frozen, folder, tasks):
    folder.mkdir()
    for task in tasks:
        path = folder / f"samples_ruler_{task}_2026-01-01T00-00-00.000000.jsonl"
        with path.open("w") as file:
            for row in rows_of(frozen, f"{task}_4k"):
                text = " ".join(row["outputs"])
                doc = {**row, "max_length": 4096, "gen_prefix": "…"}
                line = {"doc_id": row["index"], "doc": doc, "target": "", "arguments": {}}
                file.write(json.dumps({**line, "resps": [[text]], "filtered_resps": [text]}) + "\n")
    return folder


@pytest.mark.parametrize("write", [as_reference, as_submission, as_samples])
def test_the_formats_of_others_give_the_same_scores_on_the_release(write, frozen, built, tmp_path):
    folder, out = write(frozen, tmp_path / "theirs", ["vt", "cwe"]), tmp_path / "results.json"
    stdout = ruler_output("score", folder, "--dataset", built, "--out", out)
    assert "mean of 2 of 13 tasks" in stdout
    cells = load(out)["configurations"]
    assert {name: cell["score"] for name, cell in cells.items()} == {"vt_4k": 100, "cwe_4k": 100}


def test_a_submission_without_a_release_is_refused(frozen, tmp_path):
    folder = as_submission(frozen, tmp_path / "theirs", ["vt"])
    stdout, stderr, code = ruler("score", folder)
    assert (stdout, code) == ("", 2)
    assert "has no references: name the release with --dataset" in stderr


def test_predictions_on_other_rows_than_the_releases_are_refused(frozen, built, tmp_path):
    folder = as_reference(frozen, tmp_path / "theirs", ["vt"])
    path = folder / "4096/pred/vt.jsonl"
    first, *others = path.read_text().splitlines()
    changed = json.dumps({**json.loads(first), "outputs": ["ELSE"]})
    path.write_text("\n".join([changed, *others]))
    assert "its references differ" in ruler("score", folder, "--dataset", built)[1]


def oneruler_line(config, index, prediction, **fields):
    return {"config": config, "index": index, "prediction": prediction, **fields}


def test_a_configuration_in_a_line_determines_the_data_set_not_the_file_name(tmp_path):
    path = tmp_path / "answers.jsonl"
    config = "niah_single_128k_en"
    path.write_text(
        json.dumps(oneruler_line(config, 0, "<answer>1234567</answer>", outputs=["1234567"])) + "\n"
    )
    ruler_output("score", path, "--out", tmp_path / "r.json")
    results = load(tmp_path / "r.json")
    assert results["dataset"]["name"] == "oneruler"
    assert results["configurations"][config]["max_length"] == 128_000


def test_lines_of_both_data_sets_are_refused_together(tmp_path):
    path = tmp_path / "answers.jsonl"
    lines = [oneruler_line(name, 0, "1", outputs=["1"]) for name in ("vt_4k", "cwe_easy_8k_pl")]
    write_lines(path, *lines)
    error = ruler_error("score", path)
    assert "score one data set at a time" in error
    assert "'vt_4k' of ruler" in error


@pytest.mark.parametrize(
    ("length", "claimed", "name"),
    [("128k", "128k", "128K"), ("64k", "64k", "64K"), ("8k", "16k", ">8K")],
)
def test_a_claimed_length_is_in_the_thousands_of_its_data_set(tmp_path, length, claimed, name):
    path = tmp_path / "answers.jsonl"
    tasks = GROUPS["oneruler"]["all"]
    lines = [oneruler_line(f"{task}_{length}_en", 0, "a", outputs=["a"]) for task in tasks]
    write_lines(path, *lines)
    options = ["--claimed", claimed, "--threshold", "0", "--out", tmp_path / "r.json"]
    ruler_output("score", path, *options)
    (by_language,) = load(tmp_path / "r.json")["summary"].values()
    assert by_language["en"]["all"]["effective_length_name"] == name
