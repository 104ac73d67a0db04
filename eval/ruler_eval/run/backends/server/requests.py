"""The fields of a request to an OpenAI-compatible API, for a server or a batch file.

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
    """Return how tokens are sampled, without the fields that the provider refuses or --omit names.

    Raises RulerError if that would drop a value that the user chose.
    """
    default = ModelOptions("").sampling
    for name in provider.omit:
        if name not in options.omit and options.sampling[name] != default[name]:
            raise RulerError(
                f"{provider.title} takes no {name}{provider.source}: leave "
                f"--{name.replace('_', '-')} out."
            )
    return {
        provider.rename.get(name, name): value
        for name, value in options.sampling.items()
        if name not in provider.omit and name not in options.omit
    }


def extra_fields(
    options: ModelOptions, provider: Provider, chat: bool, template_arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the user's own fields, and those that the provider understands beside OpenAI's.

    Neutral samplers are sent; without them a server would use the model's generation_config.json.
    """
    extra = {**provider.extra, **(options.arguments or {})}
    if provider.template and chat:
        own = extra.get("chat_template_kwargs", {})
        extra["chat_template_kwargs"] = {**template_arguments, **own}
    return extra


def stream_fields(provider: Provider) -> dict[str, Any]:
    """Return the fields that ask for an answer in chunks, and for its token counts at the end."""
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
    """Return the fields of a chat request that say whether its last turn is to be continued."""
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
    """Return a chat request: the turns, the limit of answer tokens, and all other fields."""
    turns: list[dict[str, Any]] = [*prompt.messages]
    if provider.prefill == "prefix" and turns[-1]["role"] == "assistant":
        turns[-1] = {**turns[-1], "prefix": True}
    return {
        "model": model,
        **sampling,
        "messages": turns,
        provider.limit: prompt.max_tokens,
        **extra,
        **turn_fields(prompt, mode, extra, provider),
    }


def without_prefix(prompt: Prompt, text: str) -> str:
    """Return an answer without the prefix that it continues, which some providers repeat."""
    if prompt.messages and prompt.messages[-1]["role"] == "assistant":
        return text.removeprefix(prompt.messages[-1]["content"])
    return text
