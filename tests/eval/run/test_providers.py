"""Each provider gets the fields that it accepts, from a server that refuses all others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.options import RunOptions
from ruler_eval.run.providers import provider_for, providers
from ruler_eval.run.records import read_records
from ruler_eval.run.runner import run
from tests.eval.run.run_options import model_options
from tests.model_server import ModelServer, Reply, Request, model_server

CHAT = {"model", "messages", "stream", "stream_options"}
OPENAI = CHAT | {"max_completion_tokens", "seed"}
SAMPLING = {"temperature", "top_p", "seed"}


@dataclass(frozen=True)
class Rules:
    """What a provider documents; written by hand, not read from providers.toml."""

    fields: set[str]
    """The fields of a request."""
    status: int = 400
    """The status of a refusal."""
    last: dict[str, Any] | None = None
    """What a last turn of the assistant must have; None if there must be no such turn."""
    owner: str = "system"
    """The owner in /v1/models."""
    reply: dict[str, Any] = field(default_factory=dict)
    """The message of an answer."""
    not_both: tuple[str, str] | None = None
    """Fields that exclude each other."""
    thinking_off: bool = False
    """Whether it continues a turn only with thinking off."""
    repeats: bool = False
    """Whether an answer repeats the turn that it continues."""


PENALTIES = {"presence_penalty", "frequency_penalty"}
ENGINE = CHAT | SAMPLING | PENALTIES | {"max_tokens", "top_k", "min_p", "chat_template_kwargs"}
LLAMA_CPP = {
    *("repeat_penalty", "dry_multiplier", "xtc_probability", "typical_p", "top_n_sigma"),
    *("dynatemp_range", "mirostat", "adaptive_target", "samplers"),
}
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
        ENGINE | LLAMA_CPP,
        last={},
        owner="llamacpp",
        repeats=True,
        reply={"content": "an answer", "reasoning_content": "let me see"},
        thinking_off=True,
    ),
    "llama_cpp_python": Rules(
        CHAT
        | SAMPLING
        | PENALTIES
        | {"max_tokens", "top_k", "min_p", "repeat_penalty", "mirostat_mode"},
        owner="me",
    ),
    "lm_studio": Rules(
        CHAT | SAMPLING | PENALTIES | {"max_tokens", "top_k", "repeat_penalty"},
        owner="organization_owner",
    ),
    "tgi": Rules(CHAT | PENALTIES | {"temperature", "seed", "max_tokens"}, status=422),
    "ollama": Rules(
        CHAT | SAMPLING | PENALTIES | {"max_tokens"},
        owner="library",
        reply={"content": "an answer", "reasoning": "let me see"},
    ),
}


def refused(rules: Rules, request: dict[str, Any]) -> str | None:
    """Return why a request is refused; None if it is answered."""
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
ALWAYS_REASON = ("openai_reasoning", "azure_reasoning")


@pytest.fixture
def options(small: Path, tmp_path: Path) -> RunOptions:
    out = tmp_path / "RUN"
    return model_options(dataset=small, configs="vt_4k", out=out, limit=1, timeout=20.0)


def at(options: RunOptions, url: str, **changes: Any) -> RunOptions:
    """Return the options of a run on a server."""
    return replace(options, base_url=url, **changes)


def record_in(options: RunOptions) -> dict[str, Any]:
    (record,) = read_records(options.out / "answers.jsonl")
    return {**record}


@pytest.mark.parametrize("name", RULES)
def test_each_provider_accepts_its_requests_and_run_json_records_them(options, name):
    with strict_server(RULES[name]) as server:
        is_recognised = RULES[name].owner != "system"  # by the owner in /v1/models
        provider = None if is_recognised else name
        thinking = "on" if name in ALWAYS_REASON else "off"
        asked = at(options, server.url, provider=provider, thinking=thinking)
        assert run(asked).total == {"stop": 1}
    kept = json.loads((options.out / "run.json").read_text())
    (sent,) = (request.body for request in server.requests)
    assert kept["backend_version"] == name
    assert kept["mode"] == ("prefill" if name in CONTINUE else "chat")
    fixed = {key: value for key, value in sent.items() if key not in ("model", "messages")}
    expected = {**kept["sent"], **kept["request"]}
    assert sent[expected.pop("max_tokens_field")] == (8222 if name in ALWAYS_REASON else 30)
    turn = {"add_generation_prompt", "continue_final_message"}
    assert {*fixed} - turn == {*expected, kept["sent"]["max_tokens_field"]}
    record = record_in(options)
    assert record["prediction"] == "an answer"
    if name in ("sglang", "llama_cpp", "ollama"):
        assert record["thinking"] == "let me see"


def test_omitted_fields_are_not_sent(options):
    omit = ("temperature", "top_p", "seed")
    with strict_server(RULES["anthropic"]) as server:
        run(at(options, server.url, omit=omit))
    (sent,) = (request.body for request in server.requests)
    assert not {*omit} & {*sent}
    assert json.loads((options.out / "run.json").read_text())["sent"] == {
        "max_tokens_field": "max_tokens"
    }


@pytest.mark.parametrize("name", [name for name in RULES if name not in CONTINUE])
def test_prefill_is_refused_with_its_source(options, name):
    sentence = r"does not continue an .* \(https://.*--mode chat"
    with strict_server(RULES[name]) as server, pytest.raises(RulerError, match=sentence):
        run(at(options, server.url, provider=name, mode="prefill"))


def test_options_that_a_provider_does_not_support_are_refused(options):
    with strict_server(RULES["openai_reasoning"]) as server:
        asked = at(options, server.url, provider="openai_reasoning")
        with pytest.raises(
            RulerError, match=r"does not accept temperature.*leave --temperature out"
        ):
            run(at(asked, server.url, temperature=0.7))
        with pytest.raises(RulerError, match="does not accept raw prompts"):
            run(replace(asked, mode="completion"))
        with pytest.raises(RulerError, match=r"Unknown provider 'mistrall'.*'mistral'"):
            run(at(options, server.url, provider="mistrall"))
        with pytest.raises(RulerError, match=r"--omit takes temperature, .*, dry_.*, not 'n'"):
            run(at(options, server.url, omit=("n",)))
    assert server.requests == []


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai_reasoning", "m"),
        ("azure_reasoning", "our-deployment"),
        (None, "openai/gpt-5-mini"),
        (None, "gpt-oss:20b"),
        (None, "o3"),
        (None, "deepseek/deepseek-r1"),
        (None, "us.deepseek.r1-v1:0"),
        (None, "openai.gpt-oss-120b-1:0"),
        (None, "anthropic/claude-3.7-sonnet:thinking"),
        (None, "Qwen/Qwen3-30B-A3B-Thinking-2507"),
        (None, "microsoft/Phi-4-reasoning"),
        (None, "deepseek-reasoner"),
        (None, "allenai/Olmo-3-32B-Think"),
        (None, "MiniMaxAI/MiniMax-M2"),
        (None, "google/gemini-2.5-pro"),
        (None, "x-ai/grok-4"),
    ],
)
def test_a_model_that_always_reasons_needs_tokens_for_it(options, provider, model):
    sentence = r"'.*' reasons before it answers.*--thinking 8192.*reasoning_effort=none"
    with model_server(models=[{"id": model, "owned_by": "x"}]) as server:
        asked = at(options, server.url, provider=provider, model=model)
        with pytest.raises(RulerError, match=sentence):
            run(asked)
        assert server.requests == []
        assert run(replace(asked, thinking="100")).total == {"stop": 1}
        off = replace(asked, out=options.out / "off", engine_args={"reasoning_effort": "none"})
        assert run(off).total == {"stop": 1}


@pytest.mark.parametrize(
    "model",
    [
        "gpt-5-chat-latest",
        "grok-4-fast-non-reasoning",
        "olmo",
        "go1",
        "rethink-7b",
        "gemini-2.5-flash",
        "MiniMax-Text-01",
    ],
)
def test_other_models_need_none(options, model):
    with model_server(models=[{"id": model, "owned_by": "x"}]) as server:
        assert run(at(options, server.url, model=model)).total == {"stop": 1}


def test_a_sampler_of_a_provider_can_be_omitted(options):
    with strict_server(RULES["llama_cpp"]) as server:
        run(at(options, server.url, omit=("dry_multiplier", "samplers", "presence_penalty")))
        (sent,) = (request.body for request in server.requests)
    assert {"typical_p", "frequency_penalty"} <= {*sent}
    assert not {"dry_multiplier", "samplers", "presence_penalty"} & {*sent}


def test_a_penalty_that_the_user_sets_is_sent(options):
    with strict_server(RULES["llama_cpp"]) as server:
        run(at(options, server.url, presence_penalty=0.5))
        (sent,) = (request.body for request in server.requests)
    assert (sent["presence_penalty"], sent["frequency_penalty"]) == (0.5, 0.0)


@pytest.mark.parametrize(
    ("host", "model", "name"),
    [
        ("api.openai.com", "o3-mini", "openai_reasoning"),
        ("api.openai.com", "gpt-5.1", "openai_reasoning"),
        ("api.openai.com", "gpt-5-chat-latest", "openai"),
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


def test_every_provider_has_documentation_and_a_test():
    table = providers()
    assert {*table} - {"unknown", "vllm"} == {*RULES}
    for name, item in table.items():
        assert name == "unknown" or all(source.startswith("https://") for source in item.sources)
        assert (item.sources == ()) == (name == "unknown")
