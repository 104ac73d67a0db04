"""A release of a task family that is not known here is one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ruler_common.names import Config
from tests.eval.run.small_release import full_row
from tests.eval.scoring_helpers import ruler
from tests.hand_written import whole, write_file

ROWS = 4


def row(index: int, sentences: int, task: str) -> dict[str, Any]:
    """Of numbered animals, what the n-th does."""
    head, text = "Memorize the sentences. ", [f"Fox {i}-{index} runs" for i in range(sentences)]
    context = ". ".join(text) + "."
    asked, place = text[-2], context.index(text[-2])
    span = {"start": len(head) + place, "end": len(head) + place + len(asked), "answer": True}
    question = f"Question: What is sentence {sentences - 1}?"
    known = {
        "input": f"{head}{context} {question}",
        "answer_prefix": " Answer:",
        "outputs": [asked],
        "max_new_tokens": 16,
        "context_start": len(head),
        "context_end": len(head) + len(context),
        "question": question,
        "evidence": [{**span, "depth": place / len(context)}],
    }
    return full_row(known, index, task, 4096)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Two tasks of a family that no table has."""
    tasks = {"copy_few": 6, "copy_many": 60}
    files = {}
    for task, sentences in tasks.items():
        config = Config("ruler", task, "4k")
        rows = [row(index, sentences, task) for index in range(ROWS)]
        files[config.path] = write_file(tmp_path / "toy", config, rows)
    described = {t: {"family": "copied_sentence", "sentences": n} for t, n in tasks.items()}
    manifest = {"format": 1, "dataset": "ruler", "groups": {}, "tasks": described, "files": files}
    (tmp_path / "toy/manifest.json").write_text(json.dumps(whole(manifest)), encoding="utf-8")
    return tmp_path / "toy"


@pytest.mark.parametrize(
    "command",
    [
        "score RUN --dataset {release}",
        "errors RUN --dataset {release}",
        "show copy_few_4k 0 --dataset {release} --run RUN",
        "export {release} --format lm-eval --to tasks",
        "export {release} --format lighteval --to tasks",
        "export {release} --format nemo --to tasks",
    ],
)
def test_a_family_that_is_not_known_is_one_sentence(
    command: str, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answering = ("run", "--dataset", release, "--configs", "all", "--backend", "oracle")
    assert ruler(*answering, "--out", "RUN")[2] == 0
    _, error, code = ruler(*command.format(release=release).split())
    assert code == 2
    assert "of family 'copied_sentence', which is not known here (known: niah," in " ".join(
        error.split()
    )
