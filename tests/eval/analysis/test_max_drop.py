"""`ruler compare --max-drop`: is a changed model at most a given number of points worse?"""

from __future__ import annotations

import json

import pytest

from tests.eval.analysis.test_compare import results
from tests.eval.scoring_helpers import whole_results
from tests.in_process import ruler, ruler_error


def pair(tmp_path, lost, rows=500):
    """Two results.json files: the second is wrong in `lost` rows of one configuration."""
    paths = []
    for name, wrong in (("base", 0), ("quantised", lost)):
        path = tmp_path / f"{name}.json"
        scores = [0.0] * wrong + [1.0] * (rows - wrong)
        path.write_text(json.dumps(whole_results(results(name, vt_4k=scores))))
        paths.append(path)
    return paths


@pytest.mark.parametrize(
    ("lost", "margin", "code", "words"),
    [
        (0, "1.5", 0, "which is below 1.5 points (97.5 % confidence)."),
        (40, "1.5", 1, "which is above 1.5 points (97.5 % confidence)."),
        (6, "1.5", 3, "which does not show whether it is below 1.5 points."),
        (0, "-1", 1, "which is above -1 points (97.5 % confidence)."),
    ],
)
def test_the_exit_code_is_the_verdict(tmp_path, lost, margin, code, words):
    out = tmp_path / "comparison.json"
    stdout, error, result = ruler(
        "compare", *pair(tmp_path, lost), "--max-drop", margin, "--out", out
    )
    assert result == code, error
    assert words in " ".join(stdout.split("A: ")[0].split())  # in the verdict
    decision = json.loads(out.read_text())["decision"]
    assert decision["verdict"] == {0: "smaller", 1: "larger", 3: "unknown"}[code]


def test_rows_that_only_one_model_has_are_counted_next_to_the_verdict(tmp_path):
    """A candidate that lacks a length must not pass the gate without a word."""
    paths = []
    for name, cells in (("base", {"vt_8k": [0.0] * 500}), ("quantised", {"cwe_4k": [1.0] * 20})):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(whole_results(results(name, vt_4k=[1.0] * 500, **cells))))
        paths.append(path)
    done = ruler("compare", *paths, "--max-drop", "2", "--short")
    assert done.code == 0
    note = (
        "Not compared: 500 rows of A that B does not have (all rows of vt_8k) and 20 rows of B "
        "that A does not have (all rows of cwe_4k)."
    )
    assert note in " ".join(done.stdout.split())
    assert "on the rows that both have" in " ".join(ruler("score", *paths).stdout.split())
    done = ruler("compare", *pair(tmp_path, 0), "--max-drop", "2", "--short")
    assert "Not compared" not in done.stdout


@pytest.mark.parametrize("lost", [0, 6, 40])
def test_a_verdict_on_a_part_of_the_rows_forbids_a_second_look(tmp_path, lost):
    paths = pair(tmp_path, lost)
    result = json.loads(paths[1].read_text())
    result["partial"] = True
    result["configurations"]["vt_4k"]["missing"] = 100
    paths[1].write_text(json.dumps(result))
    stdout, _, _ = ruler("compare", *paths, "--max-drop", "1.5")
    assert "a second look, which its 95 % do not cover" in " ".join(stdout.split())


@pytest.mark.parametrize("margin", ["nan", "inf"])
def test_a_margin_that_is_not_a_number_is_refused(tmp_path, margin):
    assert f"--max-drop takes a number, not {margin}" in ruler_error(
        "compare", *pair(tmp_path, 0), "--max-drop", margin
    )


def test_a_margin_for_every_task_needs_one_for_the_mean_and_decides_with_it(tmp_path):
    paths = []
    for name, lost in (("base", 0), ("quantised", 60)):
        path = tmp_path / f"{name}.json"
        many = {f"task{task}_4k": [1.0] * 500 for task in range(12)}
        scores = whole_results(results(name, vt_4k=[0.0] * lost + [1.0] * (500 - lost), **many))
        path.write_text(json.dumps(scores))
        paths.append(path)
    margins = ["--max-drop", "2", "--max-task-drop"]
    for command in ("compare", "decide"):
        assert ruler(command, *paths, *margins, "30")[2] == 0
        stdout, error, code = ruler(command, *paths, *margins, "5")
        assert code == 1, error
        assert "(97.5 % confidence)" in " ".join(stdout.split())
        assert "vt" in stdout.split("Largest loss")[1]
    assert "--max-task-drop needs --max-drop" in ruler_error(
        "compare", *paths, "--max-task-drop", "5"
    )
