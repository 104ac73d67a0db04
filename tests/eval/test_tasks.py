"""The table of tasks: the benchmarks' tasks, custom ones, and those of an unknown family."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ruler_common.names import Config
from ruler_eval.tasks import FAMILIES, family_of, scoring_task
from ruler_score.ruler_score import ONERULER_TASKS, RULER_TASKS
from tests.eval.run.small_release import full_row
from tests.hand_written import write_release
from tests.in_process import ruler_error, ruler_output

ROWS = 4
BENCHMARKS = {"ruler": RULER_TASKS, "oneruler": ONERULER_TASKS}


def row(index: int, sentences: int, task: str) -> dict[str, Any]:
    """Of numbered animals, what the n-th does."""
    head, text = "Memorize the sentences. ", [f"Fox {i}-{index} runs" for i in range(sentences)]
    context = ". ".join(text) + "."
    asked, place = text[-2], context.index(text[-2])
    span = {"start": len(head) + place, "end": len(head) + place + len(asked), "answer": True}
    question = f"Question: What is sentence {sentences - 1}?"
    expected = {
        "input": f"{head}{context} {question}",
        "answer_prefix": " Answer:",
        "outputs": [asked],
        "max_new_tokens": 16,
        "context_start": len(head),
        "context_end": len(head) + len(context),
        "question": question,
        "evidence": [{**span, "depth": place / len(context)}],
    }
    return full_row(expected, index, task, 4096)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Two tasks of a family that no table has."""
    tasks = {"copy_few": 6, "copy_many": 60}
    tables = {
        Config("ruler", task, "4k"): [row(index, sentences, task) for index in range(ROWS)]
        for task, sentences in tasks.items()
    }
    described = {t: {"family": "copied_sentence", "sentences": n} for t, n in tasks.items()}
    return write_release(tmp_path / "toy", tables, tasks=described)


@pytest.mark.parametrize(
    "command",
    [
        "score RUN --dataset {release}",
        "show copy_few_4k 0 --dataset {release} --run RUN",
        "export {release} --format lm-eval --to tasks",
    ],
)
def test_a_family_that_is_not_known_is_one_sentence(command, release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answering = ("run", "--dataset", release, "--configs", "all", "--backend", "oracle")
    ruler_output(*answering, "--out", "RUN")
    error = ruler_error(*command.format(release=release).split())
    assert "its family 'copied_sentence' is unknown (known: niah," in " ".join(error.split())


@pytest.mark.parametrize("dataset", BENCHMARKS)
def test_every_task_of_a_benchmark_is_in_one_family_and_has_its_own_rule(dataset):
    families = [family for family in FAMILIES.values() if family.dataset == dataset]
    tasks = [task for family in families for task in family.tasks]
    assert sorted(tasks) == sorted(BENCHMARKS[dataset])
    assert all(scoring_task(task, dataset) == task for task in tasks)


def test_a_task_name_of_both_benchmarks_is_in_the_family_of_the_one_that_is_named():
    assert family_of("niah_multivalue", "ruler") is FAMILIES["niah"]
    assert family_of("niah_multivalue", "oneruler") is FAMILIES["multilingual_niah"]
