"""What the chat template of a vLLM server renders, from its /tokenize and /detokenize."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.run.chat_template import Ask, ServerTemplate, Turns
from ruler_eval.run.reply_json import field_of


def server_template(ask: Ask) -> ServerTemplate | None:
    """Return the server's template; None if it cannot decode.

    Its source is unknown, and the decoded text is not exact.
    """
    if field_of(ask("detokenize", {"tokens": [0]}), "prompt") is None:
        return None

    def render(turns: Turns, arguments: Mapping[str, Any]) -> str:
        body = {
            "messages": list(turns),
            "add_generation_prompt": True,
            "chat_template_kwargs": dict(arguments),
        }
        tokens = field_of(ask("tokenize", body), "tokens")
        text = field_of(ask("detokenize", {"tokens": tokens}), "prompt")
        if not isinstance(tokens, list) or not isinstance(text, str):
            raise RulerError("the server cannot render it.")
        return text

    return ServerTemplate(source=None, render=render, is_exact=False)


def token_ids(ask: Ask, text: str, special_tokens: bool) -> list[int] | None:
    """Return the ids of a raw prompt as the server reads it; None if they are unknown."""
    body = {"prompt": text, "add_special_tokens": special_tokens}
    tokens = field_of(ask("tokenize", body), "tokens")
    return tokens if isinstance(tokens, list) else None
