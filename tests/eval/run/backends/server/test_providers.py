"""What each provider is sent is what it takes, tried against a server that refuses all else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.backends.server.requests import provider_for, providers
from ruler_eval.run.options import RunOptions
from ruler_eval.run.records import read_lines
from ruler_eval.run.runner import run
from tests.eval.run.run_options import model_options
from tests.model_server import ModelServer, Reply, Request, model_server

CHAT = {"model", "messages", "stream", "stream_options"}
OPENAI = CHAT | {"max_completion_tokens", "seed"}
SAMPLING = {"temperature", "top_p", "seed"}


@dataclass(frozen=True)
class Rules:
    """What a provider takes: fields, and whether the last turn may be the assistant's.

    `last` is what the last turn must have for that (None: never), which an answer `repeats`.
    `owner` is what /models says. Written by hand, and not read from providers.toml; no provider
    was asked.
    """

    fields: set[str]
    status: int = 400
    last: dict[str, Any] | None = None
    owner: str = "system"
    reply: dict[str, Any] = field(default_factory=dict)
    not_both: tuple[str, str] | None = None
    thinking_off: bool = False
    repeats: bool = False


ENGINE = CHAT | SAMPLING | {"max_tokens", "top_k", "min_p", "chat_template_kwargs"}
RULES = {
    "openai_reasoning": Rules(OPENAI),
    "openai": Rules(OPENAI | SAMPLING),
    "azure_reasoning": Rules(OPENAI),
    "azure": Rules(OPENAI | SAMPLING),
    "anthropic": Rules(
        CHAT | SAMPLING | {"max_tokens", "max_completion_tokens"}, not_both=("temperature", "top_p")
    ),
    "gemini": Rules(CHAT | {"temperature", "top_p", "max_tokens", "max_completion_tokens"}),
    "mistral": Rules(
        CHAT - {"stream_options"} | {"temperature", "top_p", "random_seed", "max_tokens"},
        status=422,
        last={"prefix": True},
        repeats=True,
        reply={
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "let me see"}]},
                {"type": "text", "text": "an answer"},
            ]
        },
    ),
    "sglang": Rules(
        ENGINE | {"repetition_penalty", "continue_final_message", "add_generation_prompt"},
        last={},
        owner="sglang",
        reply={"content": "an answer", "reasoning_content": "let me see"},
    ),
    "llama_cpp": Rules(
        ENGINE | {"repeat_penalty"},
        last={},
        owner="llamacpp",
        repeats=True,
        reply={"content": "an answer", "reasoning_content": "let me see"},
        thinking_off=True,
    ),
    "llama_cpp_python": Rules(
        CHAT | SAMPLING | {"max_tokens", "top_k", "min_p", "repeat_penalty"}, owner="me"
    ),
    "ollama": Rules(
        CHAT | SAMPLING | {"max_tokens"},
        owner="library",
        reply={"content": "an answer", "reasoning": "let me see"},
    ),
}


def refused(rules: Rules, request: dict[str, Any]) -> str | None:
    """Why a request is refused; None where it is answered."""
    if unknown := sorted({*request} - rules.fields):
        return f"Unsupported parameter: '{unknown[0]}'"
    if rules.not_both and {*rules.not_both} <= {*request}:
        return f"{' and '.join(rules.not_both)} cannot both be specified"
    last = request["messages"][-1]
    if last["role"] != "assistant":
        return None
    if rules.last is None or any(last.get(name) != value for name, value in rules.last.items()):
        return "the last message must be the user's"
    thinking = request.get("chat_template_kwargs", {}).get("enable_thinking", True)
    if rules.thinking_off and thinking:
        return "a turn cannot be continued with thinking on"
    return None


@contextmanager
def strict_server(rules: Rules) -> Iterator[ModelServer]:
    """Serve a model that keeps these rules."""

    def reply(request: Request) -> Reply:
        if why := refused(rules, request.body):
            return Reply(rules.status, {"error": {"message": why}})
        message = {"role": "assistant", "content": "an answer", **rules.reply}
        last = request.body["messages"][-1]
        if rules.repeats and last["role"] == "assistant":  # it answers with the whole turn
            message["content"] = last["content"] + "an answer"
        return Reply(200, {"choices": [{"finish_reason": "stop", "message": message}]})

    with model_server(reply, models=[{"id": "m", "owned_by": rules.owner}]) as server:
        yield server


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
def test_a_provider_answers_and_its_requests_are_kept(order, name):
    with strict_server(RULES[name]) as server:
        result = RULES[name].owner != "system"  # by what its /models says
        assert run(at(order, server.url, provider=None if result else name)).total == {"stop": 1}
    kept = json.loads((order.out / "run.json").read_text())
    (sent,) = (request.body for request in server.requests)
    assert kept["backend_version"] == name
    assert kept["mode"] == ("prefill" if name in CONTINUE else "chat")
    fixed = {key: value for key, value in sent.items() if key not in ("model", "messages")}
    expected = {**kept["sent"], **kept["request"]}
    assert sent[expected.pop("limit")] == 30
    turn = {"add_generation_prompt", "continue_final_message"}
    assert {*fixed} - turn == {*expected, kept["sent"]["limit"]}
    record = record_in(order)
    assert record["prediction"] == "an answer"
    if name in ("sglang", "llama_cpp", "ollama"):
        assert record["thinking"] == "let me see"


@pytest.mark.parametrize("name", REFUSE)
def test_without_its_entry_it_refuses(order, name):
    with strict_server(RULES[name]) as server:
        assert run(at(order, server.url)).total == {"error": 1}
    assert "Unsupported parameter" in record_in(order)["error"] or name == "anthropic"


def test_omitted_fields_are_not_sent(order):
    omit = ("temperature", "top_p", "seed")
    with strict_server(RULES["openai_reasoning"]) as server:
        run(at(order, server.url, omit=omit))
    (sent,) = (request.body for request in server.requests)
    assert not {*omit} & {*sent}
    assert json.loads((order.out / "run.json").read_text())["sent"] == {"limit": "max_tokens"}


@pytest.mark.parametrize("name", [name for name in RULES if name not in CONTINUE])
def test_prefill_is_refused_with_its_source(order, name):
    with strict_server(RULES[name]) as server:
        wrong = replace(at(order, server.url, provider=name), mode="prefill")
        with pytest.raises(RulerError, match=r"does not continue an .* \(https://.*--mode chat"):
            run(wrong)


def test_what_it_does_not_take_is_refused_before_a_row(order):
    with strict_server(RULES["openai_reasoning"]) as server:
        asked = at(order, server.url, provider="openai_reasoning")
        with pytest.raises(
            RulerError, match=r"does not accept temperature.*leave --temperature out"
        ):
            run(at(asked, server.url, temperature=0.7))
        with pytest.raises(RulerError, match="does not accept raw prompts"):
            run(replace(asked, mode="completion"))
        with pytest.raises(RulerError, match=r"Unknown provider 'mistrall'.*'mistral'"):
            run(at(order, server.url, provider="mistrall"))
        with pytest.raises(RulerError, match=r"--omit takes temperature, top_p, .*, seed, not 'n'"):
            run(at(order, server.url, omit=("n",)))
    assert server.requests == []


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
def test_a_provider_is_found_by_host_and_model(host, model, name):
    assert provider_for(None, host, ["system"], model).name == name


def test_every_entry_names_its_documentation_and_is_tried():
    table = providers()
    assert {*table} - {"unknown", "vllm"} == {*RULES}
    for name, item in table.items():
        assert name == "unknown" or all(source.startswith("https://") for source in item.sources)
        assert (item.sources == ()) == (name == "unknown")
