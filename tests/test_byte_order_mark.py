"""Files that begin with a byte order mark, as Windows editors write them, are read."""

from __future__ import annotations

import json
import shutil

from ruler_eval.score.results import load
from tests.in_process import ruler_output
from tests.run_folder import answers

MARK = b"\xef\xbb\xbf"


def test_a_run_and_its_release_with_marks_can_be_resumed_scored_and_compared(oracle_runs, tmp_path):
    for name in ("ruler", "run-ruler"):
        shutil.copytree(oracle_runs / name, tmp_path / name)
    originals = {}
    for path in [*tmp_path.glob("*/*.json*"), tmp_path / "ruler/eval.yaml"]:
        originals[path] = path.read_bytes()
        path.write_bytes(MARK + originals[path])
    configs = ",".join({record["config"] for record in answers(tmp_path / "run-ruler")})
    for command in (
        ("run", "-d", "ruler", "-c", configs, "-b", "oracle", "--out", "run-ruler"),
        ("score", "run-ruler", "--dataset", "ruler", "--out", "results.json"),
        ("list", "ruler"),
    ):
        ruler_output(*command, cwd=tmp_path)
    for path, data in originals.items():
        if path.suffix == ".jsonl":
            assert path.read_bytes().removeprefix(MARK) == data
    scored = tmp_path / "results.json"
    assert load(scored)["rows"] == load(oracle_runs / "run-ruler")["rows"]
    scored.write_bytes(MARK + scored.read_bytes())
    ruler_output("compare", scored, oracle_runs / "run-ruler")


def test_predictions_of_other_tools_with_a_mark_are_read(tmp_path):
    line = {"index": 0, "input": "x", "outputs": ["A"], "pred": "A"}
    file = tmp_path / "in/4096/pred/vt.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(MARK + json.dumps(line).encode() + b"\n")
    assert "100.0" in ruler_output("score", "in", "--out", "results.json", cwd=tmp_path)


def test_a_table_with_commas_and_a_mark_is_read(release, tmp_path):
    (tmp_path / "predictions.csv").write_text("index,prediction\n0,A\n1,B\n", encoding="utf-8-sig")
    flags = ("-d", release, "--config", "vt_4k", "--partial")
    assert "2 rows" in ruler_output("score", "predictions.csv", *flags, cwd=tmp_path)
