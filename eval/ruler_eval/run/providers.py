"""The requests to an OpenAI-compatible API, for a server or a batch file.

{"model": "m", "messages": […, {"role": "assistant", "content": "The special magic number"}],
 "max_tokens": 128, "temperature": 0.0, "top_p": 1.0, "seed": 0, "top_k": -1, …,
 "add_generation_prompt": false, "continue_final_message": true}

Providers differ in the fields they accept: see providers.toml, which links to their documentation.

    provider = provider_for(None, host="api.mistral.ai", owners=[], model="mistral-large-latest")
    provider.rename                         # {"seed": "random_seed"}
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

from ruler_common.errors import RulerError
from ruler_common.files import read_toml
from ruler_common.names import check_name
from ruler_eval.run.options import SAMPLERS, RunOptions
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.sampling import Sampling

STANDARD_SAMPLERS = ("temperature", "top_p", "presence_penalty", "seed")
"""Samplers that OpenAI's API has; more samplers of a provider are in `Provider.samplers`."""
GREEDY = {"temperature": 0.0, "top_p": 1.0, "presence_penalty": 0.0, "seed": 0}
"""Values that need not be sent to a provider that does not accept the field."""


@dataclass(frozen=True, kw_only=True)
class Provider:
    """An entry of providers.toml; the comment at its top says what each field means."""

    name: str
    title: str
    sources: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    models: str = ".*"
    max_tokens_field: str = "max_tokens"
    omit: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    samplers: Mapping[str, Any] = field(default_factory=dict)
    thinking_budget: str | None = None
    prefill: Literal["no", "turn", "prefix", "template"]
    raw: bool = True
    ids: bool = True
    strict: bool = False
    template: bool = False
    repeats: bool = False
    stream_options: bool = True
    cache_salt: bool = False
    no_cache: Mapping[str, Any] = field(default_factory=dict)
    remedies: Mapping[str, str] = field(default_factory=dict)
    version_path: str | None = None
    always_reasons: bool = False

    @property
    def source(self) -> str:
        """The documentation's address in parentheses, for messages; empty if there is none."""
        return f" ({self.sources[0]})" if self.sources else ""


@lru_cache(maxsize=1)
def providers() -> dict[str, Provider]:
    """Return the providers by name, in the order in which they are searched."""
    table = {}
    for name, entry in read_toml(files(__package__) / "providers.toml").items():
        for key in ("sources", "hosts", "owners", "omit"):
            entry[key] = tuple(entry.get(key, ()))
        table[name] = Provider(name=name, **entry)
    return table


def sampler_names() -> list[str]:
    """Return the names of all sampling fields that are sent to some provider, for --omit."""
    names = dict.fromkeys(SAMPLERS)
    for provider in providers().values():
        names.update(dict.fromkeys(provider.samplers))
    return list(names)


def provider_for(name: str | None, host: str, owners: Collection[str], model: str) -> Provider:
    """Return the named provider, or the first one that matches by host or owner and by model.

    `owners` are the owners in /v1/models. Raises RulerError for an unknown name.
    """
    table = providers()
    if name is not None:
        return table[check_name("provider", name, list(table), "ruler run --help")]
    for provider in table.values():
        is_match = not set(owners).isdisjoint(provider.owners)
        for suffix in provider.hosts:
            is_match = is_match or host == suffix or host.endswith(f".{suffix}")
        if is_match and re.fullmatch(provider.models, model):
            return provider
    return table["unknown"]


def check_provider(
    provider: Provider, mode: str, is_chat: bool, asks_to_continue: bool, sends_ids: bool
) -> None:
    """Raise RulerError if a prefix would silently be lost, or a raw prompt put into a template.

    Args:
        provider: The provider.
        mode: The prompt mode.
        is_chat: Whether the endpoint is /chat/completions.
        asks_to_continue: Whether fields of --engine-arg ask the server to continue the last turn.
        sends_ids: Whether prompts are token ids.
    """
    title, source = provider.title, provider.source
    if source and not (is_chat or provider.raw):
        raise RulerError(f"{title} does not accept raw prompts{source}: use --mode chat.")
    if sends_ids and not (is_chat or provider.ids):
        raise RulerError(
            f"{title} does not accept token ids{source}: use --mode chat, or leave --tokenizer out."
        )
    if mode != "prefill" or not is_chat or provider.prefill != "no":
        return
    if asks_to_continue and not source:  # the user knows what this unknown server does
        return
    if source:
        raise RulerError(f"{title} does not continue an assistant's turn{source}: use --mode chat.")
    raise RulerError(
        "The server is not known to continue an assistant's turn: use --mode chat, --tokenizer "
        "NAME to send it the rendered prompt, or --provider to say what it is."
    )


