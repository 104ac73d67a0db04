"""A byte order mark before a file, which editors on Windows write, costs no row and no score."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

MARK = b"\xef\xbb\xbf"
REFERENCES = {"index": 0, "input": "x", "outputs": ["A"]}
LINES: dict[str, list[dict[str, Any]]] = {
    "4096/pred/vt.jsonl": [{**REFERENCES, "pred": "A"}],
    "samples_ruler_vt_2026-01-01T00-00-00.jsonl": [
        {"doc_id": 0, "doc": {**REFERENCES, "max_length": 4096}, "filtered_resps": ["A"]}
    ],
    "en/niah_none/8000/prediction_o3.jsonl": [
        {**REFERENCES, "outputs": ["none"], "response-o3": "<answer>none</answer>"}
    ],
}


def marked(folder: Path, *patterns: str) -> None:
    """Put a mark before every file of these names, which are not links of sound ones any more."""
    for path in [path for pattern in patterns for path in folder.glob(pattern)]:
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(MARK + data)


def cells(path: Path) -> dict[str, tuple[float, int]]:
    """The score and the rows of every configuration of a results.json."""
    found = json.loads(path.read_bytes())
    rows = Counter(found["rows"]["config"])
    return {name: (cell["score"], rows[name]) for name, cell in found["configurations"].items()}


def test_of_a_run_and_its_release(sandbox):
    sandbox.new("ruler", "RUN-ruler")
    answers = (sandbox.base / "RUN-ruler" / "vt_4k.jsonl").read_bytes()
    sandbox.write("RUN-ruler/vt_4k.jsonl", answers.replace(b'", "thinking"', b' kept", "thinking"'))
    marked(sandbox.case, "RUN-ruler/*.json*", "ruler/*.json", "ruler/eval.yaml")
    run = sandbox.case / "RUN-ruler"
    before = {path: path.read_bytes().removeprefix(MARK) for path in run.glob("*.jsonl")}
    release = ("--dataset", "case/ruler")
    answering = (*release, "--configs", "all", "--backend", "oracle", "--out", "case/RUN-ruler")
    done = sandbox.run("run", *answering)
    assert (done.code, done.faults()) == (0, [])
    assert {path: path.read_bytes().removeprefix(MARK) for path in before} == before
    out = ("--out", "case/results.json")
    assert sandbox.run("score", "case/RUN-ruler", *release, *out).code == 0
    sound = cells(sandbox.base / "RUN-ruler" / "results.json")
    assert cells(sandbox.case / "results.json") == sound
    assert {rows for _, rows in sound.values()} == {3}
    marked(sandbox.case, "results.json")
    assert sandbox.run("compare", "case/results.json", "base/RUN-ruler").code == 0
    assert sandbox.run("list", "case/ruler").code == 0


@pytest.mark.parametrize("name", LINES)
def test_of_another_tools_predictions(sandbox, name):
    sandbox.new()
    text = "".join(json.dumps(line) + "\n" for line in LINES[name])
    sandbox.write(f"in/{name}", MARK + text.encode())
    done = sandbox.run("score", "case/in", "--out", "case/results.json")
    assert done.code == 0, done.stderr
    assert [rows for _, rows in cells(sandbox.case / "results.json").values()] == [1]


def test_of_a_table_with_commas(sandbox):
    sandbox.new()
    file = sandbox.case / "in/4096/pred/submission.csv"
    file.parent.mkdir(parents=True)
    with file.open("w", encoding="utf-8-sig", newline="") as table:
        rows = [["Task", "ID", "Prediction"], *(["vt", index, "A"] for index in range(3))]
        csv.writer(table).writerows(rows)
    release = ("--dataset", "base/ruler")
    done = sandbox.run("score", "case/in", *release, "--out", "case/results.json", "--partial")
    assert done.code == 0, done.stderr
    assert cells(sandbox.case / "results.json") == {"vt_4k": (0, 3)}
