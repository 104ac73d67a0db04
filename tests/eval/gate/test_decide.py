"""`ruler decide` at two finished runs: where it would have stopped, and what it refuses."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_common.rows import row_order
from ruler_eval.gate.decide import Margins, SequentialDecision, StoredRows, decide
from ruler_eval.gate.plan import plan_of_results
from ruler_eval.report import decision_text
from tests.eval.analysis.test_compare import results
from tests.eval.scoring_helpers import change_column, whole_results
from tests.in_process import ruler

ROWS = 120


def run(model: str = "base", rows: int = ROWS, **cells: float) -> Any:
    """Results whose configurations are wrong in the last share of rows by their frozen order."""
    made = {}
    for name, lost in cells.items():
        task, length = name.rsplit("_", 1)
        wrong = {*row_order("", "ruler", task, length, rows)[rows - round(lost * rows) :]}
        made[name] = [0.0 if index in wrong else 1.0 for index in range(rows)]
    return whole_results(results(model, **made))


def decided(
    a: Any, b: Any, max_drop: float, max_task_drop: float | None = None
) -> SequentialDecision:
    margins = Margins(max_drop, max_task_drop)
    return decide(a, StoredRows(a, b, margins), margins, on_look=lambda _: None)


def test_equal_runs_stop_early_and_a_failed_one_too():
    base = run(vt_4k=0, cwe_4k=0)
    same, failed = decided(base, base, 20), decided(base, run("b", vt_4k=1, cwe_4k=1), 20)
    assert (same["verdict"], failed["verdict"]) == ("smaller", "larger")
    assert max(same["rows"], failed["rows"]) <= 30
    assert [look["rows"] for look in same["looks"]] == [*range(5, same["rows"] + 1, 5)]
    assert same["interval"][0] < 0 < same["interval"][1] < 20


def test_a_truncated_row_that_its_text_was_scored_by_is_not_counted_as_truncated():
    base = run(vt_4k=0)
    change_column(base, "state", "vt_4k", ["truncated"] * ROWS)
    change_column(base, "truncated_scored", "vt_4k", [True] * ROWS)
    assert decided(base, run("b", vt_4k=0), 20)["a"]["truncated"] == 0
    change_column(base, "truncated_scored", "vt_4k", [False] * ROWS)
    decision = decided(base, run("b", vt_4k=0), 20)
    assert decision["a"]["truncated"] == decision["rows"]


@pytest.mark.parametrize(
    ("margin", "verdict"), [(9.9, "larger"), (10, "larger"), (10.1, "smaller")]
)
def test_after_the_last_row_the_verdict_is_exact(margin, verdict):
    """A tenth of the rows is lost: 12 of 120."""
    decision = decided(run(vt_4k=0), run("b", vt_4k=0.1), margin)
    assert (decision["rows"], decision["of"]) == (ROWS, ROWS)
    assert decision["verdict"] == verdict
    assert decision["interval"] == pytest.approx([10, 10])
    low, high = decision["other_rows_interval"]
    assert low < 10 < high


def test_a_drop_of_exactly_the_margin_is_not_below_it():
    """Tenths, thirds and sevenths, whose sums in floating point are off by a rounding error."""
    for parts in (3, 7, 9, 10):
        a = whole_results(results(cwe_4k=[1.0] * 60))
        b = whole_results(results("b", cwe_4k=[1 - 1 / parts] * 6 + [1.0] * 54))
        order = plan_of_results(a).order["cwe", "4k"]
        change_column(b, "score", "cwe_4k", [1 - (i in order[-6:]) / parts for i in range(60)])
        exact = 100 / (10 * parts)
        decision = decided(a, b, exact) if parts == 10 else decided(a, b, round(exact, 12))
        assert decision["rows"] == 60
        expected = "larger" if Fraction(str(round(exact, 12))) <= Fraction(10, parts) else "smaller"
        assert decision["verdict"] == expected, parts


def test_rows_about_one_document_say_less_about_other_rows():
    intervals = {}
    for rows_of_one in (1, 4):
        base = run(vt_4k=0, cwe_4k=0)
        change_column(base, "document", "vt_4k", [str(n // rows_of_one) for n in range(ROWS)])
        decision = decided(base, run("b", vt_4k=0, cwe_4k=0), 10)
        assert decision["rows"] < ROWS
        intervals[rows_of_one] = decision["other_rows_interval"]
    assert intervals[4][0] < intervals[1][0] < 0 < intervals[1][1] < intervals[4][1]


def test_a_task_lost_at_one_length_passes_the_mean_but_is_named_and_may_have_a_margin():
    lengths = ("4k", "8k", "16k", "32k", "64k", "128k")
    names = [f"task{task}_{length}" for task in range(13) for length in lengths]
    base = run(**dict.fromkeys(names, 0))
    lost = run("b", **{**dict.fromkeys(names, 0), "task3_64k": 1})
    decision = decided(base, lost, 2)
    assert decision["verdict"] == "smaller"  # it is 1.28 points of the mean
    assert (decision["worst"]["task"], decision["worst"]["length"]) == ("task3", "64k")
    assert decision["worst"]["interval"][0] > 40
    assert "task3 at 64K, 100.0 points so far" in decision_text.worst_sentence(decision)
    strict = decided(base, lost, 2, 20)
    assert (strict["verdict"], strict["task_verdict"]) == ("larger", "larger")
    assert strict["rows"] < ROWS
    same = decided(base, base, 2, 20)
    assert (same["verdict"], same["mean_verdict"], same["task_verdict"]) == ("smaller",) * 3
    assert decided(base, base, 2)["rows"] < same["rows"] < ROWS


def test_looks_come_every_few_rows_until_the_last():
    assert plan_of_results(run(vt_4k=0)).looks() == [*range(5, ROWS, 5), ROWS]
    several = plan_of_results(run(vt_4k=0, vt_8k=0, cwe_4k=0, cwe_8k=0))
    assert several.looks() == [*range(2, ROWS, 2), ROWS]


def test_every_task_and_length_has_a_different_order_and_none_is_that_of_margin():
    plan = plan_of_results(run(vt_4k=0, vt_8k=0, cwe_4k=0, cwe_8k=0))
    orders = [tuple(order) for order in plan.order.values()]
    frozen = tuple(row_order("", "ruler", "vt", "4k", ROWS))
    assert len({*orders, frozen}) == 5
    assert {frozenset(order) for order in orders} == {frozenset(range(ROWS))}


def test_the_largest_losses_come_first_by_task():
    decision = decided(
        run(vt_4k=0, cwe_4k=0, fwe_4k=0), run("b", vt_4k=0.1, cwe_4k=1, fwe_4k=0), 30
    )
    assert [*decision["tasks"]] == ["cwe", "vt", "fwe"]
    assert decision["tasks"]["cwe"] == 100


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (run("b", cwe_4k=0), "share no rows"),
        (run("b", rows=40, vt_4k=0, cwe_4k=0), "B has no row"),
        (run("b", vt_4k=0), "of 'cwe_4k', which the test needs"),
    ],
)
def test_runs_that_cannot_be_paired_are_refused(other, words):
    base = run(vt_4k=0, cwe_4k=0) if "cwe" in words or "row " in words else run(vt_4k=0)
    with pytest.raises(RulerError, match=words):
        decided(base, other, 1)


def test_tasks_with_different_numbers_of_rows_are_refused():
    base = run(vt_4k=0)
    candidate = run(rows=60, cwe_4k=0)
    base["configurations"] |= candidate["configurations"]
    for column, values in base["rows"].items():
        values += candidate["rows"][column]
    with pytest.raises(RulerError, match="same number of rows for every task"):
        plan_of_results(base)


def test_other_rows_than_the_first_of_the_order_are_refused():
    base = run(rows=60, vt_4k=0)
    base["partial"] = True
    base["configurations"]["vt_4k"] |= {"missing": 60, "rows_requested": 120, "rows_available": 120}
    with pytest.raises(RulerError, match="not the first ones of the frozen order"):
        plan_of_results(base)


def test_another_margin_than_the_one_fixed_before_is_refused():
    """A margin chosen after looking has no known error."""
    base, live = run(vt_4k=0), run("b", vt_4k=0)
    live["run"] = {"decide": {"max_drop": 20.0}}
    assert decided(base, live, 20)["verdict"] == "smaller"
    with pytest.raises(RulerError, match="--max-drop 20 was fixed before"):
        decided(base, live, 25)


@pytest.mark.parametrize("margin", ["nan", "inf", "100", "-100"])
def test_a_margin_that_is_not_a_number_of_points_is_refused(tmp_path, margin):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(run(vt_4k=0)))
    _, error, code = ruler("decide", path, path, "--max-drop", margin)
    assert (code, "--max-drop" in error and "number" in error) == (2, True)


@pytest.mark.parametrize(
    ("lost", "margin", "code", "words"),
    [
        (0, 20, 0, "over all 120 rows of each task is below 20 points (97.5 % confidence)."),
        (1, 20, 1, "over all 120 rows of each task is above 20 points (97.5 % confidence)."),
        (0.1, 10, 1, "is 10.0 points over all 120 rows of each task: not below 10 points."),
    ],
)
def test_the_command_says_the_verdict_with_both_models(tmp_path, lost, margin, code, words):
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, made in zip(paths, (run(vt_4k=0), run("b", vt_4k=lost)), strict=True):
        path.write_text(json.dumps(made))
    out = tmp_path / "decision.json"
    stdout, error, result = ruler("decide", *paths, "--max-drop", margin, "--json", out)
    assert result == code, error
    output = " ".join(stdout.split())
    assert f"The drop from base (A) to b (B) {words}" in output
    assert "The drop on other rows like these is a different question" in output
    written = json.loads(out.read_text())
    if written["rows"] < ROWS:
        assert f"{written['rows']} rows of each task were enough." in output
    if lost:
        assert "Largest loss of a task at a length: vt at 4K, " in output


def test_a_pull_request_gets_the_verdict_as_markdown(tmp_path):
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, made in zip(
        paths, (run(vt_4k=0, cwe_4k=0), run("b", vt_4k=0, cwe_4k=1)), strict=True
    ):
        path.write_text(json.dumps(made))
    stdout, _, code = ruler("decide", *paths, "--max-drop", 5, "--markdown")
    assert code == 1
    assert "**Failed.** The drop from base (A) to b (B)" in stdout
    assert "| cwe | +100.0 |" in " ".join(stdout.split())