def sampling_fields(options: RunOptions, provider: Provider, sampling: Sampling) -> dict[str, Any]:
    """Return the sampling fields, without those that the provider refuses or --omit names.

    Samplers that are off are sent too if the provider has them; otherwise a server would use the
    model's generation_config.json. Raises RulerError if a value that the user chose would be
    dropped.
    """
    fields = dict(provider.samplers) if sampling.neutral else {}
    for name in options.omit:
        fields.pop(name, None)
    for name, value in sampling.values.items():
        sent_as = provider.rename.get(name, name)
        is_accepted = (
            name in STANDARD_SAMPLERS or sent_as in provider.samplers or not provider.sources
        )
        if name in options.omit:
            fields.pop(sent_as, None)
        elif is_accepted and name not in provider.omit:
            fields[sent_as] = value
        elif getattr(options, name, None) is not None and value != GREEDY.get(name):
            raise RulerError(
                f"{provider.title} does not accept {name}{provider.source}: leave "
                f"--{name.replace('_', '-')} out."
            )
    return {name: value for name, value in fields.items() if name not in options.omit}


def extra_fields(
    options: RunOptions, provider: Provider, is_chat: bool, template_arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields of --engine-arg, and the arguments of the chat template."""
    extra = dict(options.engine_args)
    if provider.template and is_chat:
        user_arguments = extra.get("chat_template_kwargs", {})
        extra["chat_template_kwargs"] = {**template_arguments, **user_arguments}
    return extra


def stream_fields(provider: Provider) -> dict[str, Any]:
    """Return the fields that request a streamed answer with token counts at the end."""
    if provider.stream_options:
        return {"stream": True, "stream_options": {"include_usage": True}}
    return {"stream": True}


def json_bytes(body: Mapping[str, Any]) -> bytes:
    """Return the body of a request as it is sent."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def turn_fields(
    prompt: Prompt, mode: str, extra: Mapping[str, Any], provider: Provider
) -> dict[str, Any]:
    """Return the fields of a chat request that ask the server to continue its last turn."""
    fields: dict[str, Any] = {}
    needs_fields = provider.prefill not in ("turn", "prefix")
    if mode == "prefill" and prompt.messages[-1]["role"] == "assistant" and needs_fields:
        fields = {"add_generation_prompt": False, "continue_final_message": True}
    if "chat_template_kwargs" in extra:
        fields["chat_template_kwargs"] = extra["chat_template_kwargs"]
    return fields


def chat_body(
    prompt: Prompt,
    mode: str,
    model: str,
    sampling: Mapping[str, Any],
    extra: Mapping[str, Any],
    provider: Provider,
) -> dict[str, Any]:
    """Return the body of a chat request."""
    turns: list[dict[str, Any]] = [*prompt.messages]
    if provider.prefill == "prefix" and turns[-1]["role"] == "assistant":
        turns[-1] = {**turns[-1], "prefix": True}
    return {
        "model": model,
        **sampling,
        "messages": turns,
        provider.max_tokens_field: prompt.max_tokens,
        **extra,
        **turn_fields(prompt, mode, extra, provider),
    }


def with_seed(sampling: Mapping[str, Any], provider: Provider, sample: int) -> dict[str, Any]:
    """Return the sampling fields of a sample of a row; each sample has a different seed."""
    name = provider.rename.get("seed", "seed")
    if not sample or name not in sampling:
        return dict(sampling)
    return {**sampling, name: sampling[name] + sample}


def without_prefix(prompt: Prompt, text: str) -> str:
    """Return an answer without the answer prefix, which some providers repeat."""
    if prompt.messages and prompt.messages[-1]["role"] == "assistant":
        return text.removeprefix(prompt.messages[-1]["content"])
    return text
