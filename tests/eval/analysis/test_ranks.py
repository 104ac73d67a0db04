"""Several models ranked, and the ranks that their rows leave possible."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ruler_eval.analysis.ranks import ranks
from ruler_eval.figures.comparisons import rank_figures
from ruler_eval.report.render import render
from tests.eval.analysis.test_compare import results
from tests.eval.scoring_helpers import right
from tests.in_process import ruler_error, ruler_output

LENGTHS = {"4k": 4096, "8k": 8192}


def model(name, **wrong):
    """A result of 100 rows per configuration, some of them wrong: `model("a", vt_4k=3)`."""
    cells = {c: [0.0] * n + [1.0] * (100 - n) for c, n in wrong.items()}
    result = results(name, **cells)
    for cell in result["configurations"].values():
        cell["max_length"] = LENGTHS[cell["length"]]
    return result


def test_a_clear_order_leaves_one_rank_and_a_near_tie_two():
    models = {"a": model("a", vt_4k=0), "b": model("b", vt_4k=2), "c": model("c", vt_4k=60)}
    result = {item["model"]: (item["rank"], item["ranks"]) for item in ranks(models)["average"]}
    assert result == {"a": (1, [1, 2]), "b": (2, [1, 2]), "c": (3, [3, 3])}


def test_the_weighting_decides_who_is_first():
    models = {"short": model("s", vt_4k=0, vt_8k=40), "long": model("l", vt_4k=35, vt_8k=0)}
    result = ranks(models)
    assert [item["model"] for item in result["weighted_inc"]] == ["long", "short"]
    assert [item["model"] for item in result["weighted_dec"]] == ["short", "long"]
    assert result["weighted_inc"][0]["score"] == pytest.approx((65 + 2 * 100) / 3)


def test_failed_rows_are_named_beside_the_verdict():
    models = {name: model(name, vt_4k=wrong) for name, wrong in (("a", 0), ("b", 2), ("c", 60))}
    models["c"]["configurations"]["vt_4k"]["failed"] = 60
    verdict = render(rank_figures(ranks(models))[:1], "text")
    assert "Rows of a: all answered. Rows of b: all answered. Rows of c: 60 failed." in verdict
    assert "A row without a whole answer counts as wrong." in verdict


@pytest.mark.parametrize("trouble", ["does_not_fit", "truncated"])
def test_rows_that_did_not_fit_or_were_truncated_are_said_to_count_as_wrong(trouble):
    models = {name: model(name, vt_4k=wrong) for name, wrong in (("a", 0), ("b", 2), ("c", 60))}
    cell = models["c"]["configurations"]["vt_4k"]
    cell["failed"] = 60 if trouble == "does_not_fit" else 0
    cell[trouble] = 60
    verdict = render(rank_figures(ranks(models))[:1], "text")
    assert "A row without a whole answer counts as wrong." in verdict


def test_equal_models_share_a_rank_and_few_rows_leave_all_possible():
    same = {name: model(name, vt_4k=5) for name in "abc"}
    assert {(item["rank"], *item["ranks"]) for item in ranks(same)["average"]} == {(1, 1, 3)}
    few = {"a": results("a", vt_4k=[1.0] * 9), "b": results("b", vt_4k=[0.0] * 9)}
    for result in few.values():
        result["configurations"]["vt_4k"]["max_length"] = 4096
    assert [item["ranks"] for item in ranks(few)["average"]] == [[1, 2], [1, 2]]


def test_only_rows_of_all_models_count_and_a_partial_result_is_marked():
    """The first model answered the easy half alone."""
    hard, easy = [0.0] * 50, [1.0] * 50
    models = {"part": results("part", vt_4k=easy), "b": results("b", vt_4k=[*easy, *hard])}
    models |= {"c": results("c", vt_4k=[*easy[:40], *hard, *hard[:10]]), "d": models["b"]}
    for item in models.values():
        item["configurations"]["vt_4k"]["max_length"] = 4096
    models["part"]["partial"] = True
    result = ranks(models)
    assert {item["model"]: item["score"] for item in result["average"]} == {
        "part": 100.0,
        "b": 100.0,
        "c": 80.0,
        "d": 100.0,
    }
    text = render(rank_figures(result), "text")
    assert text.count("PARTIAL: only rows with a prediction count") == 1


def test_the_possible_ranks_are_by_the_rows_of_the_averages():
    """The second model is better on the rows that the third lacks."""
    scores = {"a": [1.0] * 60 + [0.0] * 140, "b": [0.5] * 60 + [1.0] * 140, "c": [0.2] * 60}
    models = {name: results(name, vt_4k=rows) for name, rows in scores.items()}
    for item in models.values():
        item["configurations"]["vt_4k"]["max_length"] = 4096
    assert [(item["model"], item["rank"], item["ranks"]) for item in ranks(models)["average"]] == [
        ("a", 1, [1, 1]),
        ("b", 2, [2, 2]),
        ("c", 3, [3, 3]),
    ]


def test_the_ranks_hold_the_true_one_of_models_that_hardly_differ():
    """Five models of 80 to 84 %: each interval of ranks is to hold in 95 % of the draws."""
    truth = dict(zip("abcde", (0.84, 0.83, 0.82, 0.81, 0.8), strict=True))
    covered = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        models = {n: results(n, vt_4k=(rng.random(200) < p) * 1.0) for n, p in truth.items()}
        for result in models.values():
            result["configurations"]["vt_4k"]["max_length"] = 4096
        for item in ranks(models)["average"]:
            low, high = item["ranks"]
            covered.append(low <= 1 + "abcde".index(item["model"]) <= high)
    assert np.mean(covered) >= 0.95


def test_the_command_ranks_three_runs(write_run, tmp_path):
    def wrong_from(first):
        return lambda config, row: right(config, row) if row["index"] < first else ""

    runs = [write_run(wrong_from(n), name) for n, name in ((9, "all"), (2, "most"), (0, "none"))]
    for run in runs:
        ruler_output("score", run)
    out = tmp_path / "ranks.json"
    stdout = ruler_output("compare", *runs, "--out", out)
    assert stdout.startswith("all has the highest average, ")
    assert "; no other model can be first (95 %)." in stdout
    whose, title, table = stdout.split("\n\n")[1:4]
    assert title == "Models by their averages over the rows that all share"
    assert whose.startswith("all, ")
    assert " ".join(whose.split()).count("custom rows") == 3
    assert table.split()[:4] == ["model", "Avg.", "rank", "95"]
    assert [item["model"] for item in json.loads(out.read_text())["average"]] == [
        *("all", "most", "none")
    ]
    assert "name two results" in ruler_error("compare", *runs, "--max-drop", 1)
