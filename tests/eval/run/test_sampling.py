"""How a run samples: greedily, by flags or by a generation_config.json; several samples."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.options import RunOptions
from ruler_eval.run.records import Records, read_records
from ruler_eval.run.runner import run
from ruler_eval.run.sampling import choose_sampling, read_generation_config
from tests.eval.run import tiny_model
from tests.eval.run.run_options import model_options
from tests.model_server import MODEL, VLLM, Reply, Request, answer, model_server

pytestmark = pytest.mark.skipif(
    find_spec("transformers") is None, reason="the openai extra is not installed"
)
QWEN3 = {"do_sample": True, "temperature": 0.6, "top_k": 20, "top_p": 0.95}
"""From the generation_config.json of Qwen3."""


@pytest.mark.parametrize(
    ("config", "temperature"),
    [
        ({"do_sample": True}, 1.0),  # as gpt-oss's
        ({"do_sample": True, "temperature": 0.6}, 0.6),
        ({"eos_token_id": 2}, 0.0),
        ({"do_sample": False, "temperature": 0.6}, 0.0),
    ],
)
def test_a_model_is_sampled_as_its_generation_config_says(tmp_path, config, temperature):
    (tmp_path / "generation_config.json").write_text(json.dumps(config), encoding="utf-8")
    options = RunOptions("r", configs="vt_4k", backend="oracle", out="RUN", thinking="on")
    sampling = choose_sampling(options, lambda: read_generation_config(str(tmp_path)))
    assert sampling.values["temperature"] == temperature


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer's folder with the generation_config.json of a model that reasons."""
    folder = tmp_path_factory.mktemp("model")
    tiny_model.write_tokenizer(folder)
    (folder / "generation_config.json").write_text(json.dumps(QWEN3))
    return folder


@pytest.fixture
def options(small: Path, tmp_path: Path) -> RunOptions:
    return model_options(dataset=small, configs="vt_4k", out=tmp_path / "RUN", limit=1)


def sent(options: RunOptions, **model: Any) -> dict[str, Any]:
    """Run one row and return the request that was sent, without its prompt."""
    with model_server(models=[{**VLLM, **model}]) as server:
        run(replace(options, base_url=server.url))
        return server.requests[-1].body


def recorded(options: RunOptions) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((options.folder / "run.json").read_text())["sampling"]
    return result


def test_a_run_is_greedy_and_turns_other_samplers_off(options):
    body = sent(options)
    fields = ("temperature", "top_p", "seed", "top_k", "min_p", "repetition_penalty")
    assert [body[name] for name in fields] == [0.0, 1.0, 0, -1, 0.0, 1.0]
    assert recorded(options) == {"temperature": 0.0, "top_p": 1.0, "seed": 0}


@pytest.mark.parametrize("by", ["tokenizer", "root"])
def test_a_reasoning_run_samples_as_the_generation_config_says(options, model, by, capfd):
    asked = replace(options, thinking="on", progress=True)
    asked = replace(asked, tokenizer=str(model)) if by == "tokenizer" else asked
    body = sent(asked, root=str(model) if by == "root" else "/on/another/machine")
    assert [body[name] for name in ("temperature", "top_p", "top_k")] == [0.6, 0.95, 20]
    assert [body["min_p"], body["repetition_penalty"]] == [0.0, 1.0]
    assert recorded(options) == {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "seed": 0}
    error = " ".join(capfd.readouterr().err.split())
    assert "temperature 0.6" in error
    assert "(the model's generation_config.json)" in error


def test_flags_override_the_generation_config(options, model):
    flags = {"temperature": 0.9, "top_k": 7, "min_p": 0.1, "presence_penalty": 1.5}
    body = sent(replace(options, thinking="on", tokenizer=str(model), **flags))
    assert {name: body[name] for name in flags} == flags
    assert body["top_p"] == 0.95
    assert recorded(options) == {**flags, "top_p": 0.95, "seed": 0}


def test_a_greedy_reasoning_run_prints_a_warning(options, model, capfd):
    asked = replace(options, thinking="on", tokenizer=str(model), temperature=0.0, progress=True)
    assert sent(asked)["temperature"] == 0.0
    assert "Warning: the model reasons with temperature 0" in capfd.readouterr().err


def test_without_a_generation_config_the_server_chooses_the_samplers(options, capfd):
    body = sent(replace(options, thinking="on", progress=True), root="/on/another/machine")
    assert not {"temperature", "top_p", "top_k", "min_p"} & set(body)
    assert recorded(options)["temperature"] == "the server's default"
    assert "Sampling: the server's defaults" in " ".join(capfd.readouterr().err.split())


def test_a_sampler_that_a_provider_does_not_have_is_refused(options):
    with (
        model_server(models=[MODEL]) as server,
        pytest.raises(RulerError, match=r"OpenAI does not accept top_k .*: leave --top-k out\."),
    ):
        run(replace(options, base_url=server.url, provider="openai", top_k=3))


def test_a_budget_of_reasoning_tokens_is_sent_to_vllm(options):
    assert sent(replace(options, thinking="50"))["thinking_token_budget"] == 50
    kept = json.loads((options.folder / "run.json").read_text())
    assert kept["thinking_token_budget"] is True


def test_a_server_that_refuses_a_budget_gets_none_and_the_run_says_so(options, capfd):
    """vLLM without a parser of reasoning refuses every request that has a budget."""

    def reply(request: Request) -> Reply:
        message = {"error": {"message": "thinking_token_budget is set but reasoning_config is not"}}
        return Reply(400, message) if "thinking_token_budget" in request.body else answer()

    with model_server(reply, models=[VLLM]) as server:
        asked = replace(options, base_url=server.url, thinking="50", progress=True)
        assert run(asked).total == {"stop": 1}
    error = " ".join(capfd.readouterr().err.split())
    assert "does not enforce a budget of reasoning tokens" in error
    assert "start it with --reasoning-parser" in error


def test_every_sample_of_a_row_has_its_own_seed_and_record(options):
    asked = replace(options, repeats=3, temperature=0.7, seed=5, limit=2)
    with model_server(lambda request: answer(str(request.body["seed"]))) as server:
        summary = run(replace(asked, base_url=server.url, concurrency=1))
        bodies = [request.body for request in server.requests]
    assert summary.total == {"stop": 6}
    assert [body["seed"] for body in bodies] == [5, 6, 7] * 2
    assert bodies[0]["messages"] == bodies[2]["messages"]  # one after another: a cached prefix
    lines = list(read_records(options.folder / "answers.jsonl"))
    keys = [(line["index"], line["sample"]) for line in lines]
    assert keys == sorted(keys)
    assert {line["sample"]: line["prediction"] for line in lines} == {0: "5", 1: "6", 2: "7"}
    assert json.loads((options.folder / "run.json").read_text())["repeats"] == 3


def test_only_the_samples_that_are_missing_are_run(options):
    asked = replace(options, repeats=3, temperature=0.7, limit=None)
    with model_server() as server:
        asked = replace(asked, base_url=server.url)
        run(asked)
        path = options.folder / "answers.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:7] + lines[8:]) + '{"config": "vt_4k", "ind')
        server.requests.clear()
        assert run(asked).total == {"stop": 15}
        assert len(server.requests) == 1
    assert len(list(Records(options.folder).read())) == 15
    with pytest.raises(RulerError, match="was run with repeats = 3, not 1"):
        run(replace(asked, repeats=1))
