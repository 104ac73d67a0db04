"""A real HTTP server on loopback, in a thread, that answers whatever a test wants it to.

with hostile_server(lambda path: Reply({"object": "list", "data": []})) as url:
    …                                            # http://127.0.0.1:43210/v1
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

CHAT: dict[str, Any] = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "system_fingerprint": "f",
    "service_tier": "default",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "stop_reason": "s",
            "message": {
                "role": "assistant",
                "content": "an answer",
                "reasoning_content": "well",
                "refusal": "no",
                "tool_calls": [{"id": "t", "function": {"name": "f", "arguments": "{}"}}],
            },
            "logprobs": {"content": [{"token": "a", "logprob": -1.0}]},
        }
    ],
    "usage": {
        "prompt_tokens": 900,
        "completion_tokens": 9,
        "total_tokens": 909,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
}
TEXT: dict[str, Any] = {
    "id": "x",
    "object": "text_completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "text": "an answer", "logprobs": None}],
    "usage": CHAT["usage"],
}
MODELS: dict[str, Any] = {
    "object": "list",
    "data": [
        {
            "id": "m",
            "object": "model",
            "created": 1,
            "owned_by": "vllm",
            "root": "m",
            "parent": "base",
            "permission": [{"id": "p"}],
        },
        {"id": "base", "owned_by": "vllm", "parent": None, "max_model_len": 10**6},
    ],
}
TOKENIZED: dict[str, Any] = {
    "count": 900,
    "max_model_len": 10**6,
    "tokens": [1, 2, 3],
    "token_strs": ["a"],
}
METRICS = b"""# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",cache_dtype="auto",engine="0",num_gpu_blocks="65536"} 1.0
"""
ERRORS: tuple[dict[str, Any], ...] = (
    {"error": {"message": "bad", "type": "t", "param": "p", "code": "c"}},
    {"object": "error", "message": "bad", "type": "t", "param": "p", "code": 400},
    {"detail": [{"loc": ["body", 1], "msg": "bad", "type": "t"}]},
)


@dataclass
class Reply:
    """What is sent; a body that is neither bytes nor an iterator of them is sent as JSON."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    reason: str = "OK"


def usual(path: str) -> Reply:
    """What a harmless vLLM answers."""
    found = {
        "/v1/models": MODELS,
        "/v1/chat/completions": CHAT,
        "/v1/completions": TEXT,
        "/version": {"version": "0.9.1"},
        "/tokenize": TOKENIZED,
        "/metrics": METRICS,
    }
    return Reply(found[path])


@contextmanager
def hostile_server(answer: Callable[[str], Reply]) -> Iterator[str]:
    """Serve what `answer` says for a path; the base URL to be given to a client."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = answer(self.path)
            self.send_response(reply.status, reply.reason)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Connection", "close")
            self.close_connection = True
            self.end_headers()
            try:
                for part in _parts(reply.body):
                    self.wfile.write(part)
                    self.wfile.flush()
            except OSError:  # the client has had enough
                pass

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def _parts(body: Any) -> Iterable[bytes]:
    if isinstance(body, bytes):
        return [body]
    return body if isinstance(body, Iterator) else [json.dumps(body).encode()]
