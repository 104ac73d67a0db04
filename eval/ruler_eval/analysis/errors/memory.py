"""What a model answers without documents: wrong answers that repeat it were not read in any.

RULER (arXiv:2404.06654), section 5, calls these hallucinations of question answering in long
contexts. A suite's tasks with `no_documents` ask the same questions at `0k`, and a run that holds
them shows how many wrong answers are the model's own from memory:

    known = answers_from_memory(answers, release)["squad"]
    known[7]                                              # "In 1066."
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ruler_eval.frozen_release import Release
from ruler_eval.prediction import Prediction
from ruler_score.split_reasoning import split_reasoning


def answers_from_memory(
    answers: Mapping[str, Mapping[int, Prediction]], release: Release
) -> dict[str, dict[int, str]]:
    """By the questions' data set, then by row: the answers to tasks without documents.

    `answers` are by configuration, then by row.
    """
    return {
        str(params["dataset"]): {
            index: split_reasoning(answer.text).answer
            for index, answer in given.items()
            if not answer.failed
        }
        for name, given in answers.items()
        if (params := _parameters(name, release)).get("no_documents")
    }


def memory_of(
    name: str, release: Release, known: Mapping[str, Mapping[int, str]]
) -> Mapping[int, str]:
    """The model's own answers to a configuration's questions; none for one without documents."""
    params = _parameters(name, release)
    return {} if params.get("no_documents") else known.get(str(params.get("dataset")), {})


def _parameters(name: str, release: Release) -> Mapping[str, Any]:
    tasks = release.manifest["tasks"]
    found = tasks.get(release.parse(name).task) if isinstance(tasks, Mapping) else None
    return found if isinstance(found, Mapping) else {}
