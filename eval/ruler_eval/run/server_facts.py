"""What a server says about itself: its models, their context window, its version and settings.

served_models(page)["m"]                          # an entry of /v1/models
context_window_of({"context_length": 131072})       # 131072
engine_facts(metrics)                             # {"cache": {"dtype": "fp8", …}, …}
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from ruler_common.errors import RulerError
from ruler_eval.run import llama_cpp
from ruler_eval.run.backend import UNKNOWN
from ruler_eval.run.classify import MAX_SHOWN, Failure, Reply, failure_of, shown
from ruler_eval.run.connection import ENVIRONMENT, Connection
from ruler_eval.run.options import RunOptions
from ruler_eval.run.providers import Provider, provider_for
from ruler_eval.run.reply_json import count_of, field_of
from ruler_eval.run.reply_rules import TIMEOUT, UNREACHABLE

FIRST_WAIT, MAX_WAIT = 1.0, 60.0
"""Seconds between two tries without a Retry-After: exponential, with jitter."""

WINDOW_FIELDS = (
    ("max_model_len",),  # vLLM, SGLang
    ("loaded_context_length",),  # LM Studio
    ("top_provider", "context_length"),  # OpenRouter: that of the provider in use
    ("context_length",),  # OpenRouter, Together, Fireworks
    ("context_window",),  # Groq
    ("context_size",),  # Novita
    ("metadata", "context_length"),  # DeepInfra
    ("limits", "max_context_length"),  # Cerebras
    ("parameters", "max_seq_len"),  # TabbyAPI
    ("max_context_length",),  # Mistral, LM Studio
    ("max_input_tokens",),  # Anthropic
    ("meta", "n_ctx"),  # llama.cpp
)
"""Where servers write a model's context window in an entry of /v1/models."""
_CACHE_LINE = re.compile(r"^vllm:cache_config_info\{(.*)\}", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]{0,100})"')


@dataclass(frozen=True, kw_only=True)
class ServerFacts:
    """What a server says about itself; all except the provider are None if it does not say it."""

    provider: Provider
    version: str | None
    context_window: int | None
    """The model's context window in tokens."""
    root: str | None
    """The model's folder or repository."""
    slots: int | None
    """How many rows llama.cpp answers at a time; perhaps out of one context, which all share."""
    served: tuple[str, ...]
    """The models that it lists."""
    props: Mapping[str, Any]
    """llama.cpp's /props: samplers, template and context; empty for other servers."""

    @property
    def model(self) -> str | None:
        """The name of the model's folder, repository or file, without the place where it is."""
        place = self.root or self.props.get("model_path")
        if not isinstance(place, str):
            return None
        return re.split(r"[/\\]", place.rstrip("/\\"))[-1] or None


def ask_servers(connections: Sequence[Connection], options: RunOptions) -> ServerFacts:
    """Return the facts of servers with the same model, and the shortest of their windows.

    Raises RulerError for an unknown model, and for servers that differ.
    """
    facts = [ask_server(connection, options) for connection in connections]
    first = facts[0]
    for connection, other in zip(connections, facts, strict=True):
        if (other.provider, other.version, other.root) != (
            first.provider,
            first.version,
            first.root,
        ):
            raise RulerError(
                f"The servers at {connections[0].url} and {connection.url} differ "
                f"({first.provider.name} {first.version}, {first.root}; {other.provider.name} "
                f"{other.version}, {other.root}): a run needs the same server and model at every "
                "--base-url."
            )
    windows = [server.context_window for server in facts if server.context_window is not None]
    return replace(first, context_window=min(windows, default=None))


def ask_server(connection: Connection, options: RunOptions) -> ServerFacts:
    """Return the facts of one server. Raises RulerError for an unknown model."""
    served = ask_models(connection, options.give_up_after)
    model = served.get(options.model)
    owners = owners_of(served, options.model)
    provider = provider_for(options.provider, connection.host, owners, options.model)
    if provider.name == "unknown" and _is_ollama(connection):
        provider = provider_for("ollama", "", [], options.model)
    if model is None and provider.strict and served:
        models = ", ".join(served)[:MAX_SHOWN]
        raise RulerError(
            f"The server at {connection.url} has no model '{options.model}'. It serves: {models}."
        )
    window = context_window_of(model)
    parent = field_of(model, "parent")  # the window of an adapter is its base model's
    if window is None and isinstance(parent, str):
        window = context_window_of(served.get(parent))
    version, slots = None, None
    props: Mapping[str, Any] = {}
    if provider.name == "llama_cpp":
        props, slots, slot_window = _ask_llama_cpp(connection, options.model)
        version, window = props.get("build_info"), slot_window or window
    elif provider.version_path:
        page = connection.ask(connection.outside_v1(provider.version_path)).body
        version = field_of(page, "version")
    return ServerFacts(
        provider=provider,
        version=version,
        context_window=window,
        root=field_of(model, "root"),
        slots=slots,
        served=tuple(served),
        props=props,
    )


