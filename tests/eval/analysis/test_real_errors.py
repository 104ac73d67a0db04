"""Real wrong answers, each read by a person: how often the rules give the kind that was read.

tests/eval/data/wrong_answers.tsv holds the readings, stratified by task. What the rules need of a
context is not in the published files: what may be a distractor's value was read as `other` there.
Of the run in ruler_eval/example its references hold what is needed of the rows.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

import ruler_eval.example
from ruler_eval.analysis.error_kinds import error_of
from ruler_eval.analysis.prompt_rows import row_of_prompt
from ruler_eval.families.table import family_of
from ruler_eval.score.config_naming import Naming
from ruler_eval.score.prediction_files import read
from ruler_eval.score.prediction_source import PredictionSource
from ruler_eval.score.reference_answers import add_references
from tests.eval import real_predictions as real

READINGS = Path(__file__).parents[1] / "data/wrong_answers.tsv"
LEAST = 0.92
OWN = "smollm2"


def readings():
    """(sample, source, task, row, kind) of every answer that was read."""
    lines = [line for line in READINGS.read_text().splitlines() if not line.startswith("#")]
    return [tuple(row.values()) for row in csv.DictReader(lines, delimiter="\t")]


@pytest.fixture(scope="module")
def answers():
    """(source, task, row) -> prediction with its references and question."""
    found = {}
    for ratio, run in real.kvpress_runs().items():
        for row in read([run], Naming()).rows:
            found[f"kvpress_{ratio}", row.config.removesuffix("_4k"), row.index] = row
    root = real.folder() / real.REFERENCE
    for length in ("4096", "8192"):
        predictions = read([root / "synthetic" / length], Naming())
        add_references(predictions, root / "references")
        for row in predictions.rows:
            task = row.config.rpartition("_")[0]
            found[f"reference_{length}", task, row.index] = row
    return found


def kind(answer, task):
    row = {"input": "", "outputs": list(answer.outputs), "context_start": 0, "context_end": 0}
    row |= {"evidence": [], "none_word": "", "question": answer.question or ""}
    return error_of(row, answer, task).kind


def test_over_two_hundred_answers_of_every_task_were_read():
    read_rows = readings()
    assert len(read_rows) >= 200
    assert len({row[1:4] for row in read_rows}) == len(read_rows)
    assert len({task for _, _, task, _, _ in read_rows}) == 13
    assert min(Counter(task for _, _, task, _, _ in read_rows).values()) >= 8


@pytest.mark.parametrize("sample", ["first", "held_out"])
def test_the_rules_give_the_kind_that_was_read(answers, sample):
    rows = [row for row in readings() if row[0] == sample and row[1] != OWN]
    other = [
        (source, task, number, read_as, found)
        for _, source, task, number, read_as in rows
        if (found := kind(answers[source, task, int(number)], task)) != read_as
    ]
    assert len(other) <= (1 - LEAST) * len(rows), other


@pytest.mark.parametrize("sample", ["first", "held_out"])
def test_the_rules_give_the_kind_that_was_read_in_a_run_with_its_rows(sample):
    example = Path(ruler_eval.example.__file__).parent
    source = PredictionSource(references=example / "references")
    predictions, _ = source.open([example / "run"], keep_prompts=True)
    given = {(row.config, row.index): row for row in predictions.rows}
    rows = [row for row in readings() if row[0] == sample and row[1] == OWN]
    assert len(rows) >= 16
    other = []
    for _, _, task, number, read_as in rows:
        answer = given[f"{task}_4k_smollm2", int(number)]
        row = row_of_prompt(
            answer.known_prompt, answer.outputs, family_of(task, "ruler"), answer.columns
        )
        error = error_of(row, answer, task)
        if error is None or error.kind != read_as:
            other.append((task, number, read_as, error))
    assert len(other) <= (1 - LEAST) * len(rows), other
