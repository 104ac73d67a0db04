r"""An answer that comes in pieces (`--stream`), put together as if it had been sent whole.

    stream = EventStream()
    stream.read(b'data: {"choices": [{"text": " 42", "finish_reason": "stop"}]}\n\n')
    stream.whole()          # b'{"choices": [{"text": " 42", "finish_reason": "stop"}], …}'

Server-sent events (html.spec.whatwg.org, section 9.2), of which OpenAI's API uses `data` alone;
servers and gateways that have nothing to say yet send comments, events of another name (`ping`) or
without data. Only the texts are kept: the events of a long reasoning are a hundred times as long.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ruler_eval.run.backends.server_replies import MOST, Malformed, Refused, inside, read_json

on_begin: ContextVar[Callable[[], None]] = ContextVar("on_begin", default=lambda: None)
"""What is called when the first piece of a request's answer comes: the server has begun with it."""
_OF_A_PIECE = 64
"""Bytes that a piece takes beside its text."""
_LINE_END = re.compile(rb"\r\n|\n|\r")
_OF_ANSWERS = (b"", b"message", b"error")
"""Names of events that must hold a piece of the answer, or what went wrong."""
_THOUGHTS = ("reasoning_content", "reasoning")


class EventStream:
    """The pieces of one answer."""

    def __init__(self) -> None:
        self._line, self._data, self._name = bytearray(), bytearray(), b""
        self._after_return = False
        self._size = 0
        self._pieces: dict[str, list[Any]] = {}
        self._last: dict[str, Any] = {}
        self._fault: Any = None
        self._begun = self._chosen = self._ended = False

    @property
    def over(self) -> bool:
        """Whether nothing that may still come is read."""
        return self._ended or self._fault is not None

    def read(self, data: bytes) -> None:
        """Take what came next. Raises Refused where an answer is too long."""
        if self._after_return and data.startswith(b"\n"):
            data = data[1:]
        self._after_return = data.endswith(b"\r")
        *lines, rest = _LINE_END.split(data)
        for line in lines:
            self._read_line(bytes(self._line) + line)
            self._line.clear()
        self._line += rest
        if self._size + len(self._data) + len(self._line) > MOST:
            raise Refused(f"the answer is longer than {MOST >> 20} MB")

    def _read_line(self, line: bytes) -> None:
        field, _, value = line.removeprefix(codecs.BOM_UTF8).partition(b":")
        if field == b"event":
            self._name = value.strip()
        elif field == b"data" and value.strip() == b"[DONE]":
            self._read_line(b"")
            self._ended = True
        elif field == b"data":
            self._data += value + b"\n"
        elif not line:
            if self._data.strip() and not self.over:
                self._read_event(self._name, self._data.decode("utf-8", "replace"))
            self._data.clear()
            self._name = b""

    def _read_event(self, name: bytes, data: str) -> None:
        try:
            event = read_json(data)
        except Malformed as error:
            event = str(error)
        choices = inside(event, "choices")
        wrong = inside(event, "error") is not None
        if not (wrong or isinstance(choices, list) or name in _OF_ANSWERS):
            return
        if not self._begun:
            self._begun = True
            on_begin.get()()
        if wrong or not isinstance(choices, list):
            self._fault = event
            return
        if inside(event, "usage") is not None:
            self._last["usage"] = event["usage"]
        for choice in choices:
            if not inside(choice, "index"):  # a request for two answers is told of both in turn
                self._take(choice)

    def _take(self, choice: Any) -> None:
        """Keep what a piece adds to the answer."""
        if not isinstance(choice, dict):
            self._fault = f"no choice in a piece of the answer: {choice}"
            return
        self._chosen = True
        delta = inside(choice, "delta") or inside(choice, "message")  # a whole one, in one event
        found = {"text": inside(choice, "text"), "content": inside(delta, "content")}
        thoughts = (inside(delta, name) for name in _THOUGHTS)
        found["reasoning"] = next((one for one in thoughts if one), None)
        for name, piece in found.items():
            if piece and not isinstance(piece, str | list) and name != "reasoning":
                self._fault = f"no text in a piece of the answer: {piece}"
            elif piece:
                self._pieces.setdefault(name, []).append(piece)
                self._size += len(str(piece)) + _OF_A_PIECE
        reason = inside(choice, "finish_reason")
        if reason is not None:
            self._last["finish_reason"] = reason

    def whole(self) -> bytes:
        """The answer as JSON; what the server sent instead of one, where it did."""
        self._read_line(b"")
        finished = "finish_reason" in self._last or (self._ended and self._chosen)
        if self._fault is None and not finished:
            self._fault = "the stream ended before the answer did"
        if self._fault is not None:
            return json.dumps({"error": self._fault}).encode()
        texts = {name: _joined(pieces) for name, pieces in self._pieces.items()}
        choice: dict[str, Any] = {"finish_reason": self._last.get("finish_reason")}
        if "content" in texts or "reasoning" in texts or "text" not in texts:
            message = {"content": texts.get("content"), "reasoning": texts.get("reasoning")}
            choice["message"] = message
        else:
            choice["text"] = texts["text"]
        return json.dumps({"choices": [choice], "usage": self._last.get("usage")}).encode()


def _joined(pieces: list[Any]) -> Any:
    """Texts as one; or the parts of thinking and of text that Mistral sends, as one list."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    parts: list[Any] = []
    for piece in pieces:
        parts += piece if isinstance(piece, list) else [{"type": "text", "text": piece}]
    return parts
