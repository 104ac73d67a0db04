"""A byte order mark before a file, which editors on Windows write, costs no row and no score."""

from __future__ import annotations

import json
import shutil

from tests.in_process import ruler

MARK = b"\xef\xbb\xbf"


def test_a_run_and_its_release_with_marks_are_resumed_scored_and_compared(answered, tmp_path):
    for name in ("ruler", "run-ruler"):
        shutil.copytree(answered / name, tmp_path / name)
    before = {}
    for path in [*tmp_path.glob("*/*.json*"), tmp_path / "ruler/eval.yaml"]:
        before[path] = path.read_bytes()
        path.write_bytes(MARK + before[path])
    configs = ",".join(path.stem for path in before if path.suffix == ".jsonl")
    for command in (
        ("run", "-d", "ruler", "-c", configs, "-b", "oracle", "--out", "run-ruler"),
        ("score", "run-ruler", "--dataset", "ruler", "--out", "results.json"),
        ("list", "ruler"),
    ):
        done = ruler(*command, cwd=tmp_path)
        assert done.code == 0, done.stderr
    for path, data in before.items():
        if path.suffix == ".jsonl":
            assert path.read_bytes().removeprefix(MARK) == data
    sound = json.loads((answered / "run-ruler/results.json").read_bytes())
    scored = tmp_path / "results.json"
    assert json.loads(scored.read_bytes())["rows"] == sound["rows"]
    scored.write_bytes(MARK + scored.read_bytes())
    assert ruler("compare", scored, answered / "run-ruler").code == 0


def test_predictions_of_other_tools_with_a_mark_are_read(tmp_path):
    line = {"index": 0, "input": "x", "outputs": ["A"], "pred": "A"}
    file = tmp_path / "in/4096/pred/vt.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(MARK + json.dumps(line).encode() + b"\n")
    assert "100.0" in ruler("score", "in", "--out", "results.json", cwd=tmp_path).stdout


def test_a_table_with_commas_and_a_mark_is_read(release, tmp_path):
    (tmp_path / "mine.csv").write_text("index,prediction\n0,A\n1,B\n", encoding="utf-8-sig")
    flags = ("-d", release, "--config", "vt_4k", "--partial")
    assert "2 rows" in ruler("score", "mine.csv", *flags, cwd=tmp_path).stdout