def _ask_llama_cpp(
    connection: Connection, model: str
) -> tuple[Mapping[str, Any], int | None, int | None]:
    """Return llama.cpp's /props, its number of slots, and the tokens that a slot holds.

    A server of several models needs the model's name.
    """
    query = f"model={quote(model, safe='')}"
    props = connection.ask(connection.outside_v1(f"props?{query}")).body
    slots = connection.ask(connection.outside_v1(f"slots?{query}")).body
    props = props if isinstance(props, dict) else {}
    return props, *llama_cpp.slots_and_window(props, slots)


def ask_models(connection: Connection, give_up_after: float) -> dict[str, dict[str, Any]]:
    """Return the served models; empty if the server lists none. Waits while it is loading.

    If only the address with /v1 lists models, that is used. Raises RulerError if the server cannot
    be used.
    """
    began, tries = time.monotonic(), 0
    while True:
        reply = connection.ask("models")
        models = served_models(reply.body)
        if models:
            return models
        failure = _failure_at_start(reply, connection)
        if failure is None:
            break
        tries += 1
        remaining = began + give_up_after - time.monotonic()
        if remaining <= 0:
            raise RulerError(
                f"The server at {connection.url} has not answered for {give_up_after:g} seconds "
                f"({shown(failure)})."
            )
        time.sleep(min(seconds_to_wait(failure, tries), remaining))
    models = served_models(connection.ask(connection.outside_v1("v1/models")).body)
    if models and not connection.url.endswith("/v1"):
        connection.url += "/v1"
    return models


def served_models(page: Any) -> dict[str, dict[str, Any]]:
    """Return the entries of /v1/models by model name; empty if the page has a different form."""
    listed = page if isinstance(page, list) else field_of(page, "data")
    models = {}
    for model in listed if isinstance(listed, list) else []:
        name = field_of(model, "id")
        if isinstance(name, str):
            models[name] = model
    return models


def context_window_of(model: Any) -> int | None:
    """Return the context window in an entry of /v1/models; None if it has none."""
    for path in WINDOW_FIELDS:
        if window := count_of(field_of(model, *path), minimum=1):
            return window
    return None


def owners_of(models: Mapping[str, Mapping[str, Any]], model: str) -> list[str]:
    """Return the owners that say what the server is: that of the model that is run.

    If it is not listed, all models must have the same owner: a gateway lists models of several.
    """
    listed = [models[model]] if model in models else models.values()
    owners = {str(entry.get("owned_by")) for entry in listed}
    return [*owners] if len(owners) == 1 else []


def engine_facts(metrics: str) -> dict[str, Any]:
    """Return the settings of a server's engine from the text of its /metrics; empty without them.

    vLLM describes the cache of each engine:
    `vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True"} 1.0`.
    """
    engines = [dict(_LABEL.findall(labels)) for labels in _CACHE_LINE.findall(metrics)]
    if not engines:
        return {}
    return {
        "parallel": {"data": len(engines)},
        "cache": {
            "dtype": engines[0].get("cache_dtype", UNKNOWN),
            "prefix_caching": _value(engines[0].get("enable_prefix_caching", UNKNOWN)),
            "block_size": _value(engines[0].get("block_size", UNKNOWN)),
        },
    }


def _value(text: str) -> bool | int | str:
    """Return the value of a label: a boolean or number if it is one, else the text."""
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text.isdecimal() else text


def seconds_to_wait(failure: Failure, tries: int) -> float:
    """Return the seconds of a Retry-After that asks for a wait, else exponential backoff."""
    if failure.retry_after is not None and failure.retry_after >= FIRST_WAIT:
        return failure.retry_after
    return min(MAX_WAIT, FIRST_WAIT * 2.0 ** min(tries - 1, 20)) + random.uniform(0, FIRST_WAIT)


def _is_ollama(connection: Connection) -> bool:
    """Whether a server is Ollama, whose models have the owners of their repositories."""
    text = connection.ask(connection.outside_v1("")).body
    return isinstance(text, str) and "Ollama is running" in text[:MAX_SHOWN]


def _failure_at_start(reply: Reply, connection: Connection) -> Failure | None:
    """Return the failure of a server that is loading; None if it only has no list of models.

    Raises RulerError, with the remedy, if the server cannot be used.
    """
    where, failure = connection.url, failure_of(reply)
    if failure is None:
        return None
    said = shown(failure)
    if reply.status == TIMEOUT:
        raise RulerError(
            f"The server at {where} does not finish its reply: wait until it has started, "
            "or correct --base-url."
        )
    if reply.status == UNREACHABLE:
        if re.search("SSL|TLS|certificate", said):
            raise RulerError(
                f"The TLS connection to the server at {where} failed ({said}): if its address is "
                "http://…, correct --base-url; if its certificate is your own, set SSL_CERT_FILE."
            )
        if "Proxy" in said:
            raise RulerError(f"No request can be made to {where} ({said}): correct {ENVIRONMENT}.")
        raise RulerError(
            f"No server answers at {where}: start one (vllm serve MODEL), or correct --base-url."
        )
    if reply.status in (401, 403) or (failure.kind == "fatal" and reply.status != 404):
        raise RulerError(f"The server at {where} cannot be used ({said}): {failure.remedy}.")
    return failure if failure.kind == "wait" else None
