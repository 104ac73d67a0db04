"""A model on the rows of two seeds: unpaired differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ruler_common.errors import RulerError
from ruler_eval.analysis.compare import seeds_of
from ruler_eval.analysis.seeds import compare_seeds
from ruler_eval.figures.comparisons import seed_figures
from ruler_eval.report.render import render
from ruler_release import api
from tests.eval.analysis.test_compare import results
from tests.eval.scoring_helpers import change_column

TOKENS = 4096


def of_seed(seed: int, same: tuple[str, ...] = (), **cells: Any) -> Any:
    """A results.json of a seed, whose rows ask what that seed asks, but for the tasks in `same`."""
    result = results(**cells)
    result["dataset"]["seed"] = seed
    for name, cell in result["configurations"].items():
        asked = 0 if name in same else seed
        numbers = range(cell["n"])
        for column in ("references", "question"):
            change_column(result, column, name, [f"{asked}-{i}" for i in numbers])
        cell["max_length"] = TOKENS
    return result


def test_a_model_that_knows_the_published_rows_scores_higher_on_them():
    draw = np.random.default_rng(3)
    published, fresh = (draw.random(500) < share for share in (0.95, 0.80))
    comparison = compare_seeds(of_seed(0, vt_4k=published * 1.0), of_seed(7, vt_4k=fresh * 1.0))
    every = comparison["all"]
    assert every is not None
    assert every["difference"] == pytest.approx(100 * (published.mean() - fresh.mean()))
    low, high = every["interval"]
    assert 0 < low < every["difference"] < high
    assert (every["higher"], comparison["seeds"]) == ("a", {"a": 0, "b": 7})
    assert "Seed 0 minus seed 7: " in render(seed_figures(comparison), "text")


def test_failed_rows_are_named_beside_the_verdict():
    a, b = of_seed(0, vt_4k=[1.0] * 40), of_seed(7, vt_4k=[0.0] * 40)
    b["configurations"]["vt_4k"]["failed"] = 40
    verdict = render(seed_figures(compare_seeds(a, b))[:1], "text")
    assert "Rows of A: all answered. Rows of B: 40 failed." in verdict


@pytest.mark.parametrize(("share", "rows"), [(0.5, 50), (0.9, 100), (0.99, 100), (1.0, 20)])
def test_the_interval_covers_a_difference_of_zero_at_its_nominal_rate(share, rows):
    draw = np.random.default_rng(1)
    covered = 0
    for _ in range(100):
        a, b = (of_seed(s, vt_4k=(draw.random(rows) < share) * 1.0) for s in (0, 7))
        low, high = compare_seeds(a, b)["configurations"]["vt_4k"]["interval"]
        assert low < high
        covered += low <= 0 <= high
    assert covered >= 93


def test_rows_that_ask_the_same_under_both_seeds_are_shown_and_counted_in_no_mean():
    right, wrong = [1.0] * 40, [0.0] * 40
    a = of_seed(0, ("qa_1_4k",), vt_4k=right, qa_1_4k=right)
    b = of_seed(7, ("qa_1_4k",), vt_4k=right, qa_1_4k=wrong)
    asked = ["another", *(f"0-{i}" for i in range(1, 40))]
    change_column(a, "references", "qa_1_4k", asked)  # most are enough
    change_column(a, "question", "vt_4k", ["the same"] * 40)  # but not the question
    change_column(b, "question", "vt_4k", ["the same"] * 40)
    comparison = compare_seeds(a, b)
    assert [c["same_questions"] for c in comparison["configurations"].values()] == [False, True]
    assert comparison["all"] is not None
    assert (comparison["all"]["difference"], comparison["all"]["configurations"]) == (0, 1)
    assert "qa_1_4k *" in render(seed_figures(comparison), "text")
    questions_only = compare_seeds(*(of_seed(s, ("qa_1_4k",), qa_1_4k=right) for s in (0, 7)))
    assert questions_only["all"] is None
    assert "No configuration has different questions" in render(
        seed_figures(questions_only), "text"
    )


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        (("dataset", "data_version"), "2.0.0", r"data_version \(1.0.0 and 2.0.0\)"),
        (("dataset", "name"), "oneruler", "differ in the data set's name"),
        (("dataset", "sources"), {"essays": "b"}, r"from different texts \(essays\)"),
        (("score_version",), "9", "differ in score_version"),
        (("mode",), "chat", "differ in mode"),
        (("model",), "b", r"of two models \(a and b\)"),
        (("dataset", "seed"), 0, "not results of two seeds"),
    ],
)
def test_results_that_differ_in_more_than_the_seed_are_refused(place, value, text):
    a, b = of_seed(0, vt_4k=[1.0] * 20), of_seed(7, vt_4k=[1.0] * 20)
    a["dataset"]["sources"] = {"essays": "a", "squad": "a"}
    inner = b
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    with pytest.raises(RulerError, match=text):
        compare_seeds(a, b)


def test_results_of_one_seed_are_compared_row_by_row():
    a, b = of_seed(0, vt_4k=[1.0] * 20), of_seed(0, vt_4k=[0.0] * 20)
    assert seeds_of(a, b) is None
    comparison = api.compare(a, b)
    assert "seeds" not in comparison
    with pytest.raises(RulerError, match="share no configuration"):
        compare_seeds(a, of_seed(7, cwe_4k=[1.0] * 20))
    with pytest.raises(RulerError, match="have different seeds"):
        api.compare(a, of_seed(7, vt_4k=[1.0] * 20), max_drop=2)
