"""A chat template that opens a block of reasoning, through vLLM's own parser of it.

The model is the tiny one, whose vocabulary gets the two marks; vLLM ends its reasoning after a
number of tokens (`thinking_token_budget`), since such a model never does.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.run.records import Record, read_records
from ruler_eval.run.runner import run
from tests.eval.run.tiny_model import make_thinker
from tests.vllm.serving import served

pytest.importorskip("vllm.version", reason="vLLM has its own environment: setup.sh")
pytestmark = [pytest.mark.vllm, pytest.mark.nightly]
MAX_THINKING, ENDS = 64, 20
"""Tokens that a row may use for reasoning, and after which vLLM ends it."""


@pytest.fixture(scope="module")
def thinker(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_thinker(tiny, tmp_path_factory.mktemp("thinker"))


@pytest.fixture(scope="module")
def thinking_server(thinker: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    flags = ["--dtype", "float32", "--max-num-seqs", "4", "--max-model-len", "4096"]
    flags += ["--reasoning-parser", "qwen3"]
    yield from served(thinker, "thinks", tmp_path_factory.mktemp("thinking"), flags)


def answered(
    order: Any, url: str, thinking: str, stream: bool = False, **arguments: int
) -> list[Record]:
    """The records of a run in chat mode, all of whose rows were answered."""
    options = replace(order, model="thinks", backend="openai", base_url=url, mode="chat")
    options = replace(options, thinking=thinking, engine_args=arguments, stream=stream)
    total = run(options).total
    assert total["error"] == total["does_not_fit"] == 0
    return [record for path in sorted(order.out.glob("*.jsonl")) for record in read_records(path)]


@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_that_ends_is_kept_apart_from_the_answer(order, thinking_server, stream):
    result = answered(order, thinking_server, str(ENDS), stream)
    for record in result:
        assert record["thinking"]
        assert record["thinking_ended"] is True
        assert record["prediction"]
        assert "think>" not in record["prediction"] + record["thinking"]
        assert record["usage"]
        assert 0 < record["usage"]["thinking_tokens"] < record["usage"]["completion_tokens"]


def test_reasoning_that_does_not_end_leaves_no_answer(order, thinking_server):
    for record in answered(order, thinking_server, str(MAX_THINKING), thinking_token_budget=1000):
        assert record["thinking"]
        assert (record["prediction"], record["finish_reason"]) == ("", "length")
        assert record["thinking_ended"] is False


def test_without_reasoning_the_template_closes_the_block_and_all_is_answer(order, thinking_server):
    for record in answered(order, thinking_server, "off"):
        assert record["prediction"]
        assert (record["thinking"], record["thinking_ended"]) == (None, None)


def test_a_started_server_uses_the_generation_config_and_the_budget(order, thinker, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(thinker, model)
    makers = {"do_sample": True, "temperature": 0.6, "top_k": 20, "top_p": 0.95}
    (model / "generation_config.json").write_text(json.dumps(makers))
    arguments = {**order.engine_args, "reasoning_parser": "qwen3"}
    asked = replace(
        order, model=str(model), mode="chat", thinking=str(ENDS), limit=1, engine_args=arguments
    )
    run(asked)
    for path in order.folder.glob("*.jsonl"):
        for record in read_records(path):
            assert record["thinking_ended"] is True
            assert record["usage"]
            assert record["usage"]["thinking_tokens"] <= ENDS + 2  # the marks of reasoning
    kept = json.loads((order.folder / "run.json").read_text())
    assert kept["sampling"] == {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "seed": 0}
    assert kept["thinking_token_budget"] is True


def test_a_started_server_without_a_parser_uses_all_tokens(order, thinker, capsys):
    """Without a parser of reasoning vLLM does not end it, which the run says at its start."""
    asked = replace(
        order, model=str(thinker), mode="chat", thinking=str(MAX_THINKING), temperature=0
    )
    summary = run(replace(asked, limit=1, progress=True))
    output = " ".join(capsys.readouterr().err.split())
    assert f"--thinking {MAX_THINKING} only allows for them" in output
    assert "with --backend vllm: --engine-arg reasoning_parser=NAME" in output
    assert "Warning: the model reasons with temperature 0" in output
    assert summary.unfinished.total() == 2
    for path in order.folder.glob("*.jsonl"):
        for record in read_records(path):
            assert record["thinking"]
            assert (record["prediction"], record["finish_reason"]) == ("", "length")
            assert record["thinking_ended"] is False
            assert record["usage"]
            assert record["usage"]["completion_tokens"] > MAX_THINKING
    assert json.loads((order.folder / "run.json").read_text())["thinking_token_budget"] is False
