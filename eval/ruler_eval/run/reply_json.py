"""The JSON of replies: errors and answers in the forms that servers use.

    error_text({"error": {"message": "Overloaded"}})              # "Overloaded"
    text_and_thought([{"type": "text", "text": "42"}])            # ("42", "")

What they mean is decided in classify.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import Any

from ruler_eval.run.reply_forms import event_in_openai_form, in_openai_form


def field_of(value: Any, *names: str) -> Any:
    """Return the field at this path of nested JSON objects; None if it is absent."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def count_of(value: Any, minimum: int = 0) -> int | None:
    """Return a count in a reply, or None if the value is not a valid count."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16:
        value = int(value)
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and minimum <= value < 1 << 53 else None


def shown_json(value: Any) -> str:
    """Return JSON as a text for a message."""
    return json.dumps(value, ensure_ascii=False)


# ---- errors -------------------------------------------------------------------------------------

MESSAGE_NAMES = (
    "error",
    "detail",
    "message",
    "msg",
    "errormessage",
    "errormsg",
    "errmsg",
    "errors",
    "title",
    "baseresp",  # MiniMax's
    "statusmsg",
)
"""The fields of an error that say what is wrong, as `_plain_names` writes them."""
CODE_NAMES = (
    "code",
    "status",
    "statuscode",
    "errorcode",
    "errcode",
    "httpcode",
    "httpstatus",
    "httpstatuscode",
)
"""Those that have its code, which may be an HTTP status."""


def error_in(body: Any) -> Any:
    """Return the error in the body of a reply with HTTP status 200; None if there is none."""
    if isinstance(body, list) and len(body) == 1:  # Gemini's
        body = body[0]
    if not isinstance(body, dict):
        return None
    choices = body.get("choices")
    if (error := body.get("error")) and not (choices and _is_no_error(error)):
        return body if isinstance(error, dict) else {"error": {"message": error, **body}}
    choice = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(choice, dict) and isinstance(choice.get("error"), dict):
        return {"error": choice["error"]}
    if field_of(body, "base_resp", "status_code") not in (None, 0):  # MiniMax's, beside an answer
        return {"base_resp": body["base_resp"]}
    if choices is None and (body.get("object") == "error" or body.get("type") == "error"):
        return body
    if not choices and in_openai_form(body) is body and error_text(body):
        return body
    return None


def _is_no_error(error: Any) -> bool:
    """Whether an error beside an answer says that all went well, as some gateways' does."""
    if isinstance(error, str):
        return error.lower() in ("none", "null", "ok", "success")
    return isinstance(error, dict) and (
        not error_text(error) or str(error.get("code")) in ("0", "200")
    )


def status_in(error: Any, status: int) -> int:
    """Return the HTTP status that an error names as its code, else the reply's own."""
    for value in _values(error, CODE_NAMES):
        text = str(value)
        if text.isdecimal() and 400 <= int(text) < 600:
            return int(text)
    return status


def error_text(error: Any) -> str:
    """Return the message of an error in any form that servers use; empty without one."""
    if isinstance(error, str):
        text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", error, flags=re.S | re.I)
        return " ".join((text if text.strip() else error).split())
    if isinstance(error, list):
        return "; ".join(filter(None, (error_text(item) for item in error)))
    if not isinstance(error, dict):
        return "" if error is None else str(error)
    error = _plain_names(error)
    for name in MESSAGE_NAMES:
        if text := error_text(error.get(name)):
            if reason := error_text(_provider_error(error)):
                text = f"{text}: {reason}"
            where = error.get("loc")  # FastAPI's
            if isinstance(where, list):
                return f"{'.'.join(map(str, where))}: {text}"
            return text
    return ""


def error_codes(error: Any) -> str:
    """Return the codes and names in an error, which say what it is about.

    A name of several words is there in words too: `Context Length Exceeded ContextLengthExceeded`.
    """
    values = [str(value) for value in _values(error, (*CODE_NAMES, "type", "param", "loc"))]
    words = [re.sub(r"_|(?<=[a-z])(?=[A-Z])", " ", value) for value in values]
    return " ".join(dict.fromkeys([*words, *values]))


def _values(error: Any, names: Collection[str]) -> list[Any]:
    """Return the values of fields of an error, and of the errors in it."""
    if isinstance(error, list):
        return [value for item in error for value in _values(item, names)]
    if not isinstance(error, dict):
        return []
    error = _plain_names(error)
    values = [error[name] for name in names if error.get(name) not in (None, "")]
    for inner in ("error", "detail", "errors", "metadata", "innererror", "baseresp"):
        values += _values(error.get(inner), names)
    return values + _values(_provider_error(error), names)


def _plain_names(error: dict[str, Any]) -> dict[str, Any]:
    """Return an error with its names in small letters: `statusCode` and `status_code` are one."""
    return {plain_name(name): value for name, value in error.items()}


def plain_name(name: Any) -> str:
    """Return the name of a field in small letters, without marks between its words."""
    return re.sub("[_-]", "", str(name)).lower()


def _provider_error(error: Any) -> Any:
    """Return the error of the provider behind OpenRouter: JSON as a text, or words."""
    raw = field_of(error, "metadata", "raw")
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        return raw


# ---- answers ------------------------------------------------------------------------------------

REASONING_NAMES = (
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "thinking",
    "thinking_blocks",
    "thought",
    "thoughts",
    "reasoning_details",
)
"""The fields that hold the reasoning of a message."""
TEXT_NAMES = (
    "text",
    "thinking",
    "reasoning",
    "content",
    "output_text",
    "refusal",
    "summary",
    "value",
    "reasoningContent",
    "reasoningText",
)
"""The fields that hold the text of a part of a message."""


