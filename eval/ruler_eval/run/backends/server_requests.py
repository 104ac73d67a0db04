"""The fields of a request to an OpenAI-compatible API, sent at once or in a batch file.

{"model": "m", "messages": […, {"role": "assistant", "content": "The special magic number"}],
 "max_tokens": 128, "temperature": 0.0, "top_p": 1.0, "seed": 0, "top_k": -1, …,
 "add_generation_prompt": false, "continue_final_message": true}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.run.backends.backend import ModelOptions
from ruler_eval.run.backends.server.providers import Provider
from ruler_eval.run.prompts import Prompt


def sampling_fields(options: ModelOptions, provider: Provider) -> dict[str, Any]:
    """How tokens are drawn, as far as the provider takes it and --omit does not name it.

    Raises RulerError where that would drop what was asked for.
    """
    usual = ModelOptions("").sampling
    for name in provider.omit:
        if name not in options.omit and options.sampling[name] != usual[name]:
            raise RulerError(
                f"{provider.title} takes no {name}{provider.source}: leave "
                f"--{name.replace('_', '-')} out."
            )
    left_out = {*provider.omit, *options.omit}
    asked = {name: value for name, value in options.sampling.items() if name not in left_out}
    return {provider.rename.get(name, name): value for name, value in asked.items()}


def extra_fields(
    options: ModelOptions, provider: Provider, chat: bool, template_arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """The user's own fields, and those that the provider understands beside OpenAI's.

    Neutral samplers are sent, since a server would else take a model's generation_config.json.
    """
    extra = {**provider.extra, **(options.arguments or {})}
    if provider.template and chat:
        own = extra.get("chat_template_kwargs", {})
        extra["chat_template_kwargs"] = {**template_arguments, **own}
    return extra


def stream_fields(provider: Provider) -> dict[str, Any]:
    """What asks for an answer in pieces, and for its tokens at the end."""
    asks = provider.stream_options
    return {"stream": True, **({"stream_options": {"include_usage": True}} if asks else {})}


def json_bytes(body: Mapping[str, Any]) -> bytes:
    """The body of a request as it is sent."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def turn_fields(
    prompt: Prompt, mode: str, extra: Mapping[str, Any], provider: Provider
) -> dict[str, Any]:
    """The fields of a chat request that say how it ends: with a turn to be continued, or not."""
    fields: dict[str, Any] = {}
    marked = provider.prefill in ("turn", "prefix")
    if mode == "prefill" and prompt.messages[-1]["role"] == "assistant" and not marked:
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
    """A chat request: the turns and the most tokens to answer with, and all other fields."""
    turns: list[dict[str, Any]] = [*prompt.messages]
    if provider.prefill == "prefix" and turns[-1]["role"] == "assistant":
        turns[-1] = {**turns[-1], "prefix": True}
    asked = {"model": model, **sampling, "messages": turns, provider.limit: prompt.max_tokens}
    return {**asked, **extra, **turn_fields(prompt, mode, extra, provider)}


def without_prefix(prompt: Prompt, text: str) -> str:
    """An answer without the prefix that it continues, where a provider repeats it."""
    last = prompt.messages[-1] if prompt.messages else {"role": "user"}
    return text.removeprefix(last["content"]) if last["role"] == "assistant" else text
