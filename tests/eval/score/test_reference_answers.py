"""The data files that --references names: their prompts, whole or in pieces, sort errors."""

from __future__ import annotations

import json

import pytest

from tests.eval.scoring_helpers import record, write_lines
from tests.in_process import ruler

NEEDLE = "One of the special magic numbers for able-cat is: {}."
INPUT = "Remember it afterwards.\n" + "\n".join(map(NEEDLE.format, (1111111, 2222222)))
INPUT += "\nWhat is the special magic number for able-cat mentioned in the provided text?"
GOLD, OTHER = (NEEDLE.format(value) for value in (1111111, 2222222))
START, SECOND = INPUT.index(GOLD), INPUT.index(OTHER)
GOLD_SPAN = {"start": START, "end": START + len(GOLD), "depth": 0.0, "answer": True}
PIECES = {
    "pieces": [[SECOND, OTHER]],
    "characters": len(INPUT),
    "context_start": START,
    "context_end": SECOND + len(OTHER),
    "evidence": [
        GOLD_SPAN,
        {"start": SECOND, "end": SECOND + len(OTHER), "depth": 0.5, "answer": False},
    ],
}


def errors(tmp_path, fields):
    """What `ruler errors` makes of the answer 2222222 by a data file's line."""
    path = tmp_path / "niah_multikey_1_4k.jsonl"
    write_lines(path, record("niah_multikey_1_4k", 0, " 2222222"))
    data = {"index": 0, "outputs": ["1111111"], **fields}
    write_lines(tmp_path / "data/4096/niah_multikey_1/validation.jsonl", data)
    return ruler("errors", path, "--references", tmp_path / "data", "--out", tmp_path / "e.jsonl")


@pytest.mark.parametrize("fields", [{"input": INPUT}, PIECES], ids=["whole", "pieces"])
def test_errors_are_sorted_by_the_prompt_of_the_data_file(tmp_path, fields):
    _, error, code = errors(tmp_path, fields)
    assert code == 0, error
    results = json.loads((tmp_path / "e.jsonl").read_text())
    assert (results["kind"], results["index"]) == ("distractor", 0)
    assert 0.4 < results["gap"] < 1


def test_lines_without_a_prompt_score_and_do_not_sort(tmp_path):
    _, error, code = errors(tmp_path, {})
    assert code == 2
    assert "has no prompts" in error


def test_rows_of_the_data_files_without_a_prediction_are_counted_in_a_note(tmp_path):
    references = [{"index": i, "outputs": ["ABCDE"]} for i in range(5)]
    write_lines(tmp_path / "data/vt.jsonl", *references)
    lines = [{"index": i, "prediction": "ABCDE"} for i in range(4)]
    answers = write_lines(tmp_path / "vt_4k.jsonl", *lines)
    done = ruler("score", answers, "--references", tmp_path / "data")
    assert "vt_4k: 4 of the 5 rows in" in " ".join(done.stdout.split())
    write_lines(tmp_path / "data/vt.jsonl", *references[:4])
    done = ruler("score", answers, "--references", tmp_path / "data")
    assert "rows in" not in done.stdout
