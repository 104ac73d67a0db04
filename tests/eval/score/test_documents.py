"""Rows that ask about one document are a cluster: counted, marked, and part of the intervals."""

from __future__ import annotations

import numpy as np
import pytest

from ruler_eval.frozen_release import Release
from ruler_eval.score import intervals
from ruler_eval.score.results import documents_of, load, rows_by_config
from tests.eval.scoring_helpers import right
from tests.in_process import ruler, ruler_output


@pytest.fixture
def scored(write_run):
    """A run whose qa answers are right for the rows of the first row's document alone."""

    def answer(config, row):
        return right(config, row) if "qa" not in config or row["index"] < 3 else "?"

    run = write_run(answer)
    ruler_output("score", run)
    return run, load(run / "results.json")


def documents_in(root, config):
    """The rows' documents, read here: the texts of their evidence."""
    rows = Release.open(str(root)).rows(config, ("input", "evidence"))
    return [
        tuple(sorted(row["input"][e["start"] : e["end"]] for e in row["evidence"])) for row in rows
    ]


def test_the_rows_of_a_document_have_one_digest_at_every_length(scored, built):
    documents = documents_of(scored[1])
    texts = documents_in(built, "qa_1_4k")
    marked = list(documents["qa_1_4k"].values())
    assert len(set(marked)) == len(set(texts)) < len(texts)
    assert len(set(zip(marked, texts, strict=True))) == len(set(texts))
    assert {*documents} == {"qa_1_4k", "qa_1_8k"}
    assert all(list(result.values()) == marked for result in documents.values())


def test_the_interval_and_the_mean_take_documents_into_account(scored):
    run, results = scored
    cell = results["configurations"]["qa_1_4k"]
    rows = rows_by_config(results)
    as_if_apart = intervals.percent(
        [intervals.Stratum.from_rows(np.array([*rows.scores["qa_1_4k"].values()]))]
    )
    assert cell["design_effect"] > 1
    assert cell["documents"] == len(set(rows.documents["qa_1_4k"].values()))
    low, high = cell["interval"]
    assert low <= as_if_apart[0] < as_if_apart[1] <= high
    assert high - low > as_if_apart[1] - as_if_apart[0]
    stdout, _, _ = ruler("score", run, "--all")
    table = stdout.partition("Rows that share documents")[2]
    line = next(line for line in table.splitlines() if line.startswith("qa_1_4k "))
    assert line.split()[1:3] == [str(cell["n"]), str(cell["documents"])]


def test_rows_that_share_nothing_are_not_marked(scored):
    documents = documents_of(scored[1])
    for name, cell in scored[1]["configurations"].items():
        shares = cell["task"] == "qa_1"
        assert (name in documents) == ("design_effect" in cell) == shares
