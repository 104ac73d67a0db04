"""Scores by depth: which evidence counts, for which reference, in which bin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_eval.score.cells import Mark, by_depth, is_spread, marks
from ruler_eval.score.rows import ScoringRules
from ruler_eval.score.scoring import score
from tests.eval.scoring_helpers import read


def span(text, whole, answer=True):
    start = whole.index(text)
    depth = start / len(whole)
    return {"start": start, "end": start + len(text), "depth": depth, "answer": answer}


def test_a_needles_row_counts_at_its_depth_and_distractors_do_not():
    row = {"outputs": ["1"], "evidence": [span("b", "a b c"), span("c", "a b c", False)]}
    assert marks(row, False) == [Mark(0.4, None)]


def test_several_references_each_count_at_the_depth_of_their_evidence():
    text = "VAR A = 1 … VAR B = VAR A … VAR C = VAR B"
    chain = ["VAR A = 1", "VAR B = VAR A", "VAR C = VAR B"]
    row = {"input": text, "outputs": ["A", "B", "C"], "evidence": [span(t, text) for t in chain]}
    assert is_spread(row, False)
    assert [mark.reference for mark in marks(row, False)] == [0, 1, 2]


def test_references_in_another_order_than_the_text_find_their_needles():
    text = "k is: 22 … k is: 11"
    row = {"input": text, "outputs": ["11", "22"]}
    row["evidence"] = [span("k is: 22", text), span("k is: 11", text)]
    assert [mark.reference for mark in marks(row, False)] == [1, 0]


def test_alternatives_count_once_at_the_mean_depth_of_their_passages():
    row = {"outputs": ["Paris", "the city of Paris"]}
    row["evidence"] = [span("b", "a b c d e"), span("d", "a b c d e")]
    assert not is_spread(row, True)
    assert marks(row, True) == [Mark(pytest.approx(4 / 9), None)]


def test_rows_without_evidence_count_nowhere():
    assert marks({"outputs": ["a"], "evidence": []}, False) == []
    assert by_depth([]) is None


def test_ten_bins_hold_their_lower_bound_and_the_last_one_its_upper_too():
    bins = by_depth([(depth, 1.0) for depth in (0, 0.0999, 0.1, 0.3, 0.7, 0.95, 1.0)])
    assert [depth_bin["n"] for depth_bin in bins] == [2, 1, 0, 1, 0, 0, 0, 1, 0, 2]


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])), min_size=1))
def test_every_credit_is_in_one_bin(pairs):
    bins = by_depth(pairs)
    assert sum(bin["n"] for bin in bins) == len(pairs)
    total = sum(bin["score"] * bin["n"] for bin in bins if bin["n"])
    assert total == pytest.approx(100 * sum(credit for _, credit in pairs))


def test_a_model_that_reads_only_the_first_half_scores_only_there(write_run, frozen):
    depths = {
        (config, row["index"]): row["evidence"][0]["depth"]
        for config in ("niah_single_2_4k", "niah_single_2_8k")
        for row in frozen.rows(config, ("index", "evidence"))
    }

    def answer(config, row):
        return row["outputs"][0] if depths[config, row["index"]] < 0.5 else ""

    run = write_run(answer, configs=["niah_single_2_4k", "niah_single_2_8k"])
    for cell in score(read(run), frozen, ScoringRules()).results["configurations"].values():
        for bin in cell["depth"]:
            assert bin["score"] in (None, 100 if bin["depth"][0] < 0.5 else 0)