def reasoning_of(message: Any) -> str | None:
    """Return the reasoning that a server's parser separated from a message or a piece of it."""
    for name in REASONING_NAMES:
        value = field_of(message, name)
        if isinstance(value, list | dict):
            text, thought = text_and_thought(value)
            value = (text or "") + (thought or "")
        if isinstance(value, str) and value:
            return value
    return None


def text_and_thought(content: Any) -> tuple[str | None, str]:
    """Return the text and the reasoning of a content, which may be a part or a list of parts.

    The text is None for anything else. A part of any type that has a text counts.
    """
    if isinstance(content, str):
        return content, ""
    if isinstance(content, dict):
        if content and "type" not in content and not content.keys() & {*TEXT_NAMES}:
            return None, ""
        content = [content]
    if not isinstance(content, list):
        return None, ""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        inner = part
        if isinstance(part, dict):
            inner = next((part[name] for name in TEXT_NAMES if part.get(name)), "")
        text, thought = text_and_thought(inner)
        if text is None:
            return None, ""
        kind = str(field_of(part, "type") or "")
        is_thought = "think" in kind or "reason" in kind or "thought" in kind
        is_thought = is_thought or field_of(part, "thought") is True  # Gemini's
        is_thought = is_thought or field_of(part, "reasoningContent") is not None  # Bedrock's
        (thoughts if is_thought else texts).append(text)
        thoughts.append(thought)
    return "".join(texts), "".join(thoughts)


def calls_of(message: Any) -> list[Any]:
    """Return the calls of tools in a message or a piece of it."""
    calls = field_of(message, "tool_calls") or field_of(message, "function_call")
    return calls if isinstance(calls, list) else [calls] if calls else []


MIN_REPEATS = 2
"""How often a text grows before it is clear that each piece repeats the one before it."""


def _joined(pieces: Iterable[str]) -> str:
    """Return the text of pieces; of pieces that each repeat the whole text before, the last one."""
    pieces = [piece for piece in pieces if piece]
    repeats = all(later.startswith(earlier) for earlier, later in pairwise(pieces))
    return pieces[-1] if repeats and len({*pieces}) > MIN_REPEATS else "".join(pieces)


class StreamedReply:
    """Assembles a completion that arrives in pieces (`--stream`)."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[Any] = []
        self._is_chat = False
        self._finish_reason: Any = None
        self._native_reason: Any = None
        self._model: Any = None
        self._usage: dict[str, Any] = {}
        self._error: Any = None
        self._wrong: Any = None
        self._unread: Any = None
        self._has_choice = False
        self.has_ended = False
        """Whether the server said that the stream is complete."""
        self.size = 0
        """The characters of the answer and its reasoning so far."""

    def add(self, piece: Any) -> None:
        """Add the next piece."""
        if not isinstance(piece, dict) and piece != "":
            self._unread = piece
        self._error = self._error or error_in(piece)
        if isinstance(piece, dict):
            self.has_ended = self.has_ended or piece.get("type") == "message_stop"  # Anthropic's
            piece = event_in_openai_form(piece)
            self._error = self._error or error_in(piece)
        self._model = self._model or field_of(piece, "model")
        usage = field_of(piece, "usage") or field_of(piece, "x_groq", "usage")
        if isinstance(usage, dict):  # Anthropic's first event has the prompt's, its last the rest
            kept = {name: count for name, count in self._usage.items() if not usage.get(name)}
            self._usage = {**usage, **kept}
        choices = field_of(piece, "choices")
        if choices is not None and not isinstance(choices, list):
            self._wrong = piece
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict):
                self._wrong = piece
                continue
            self._has_choice = True
            if not choice.get("index"):  # the first answer
                self._add_choice(choice, piece)

    def _add_choice(self, choice: dict[str, Any], piece: Any) -> None:
        delta = choice.get("delta") or choice.get("message")
        self._is_chat = self._is_chat or delta is not None
        content = choice.get("text")
        if delta is not None:
            content = field_of(delta, "content") or field_of(delta, "refusal")
        if content is not None:
            text, thought = text_and_thought(content)
            self._wrong = self._wrong or (piece if text is None else None)
            if "message" in choice and (text or "").startswith(_joined(self._texts)):
                self._texts = []  # some gateways repeat the whole answer at the end
            self._texts.append(text or "")
            self._thoughts.append(thought)
            self.size += len(text or "") + len(thought)
        self._calls += calls_of(delta)
        self._thoughts.append(reasoning_of(delta) or "")
        self.size += len(self._thoughts[-1])
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        self._native_reason = choice.get("native_finish_reason") or self._native_reason

    def whole(self) -> Any:
        """Return the reply in the form of one without --stream; an error if it is incomplete."""
        if self._error is not None:
            return self._error
        if self._wrong is not None:
            return {"error": f"a piece is not a completion: {shown_json(self._wrong)}"}
        if self._finish_reason is None and self._unread is not None:
            return {"error": f"a piece is not JSON: {self._unread}"}
        # a gateway may end a stream that its server broke off
        is_whole = self._finish_reason is not None or (self.has_ended and bool(self._usage))
        if not self._has_choice or not is_whole:
            return {"error": "the stream ended before the answer did"}
        choice: dict[str, Any] = {
            "finish_reason": self._finish_reason,
            "native_finish_reason": self._native_reason,
        }
        if self._is_chat:
            thoughts = _joined(self._thoughts) or None
            choice["message"] = {"content": _joined(self._texts), "reasoning": thoughts}
            if self._calls:
                choice["message"]["tool_calls"] = self._calls
        else:
            choice["text"] = _joined(self._texts)
        return {"model": self._model, "choices": [choice], "usage": self._usage}
