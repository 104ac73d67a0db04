"""`ruler compare --max-drop`: is a changed model at most a given number of points worse?"""

from __future__ import annotations

import json

import pytest

from ruler_eval.analysis.compare import compare
from tests.eval.analysis.test_compare import results
from tests.eval.scoring_helpers import whole_results
from tests.in_process import ruler


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
    ("lost", "limit", "code", "words"),
    [
        (0, "1.5", 0, "which is below 1.5 points (97.5 % confidence)."),
        (40, "1.5", 1, "which is above 1.5 points (97.5 % confidence)."),
        (6, "1.5", 3, "which does not show whether it is below 1.5 points."),
        (0, "-1", 1, "which is above -1 points (97.5 % confidence)."),
    ],
)
def test_the_exit_code_is_the_verdict(tmp_path, lost, limit, code, words):
    out = tmp_path / "comparison.json"
    stdout, error, found = ruler(
        "compare", *pair(tmp_path, lost), "--max-drop", limit, "--out", out
    )
    assert found == code, error
    assert words in " ".join(stdout.split("A: ")[0].split())  # in the verdict
    decision = json.loads(out.read_text())["decision"]
    assert decision["verdict"] == {0: "smaller", 1: "larger", 3: "unknown"}[code]


def test_no_number_of_rows_is_advised(tmp_path):
    """Run as many more as would do if nothing changed, look again, and the 95 % no longer hold."""
    stdout, _, code = ruler("compare", *pair(tmp_path, 6), "--max-drop", "1.5")
    assert code == 3
    assert "would" not in stdout
    assert "second look" not in stdout


@pytest.mark.parametrize("lost", [0, 6, 40])
def test_a_verdict_on_a_part_of_the_rows_forbids_a_second_look(tmp_path, lost):
    paths = pair(tmp_path, lost)
    found = json.loads(paths[1].read_text())
    found["partial"] = True
    found["configurations"]["vt_4k"]["missing"] = 100
    paths[1].write_text(json.dumps(found))
    stdout, _, _ = ruler("compare", *paths, "--max-drop", "1.5")
    assert "a second look, which its 95 % do not cover" in " ".join(stdout.split())


@pytest.mark.parametrize("limit", ["nan", "inf"])
def test_a_limit_that_is_no_number_is_refused(tmp_path, limit):
    _, error, code = ruler("compare", *pair(tmp_path, 0), "--max-drop", limit)
    assert code == 2
    assert f"--max-drop takes a number, not {limit}" in error


def test_without_a_limit_nothing_is_decided(tmp_path):
    stdout, _, code = ruler("compare", *pair(tmp_path, 40))
    assert code == 0
    assert "--max-drop" not in stdout


def test_what_can_be_detected_is_never_nothing(tmp_path):
    found = compare(results(vt_4k=[1.0] * 500), results(vt_4k=[1.0] * 500))
    cell = found["configurations"]["vt_4k"]
    low, high = cell["interval"]
    assert cell["detectable"] > high > 0 > low
    assert found["all"]["detectable"] > 0
    stdout, _, _ = ruler("compare", *pair(tmp_path, 0))
    _, line = [line.split() for line in stdout.splitlines() if line.startswith("vt_4k")]
    assert float(line[-2]) > 0


def test_small_p_values_are_not_zero(tmp_path):
    stdout, _, _ = ruler("compare", *pair(tmp_path, 40))
    assert "< 0.001" in stdout
    assert " 0.000" not in stdout
