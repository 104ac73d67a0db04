"""A real HTTP server on loopback that refuses what a provider is understood to refuse.

with strict_server(RULES["mistral"]) as (url, requests):
    …                                       # what does not hold is answered with HTTP 400 or 422

The rules are written by hand and not read from providers.toml; no provider was asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

CHAT = {"model", "messages", "stream", "stream_options"}
OPENAI = CHAT | {"max_completion_tokens", "seed"}
SAMPLING = {"temperature", "top_p", "seed"}


@dataclass(frozen=True)
class Rules:
    """What a provider takes: fields, and whether the last turn may be the assistant's.

    `last` is what the last turn must have for that (None: never), which an answer `repeats`.
    `owner` is what /models says.
    """

    fields: set[str]
    status: int = 400
    last: dict[str, Any] | None = None
    owner: str = "system"
    reply: dict[str, Any] = field(default_factory=dict)
    not_both: tuple[str, str] | None = None
    thinking_off: bool = False
    repeats: bool = False


ENGINE = CHAT | SAMPLING | {"max_tokens", "top_k", "min_p", "chat_template_kwargs"}
RULES = {
    "openai_reasoning": Rules(OPENAI),
    "openai": Rules(OPENAI | SAMPLING),
    "azure_reasoning": Rules(OPENAI),
    "azure": Rules(OPENAI | SAMPLING),
    "anthropic": Rules(
        CHAT | SAMPLING | {"max_tokens", "max_completion_tokens"}, not_both=("temperature", "top_p")
    ),
    "gemini": Rules(CHAT | {"temperature", "top_p", "max_tokens", "max_completion_tokens"}),
    "mistral": Rules(
        CHAT - {"stream_options"} | {"temperature", "top_p", "random_seed", "max_tokens"},
        status=422,
        last={"prefix": True},
        repeats=True,
        reply={
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "let me see"}]},
                {"type": "text", "text": "an answer"},
            ]
        },
    ),
    "sglang": Rules(
        ENGINE | {"repetition_penalty", "continue_final_message", "add_generation_prompt"},
        last={},
        owner="sglang",
        reply={"content": "an answer", "reasoning_content": "let me see"},
    ),
    "llama_cpp": Rules(
        ENGINE | {"repeat_penalty"},
        last={},
        owner="llamacpp",
        repeats=True,
        reply={"content": "an answer", "reasoning_content": "let me see"},
        thinking_off=True,
    ),
    "llama_cpp_python": Rules(
        CHAT | SAMPLING | {"max_tokens", "top_k", "min_p", "repeat_penalty"}, owner="me"
    ),
    "ollama": Rules(
        CHAT | SAMPLING | {"max_tokens"},
        owner="library",
        reply={"content": "an answer", "reasoning": "let me see"},
    ),
}


def refused(rules: Rules, request: dict[str, Any]) -> str | None:
    """Why a request is refused; None where it is answered."""
    if unknown := sorted({*request} - rules.fields):
        return f"Unsupported parameter: '{unknown[0]}'"
    if rules.not_both and {*rules.not_both} <= {*request}:
        return f"{' and '.join(rules.not_both)} cannot both be specified"
    last = request["messages"][-1]
    if last["role"] != "assistant":
        return None
    if rules.last is None or any(last.get(name) != value for name, value in rules.last.items()):
        return "the last message must be the user's"
    thinking = request.get("chat_template_kwargs", {}).get("enable_thinking", True)
    if rules.thinking_off and thinking:
        return "a turn cannot be continued with thinking on"
    return None


@contextmanager
def strict_server(rules: Rules) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The base URL of a server that keeps these rules, and the requests that it was sent."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = {"data": [{"id": "m", "owned_by": rules.owner}]}
            here = self.path == "/v1/models"
            self._send(200 if here else 404, found if here else {})

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v1/chat/completions":
                return self._send(404, {"error": {"message": "no such path"}})
            requests.append(request)
            if why := refused(rules, request):
                return self._send(rules.status, {"error": {"message": why}})
            message = {"role": "assistant", "content": "an answer", **rules.reply}
            last = request["messages"][-1]
            if rules.repeats and last["role"] == "assistant":  # it answers with the whole turn
                message["content"] = last["content"] + "an answer"
            self._send(200, {"choices": [{"finish_reason": "stop", "message": message}]})
            return None

        def _send(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", requests
    finally:
        server.shutdown()
        server.server_close()
