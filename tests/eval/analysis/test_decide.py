"""`ruler compare --max-drop`: is a changed model surely no more than so much worse?"""

from __future__ import annotations

import json

import pytest

from ruler_eval.analysis.compare import compare
from ruler_eval.analysis.decide import decide
from tests.eval.analysis.test_compare import results
from tests.eval.scoring_helpers import ruler, whole_results


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
        (0, "1.5", 0, "surely less than the 1.5 allowed"),
        (40, "1.5", 1, "surely more than the 1.5 allowed"),
        (6, "1.5", 3, "500 rows cannot tell whether it is less than the 1.5 allowed; about"),
        (0, "-1", 1, "surely more than the -1 allowed"),
    ],
)
def test_the_exit_code_is_the_verdict(tmp_path, lost, limit, code, words):
    out = tmp_path / "comparison.json"
    stdout, error, found = ruler(
        "compare", *pair(tmp_path, lost), "--max-drop", limit, "--out", out
    )
    assert found == code, error
    assert words in stdout
    decision = json.loads(out.read_text())["decision"]
    assert decision["verdict"] == {0: "smaller", 1: "larger", 3: "unknown"}[code]


def test_the_rows_it_would_take_do_decide():
    """A few rows more than that, with the same share of lost ones, tell what the few could not."""
    few = compare(results(vt_4k=[1.0] * 500), results(vt_4k=[0.0] * 4 + [1.0] * 496))
    unsure = decide(few, 1.5)
    assert unsure["verdict"] == "unknown"
    assert 500 < unsure["needed"] < 5000
    rows = round(1.2 * unsure["needed"])
    lost = round(rows * 4 / 500)
    many = compare(results(vt_4k=[1.0] * rows), results(vt_4k=[0.0] * lost + [1.0] * (rows - lost)))
    assert decide(many, 1.5)["verdict"] == "smaller"


@pytest.mark.parametrize("lost", [0, 1, 4])
@pytest.mark.parametrize("times", [4, 9])
def test_the_rows_it_would_take_are_those_of_the_interval_of_so_many(lost, times):
    def found(times):
        rows, wrong = 200 * times, lost * times
        worse = [0.0] * wrong + [1.0] * (rows - wrong)
        return compare(results(vt_4k=[1.0] * rows), results(vt_4k=worse))

    limit = found(times)["all"]["interval"][1]
    assert decide(found(1), limit)["needed"] == pytest.approx(200 * times, rel=0.05)


def test_the_rows_it_takes_where_none_differs_are_known():
    twenty = {f"task{i}_4k": [1.0] * 20 for i in range(13)}
    needed = decide(compare(results(**twenty), results(**twenty)), 0.5)["needed"]
    for rows, verdict in ((needed - 1, "unknown"), (needed, "smaller")):
        many = {name: [1.0] * rows for name in twenty}
        assert decide(compare(results(**many), results(**many)), 0.5)["verdict"] == verdict


@pytest.mark.parametrize("limit", ["nan", "inf"])
def test_a_limit_that_is_no_number_is_refused(tmp_path, limit):
    _, error, code = ruler("compare", *pair(tmp_path, 0), "--max-drop", limit)
    assert code == 2
    assert f"--max-drop {limit} is not a number of points" in error


def test_without_a_limit_nothing_is_decided(tmp_path):
    stdout, _, code = ruler("compare", *pair(tmp_path, 40))
    assert code == 0
    assert "allowed" not in stdout


def test_no_number_of_rows_tells_a_drop_that_is_just_the_limit():
    found = compare(results(vt_4k=[1.0] * 100), results(vt_4k=[0.0] * 2 + [1.0] * 98))
    assert decide(found, found["all"]["difference"])["needed"] is None


def test_what_can_be_detected_is_never_nothing(tmp_path):
    found = compare(results(vt_4k=[1.0] * 500), results(vt_4k=[1.0] * 500))
    cell = found["configurations"]["vt_4k"]
    low, high = cell["interval"]
    assert cell["detectable"] > high > 0 > low
    assert found["all"]["detectable"] > 0
    stdout, _, _ = ruler("compare", *pair(tmp_path, 0))
    (line,) = [line.split() for line in stdout.splitlines() if line.startswith("vt_4k")]
    assert float(line[-2]) > 0


def test_small_p_values_are_not_zero(tmp_path):
    stdout, _, _ = ruler("compare", *pair(tmp_path, 40))
    assert "< 0.001" in stdout
    assert " 0.000" not in stdout
