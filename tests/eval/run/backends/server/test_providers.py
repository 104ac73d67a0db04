"""What each provider is sent is what it takes, tried against a server that refuses all else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.backends.server.requests import provider_for, providers
from ruler_eval.run.options import RunOptions
from ruler_eval.run.records import read_lines
from ruler_eval.run.runner import run
from tests.eval.run.backends.strict_server import RULES, strict_server
from tests.eval.run.run_options import model_options

CONTINUE = ("mistral", "sglang", "llama_cpp")
REFUSE = ("openai_reasoning", "azure_reasoning", "anthropic", "gemini", "mistral")
"""Providers that answer no request with the fields that an unknown server is sent."""


@pytest.fixture
def order(small: Path, tmp_path: Path) -> RunOptions:
    options = model_options("m", timeout=20.0)
    return replace(
        options,
        dataset=str(small),
        configs=("vt_4k",),
        backend="openai",
        out=tmp_path / "RUN",
        limit=1,
    )


def at(order: RunOptions, url: str, **options: Any) -> RunOptions:
    return replace(order, base_url=url, **options)


def record_in(order: RunOptions) -> dict[str, Any]:
    (record,) = read_lines(order.out / "vt_4k.jsonl")
    return {**record}


@pytest.mark.parametrize("name", RULES)
def test_a_provider_answers_and_its_requests_are_kept(order: RunOptions, name: str) -> None:
    with strict_server(RULES[name]) as (url, requests):
        found = RULES[name].owner != "system"  # by what its /models says
        assert run(at(order, url, provider=None if found else name)).total == {"stop": 1}
    kept = json.loads((order.out / "run.json").read_text())
    (sent,) = requests
    assert kept["backend_version"] == name
    assert kept["mode"] == ("prefill" if name in CONTINUE else "chat")
    fixed = {key: value for key, value in sent.items() if key not in ("model", "messages")}
    known = {**kept["sent"], **kept["request"]}
    assert sent[known.pop("limit")] == 30
    turn = {"add_generation_prompt", "continue_final_message"}
    assert {*fixed} - turn == {*known, kept["sent"]["limit"]}
    record = record_in(order)
    assert record["prediction"] == "an answer"
    if name in ("sglang", "llama_cpp", "ollama"):
        assert record["thinking"] == "let me see"


@pytest.mark.parametrize("name", REFUSE)
def test_without_its_entry_it_refuses(order: RunOptions, name: str) -> None:
    with strict_server(RULES[name]) as (url, _):
        assert run(at(order, url)).total == {"error": 1}
    assert "Unsupported parameter" in record_in(order)["error"] or name == "anthropic"


def test_omitted_fields_are_not_sent(order: RunOptions) -> None:
    omit = ("temperature", "top_p", "seed")
    with strict_server(RULES["openai_reasoning"]) as (url, requests):
        run(at(order, url, omit=omit))
    (sent,) = requests
    assert not {*omit} & {*sent}
    assert json.loads((order.out / "run.json").read_text())["sent"] == {"limit": "max_tokens"}


@pytest.mark.parametrize("name", [name for name in RULES if name not in CONTINUE])
def test_prefill_is_refused_with_its_source(order: RunOptions, name: str) -> None:
    with strict_server(RULES[name]) as (url, _):
        wrong = replace(at(order, url, provider=name), mode="prefill")
        with pytest.raises(RulerError, match=r"does not continue an .* \(https://.*--mode chat"):
            run(wrong)


def test_mistrals_parts_of_thinking_are_reasoning(order: RunOptions) -> None:
    with strict_server(RULES["mistral"]) as (url, _):
        run(replace(at(order, url, provider="mistral"), mode="chat"))
    assert record_in(order)["thinking"] == "let me see"
    assert record_in(order)["prediction"] == "an answer"


def test_what_it_does_not_take_is_refused_before_a_row(order: RunOptions) -> None:
    with strict_server(RULES["openai_reasoning"]) as (url, requests):
        asked = at(order, url, provider="openai_reasoning")
        with pytest.raises(RulerError, match=r"takes no temperature.*leave --temperature out"):
            run(at(asked, url, temperature=0.7))
        with pytest.raises(RulerError, match="reads no raw prompts"):
            run(replace(asked, mode="completion"))
        with pytest.raises(RulerError, match=r"Unknown provider 'mistrall'.*'mistral'"):
            run(at(order, url, provider="mistrall"))
        with pytest.raises(RulerError, match=r"--omit takes temperature, top_p, .*, seed, not 'n'"):
            run(at(order, url, omit=("n",)))
    assert requests == []


@pytest.mark.parametrize(
    ("host", "model", "name"),
    [
        ("api.openai.com", "o3-mini", "openai_reasoning"),
        ("api.openai.com", "gpt-5.1", "openai_reasoning"),
        ("api.openai.com", "gpt-4o", "openai"),
        ("eu.api.openai.com", "gpt-4.1", "openai"),
        ("me.openai.azure.com", "o4-mini", "azure_reasoning"),
        ("me.openai.azure.com", "our-model", "azure"),
        ("api.mistral.ai", "magistral", "mistral"),
        ("notopenai.com", "o3", "unknown"),
        ("127.0.0.1", "o3", "unknown"),
    ],
)
def test_a_provider_is_found_by_host_and_model(host: str, model: str, name: str) -> None:
    assert provider_for(None, host, ["system"], model).name == name


def test_every_entry_names_its_documentation_and_is_tried() -> None:
    table = providers()
    assert {*table} - {"unknown", "vllm"} == {*RULES}
    for name, one in table.items():
        assert name == "unknown" or all(source.startswith("https://") for source in one.sources)
        assert (one.sources == ()) == (name == "unknown")
