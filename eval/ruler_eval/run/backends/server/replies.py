"""Parse the replies of a server or a batch file: completions, streamed chunks, models, metrics."""

from __future__ import annotations

import json
import re
from typing import Any

from ruler_eval.run.backends.backend import UNKNOWN, Completion
from ruler_eval.run.prompts import Prompt

MAX_SHOWN = 500
"""Characters of a server's message that are shown and stored."""
_CACHE_LINE = re.compile(r"^vllm:cache_config_info\{(.*)\}", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]{0,100})"')


class Malformed(Exception):
    """A reply with HTTP status 200 that is not a completion."""


def read_json(text: str) -> Any:
    """Return the JSON value of a body. Raises Malformed."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"the answer is not valid JSON ({error}): {text}") from error


def field_of(value: Any, *names: str) -> Any:
    """Return the field at this path of nested JSON objects; None if it is absent."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def count_of(value: Any, minimum: int = 0) -> int | None:
    """Return a count in a reply, or None if the value is not a valid count."""
    return value if type(value) is int and minimum <= value < 1 << 53 else None


def read_completion(prompt: Prompt, reply: Any) -> Completion:
    """Return the completion in the JSON of a chat or text completion. Raises Malformed."""
    choices = field_of(reply, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        raise Malformed(f"no choices in the answer: {reply}")
    message = choice.get("message")
    text = choice.get("text") if message is None else field_of(message, "content")
    reasoning = field_of(message, "reasoning_content") or field_of(message, "reasoning")
    if isinstance(text, list) and _are_known_parts(text):  # Mistral's parts
        reasoning = reasoning or _text_of_parts(text, "thinking") or None
        text = _text_of_parts(text, "text")
    if isinstance(message, dict) and text is None:
        text = ""
    if not isinstance(text, str):
        raise Malformed(f"no text in the answer: {reply}")
    usage = reply.get("usage")
    reasoning_tokens = field_of(usage, "completion_tokens_details", "reasoning_tokens")
    return Completion(
        prompt,
        text,
        choice.get("finish_reason"),
        prompt_tokens=count_of(field_of(usage, "prompt_tokens"), minimum=1),
        completion_tokens=count_of(field_of(usage, "completion_tokens"), minimum=1),
        cached_tokens=count_of(field_of(usage, "prompt_tokens_details", "cached_tokens")),
        reasoning=reasoning if isinstance(reasoning, str) else None,
        reasoning_tokens=count_of(reasoning_tokens, minimum=1),
    )


def _are_known_parts(parts: list[Any]) -> bool:
    """Whether any part is text or thinking, or there are no parts."""
    return not parts or any(field_of(part, "type") in ("text", "thinking") for part in parts)


def _text_of_parts(parts: list[Any], kind: str) -> str:
    """Return the text of all parts of a kind; a thinking part contains text parts."""
    texts = []
    for part in parts:
        if field_of(part, "type") == kind:
            content = part.get(kind)
            if isinstance(content, list):
                content = _text_of_parts(content, "text")
            if isinstance(content, str):
                texts.append(content)
    return "".join(texts)


class StreamedReply:
    """Assembles a completion that arrives in chunks (`--stream`)."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._is_chat = False
        self._finish_reason: Any = None
        self._usage: Any = None

    def add(self, chunk: Any) -> None:
        """Add the next chunk. Raises Malformed."""
        self._usage = field_of(chunk, "usage") or self._usage
        choices = field_of(chunk, "choices")
        if not isinstance(choices, list):
            raise Malformed(f"no choices in a piece of the answer: {chunk}")
        for choice in choices:
            if not isinstance(choice, dict):
                raise Malformed(f"no choice in a piece of the answer: {chunk}")
            if choice.get("index"):  # not the first answer
                continue
            delta = choice.get("delta") or choice.get("message")
            self._is_chat = self._is_chat or delta is not None
            self._add_text(self._text, choice.get("text"))
            self._add_text(self._content, field_of(delta, "content"))
            thought = field_of(delta, "reasoning_content") or field_of(delta, "reasoning")
            self._add_text(self._reasoning, thought)
            self._finish_reason = choice.get("finish_reason") or self._finish_reason

    def _add_text(self, texts: list[str], piece: Any) -> None:
        if isinstance(piece, list):  # Mistral's parts
            self._reasoning.append(_text_of_parts(piece, "thinking"))
            piece = _text_of_parts(piece, "text")
        if not isinstance(piece, str | None):
            raise Malformed(f"no text in a piece of the answer: {piece}")
        if piece:
            texts.append(piece)

    def whole(self) -> dict[str, Any]:
        """Return the reply in the form of one without --stream. Raises Malformed if incomplete."""
        if self._finish_reason is None:
            raise Malformed("the stream ended before the answer did")
        choice: dict[str, Any] = {"finish_reason": self._finish_reason}
        if self._is_chat:
            reasoning = "".join(self._reasoning) or None
            choice["message"] = {"content": "".join(self._content), "reasoning": reasoning}
        else:
            choice["text"] = "".join(self._text)
        return {"choices": [choice], "usage": self._usage}


def served_models(page: Any) -> dict[str, dict[str, Any]]:
    """Return the entries of /v1/models by model name; empty if the page has a different form."""
    listed = field_of(page, "data")
    models = {}
    for model in listed if isinstance(listed, list) else []:
        name = field_of(model, "id")
        if isinstance(name, str):
            models[name] = model
    return models


def window_of_model(model: Any) -> int | None:
    """Return the context length in an entry of /v1/models, from vLLM's or llama.cpp's field."""
    window = count_of(field_of(model, "max_model_len"), minimum=1)
    return window or count_of(field_of(model, "meta", "n_ctx"), minimum=1)


def error_text(error: Any) -> str | None:
    """Return the message of an error in any form that servers use, or None without an error."""
    if error is None:
        return None
    inner = error.get("error", error) if isinstance(error, dict) else error
    text = inner.get("message") if isinstance(inner, dict) else inner
    return " ".join(str(text or inner or error).split()) or "an error without a message"


def engine_facts(metrics: str) -> dict[str, Any]:
    """Return the settings of a server's engine from the text of its /metrics; empty without them.

    vLLM describes the cache of each engine:
    `vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True"} 1.0`.
    The names are the same as in the vllm backend.
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
