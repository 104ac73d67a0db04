"""What llama.cpp's server says about itself: samplers, template, context, and token counts.

`/props` reports the sampler flags of the server, `/slots` what each slot holds, `/apply-template`
renders a chat, `/tokenize` counts a text with its BOS.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.run.chat_template import Ask, Render, ServerTemplate, Turns
from ruler_eval.run.reply_json import count_of, field_of

CHATML = (
    "{%- for message in messages -%}"
    "{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' -}}"
    "{%- endfor -%}{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}"
)
"""The template that llama.cpp uses for a model without one, apart from space between its parts."""
NO_TEMPLATE = "the model has no chat template (llama.cpp would put ChatML around a prompt)"


def uses_default_template(props: Mapping[str, Any]) -> bool:
    """Return whether the model has no chat template, so that llama.cpp uses ChatML."""
    source = props.get("chat_template")
    return isinstance(source, str) and _without_space(source) == _without_space(CHATML)


def _without_space(text: str) -> str:
    return "".join(text.split())


def server_facts(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the server that can change a score, for run.json; empty without any.

    `sampler_defaults` are the server's own; the request turns most of them off (`sent`).
    """
    defaults = props.get("default_generation_settings")
    if not isinstance(defaults, dict):
        return {}
    source = props.get("chat_template")
    digest = hashlib.sha256(source.encode()).hexdigest() if isinstance(source, str) else None
    return {
        "sampler_defaults": defaults.get("params", {}),
        "context": defaults.get("n_ctx"),
        "slots": props.get("total_slots"),
        "chat_template_sha256": digest,
        "has_chat_template": not uses_default_template(props),
        "build": props.get("build_info"),
        "weights": props.get("model_ftype"),
    }


def slots_and_window(props: Mapping[str, Any], slots: Any) -> tuple[int | None, int | None]:
    """Return the number of slots, and the tokens that the smallest of them holds.

    None for what the server does not say. `/props` says the same of the first slot; `/slots` may be
    turned off (--no-slots). Neither says whether the slots share one context.
    """
    windows = [field_of(slot, "n_ctx") for slot in slots] if isinstance(slots, list) else []
    if windows and all(count_of(window, minimum=1) for window in windows):
        return len(windows), min(windows)
    window = field_of(props, "default_generation_settings", "n_ctx")
    return count_of(props.get("total_slots"), minimum=1), count_of(window, minimum=1)


def token_ids(ask: Ask, text: str, special_tokens: bool = True) -> list[int] | None:
    """Return the ids of a text as the server reads a prompt, with its BOS; None if unknown."""
    body = {"content": text, "add_special": special_tokens, "parse_special": True}
    tokens = field_of(ask("tokenize", body), "tokens")
    return tokens if isinstance(tokens, list) else None


def count_text(ask: Ask, text: str) -> int | None:
    """Return the number of tokens of a raw prompt; None if it is unknown."""
    ids = token_ids(ask, text)
    return None if ids is None else len(ids)


def count_chat(ask: Ask, body: Mapping[str, Any]) -> int | None:
    """Return the number of tokens of a chat request after templating; None if it is unknown."""
    text = rendered(ask, body)
    return None if text is None else count_text(ask, text)


def rendered(ask: Ask, body: Mapping[str, Any]) -> str | None:
    """Return a chat request's prompt; None if the server cannot render it."""
    prompt = field_of(ask("apply-template", body), "prompt")
    return prompt if isinstance(prompt, str) else None


def server_template(ask: Ask, props: Mapping[str, Any]) -> ServerTemplate | None:
    """Return the server's chat template; None if the server does not report or render it."""
    source = props.get("chat_template")
    if not isinstance(source, str) or not source:
        return None
    if rendered(ask, {"messages": [{"role": "user", "content": "a"}]}) is None:
        return None
    return ServerTemplate(source=source, render=_render_with(ask), is_exact=True)


def _render_with(ask: Ask) -> Render:
    def render(turns: Turns, arguments: Mapping[str, Any]) -> str:
        body = {"messages": list(turns), "chat_template_kwargs": dict(arguments)}
        text = rendered(ask, body)
        if text is None:
            raise RulerError("the server cannot render it.")
        return text

    return render
