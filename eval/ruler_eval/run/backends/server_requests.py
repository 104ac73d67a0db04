"""The fields of a request to an OpenAI-compatible API, sent at once or in a batch file.

{"model": "m", "messages": […, {"role": "assistant", "content": "The special magic number"}],
 "max_tokens": 128, "temperature": 0.0, "top_p": 1.0, "seed": 0, "top_k": -1, …,
 "add_generation_prompt": false, "continue_final_message": true}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ruler_eval.run.backends.backend import ModelOptions
from ruler_eval.run.prompts import Prompt

CONTINUES = ("vllm", "sglang")
"""Servers, as /v1/models names them, that can continue an assistant's turn."""
NEUTRAL = {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
"""Sent to these servers, since they would else take a model's generation_config.json."""


def extra_fields(
    options: ModelOptions, server: str, chat: bool, template_arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """The user's own fields, and for a server that is known (CONTINUES) those it understands."""
    extra = dict(options.arguments or {})
    if server in CONTINUES:
        extra = {**NEUTRAL, **extra}
        if chat:
            own = extra.get("chat_template_kwargs", {})
            extra["chat_template_kwargs"] = {**template_arguments, **own}
    return extra


def json_bytes(body: Mapping[str, Any]) -> bytes:
    """The body of a request as it is sent."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def turn_fields(prompt: Prompt, mode: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a chat request that say how it ends: with a turn to be continued, or not."""
    fields: dict[str, Any] = {}
    if mode == "prefill" and prompt.messages[-1]["role"] == "assistant":
        fields = {"add_generation_prompt": False, "continue_final_message": True}
    if "chat_template_kwargs" in extra:
        fields["chat_template_kwargs"] = extra["chat_template_kwargs"]
    return fields


def chat_fields(prompt: Prompt, newer: bool = False) -> dict[str, Any]:
    """The turns and the most tokens to answer with; `newer` is OpenAI's own name of the latter."""
    limit = "max_completion_tokens" if newer else "max_tokens"
    return {"messages": list(prompt.messages), limit: prompt.max_tokens}
