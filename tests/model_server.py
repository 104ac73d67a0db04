"""Serve a fake model over HTTP on this machine; a function of the request gives the reply.

    with model_server(lambda request: Reply(503) if request.tries < 3 else answer("42")) as server:
        …                                            # server.url, server.requests

It is not pytest-httpserver, because that cannot close a connection in the middle of an answer, send
a stream piece by piece, or hold a thousand requests at once. It imports only the standard library,
so that the vLLM environment and bench/ can use it too.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

QUESTION = -1


@dataclass(frozen=True)
class Request:
    """A request for a completion."""

    path: str
    body: dict[str, Any]
    row: int
    """The number of its prompt, in the order in which prompts first arrived; QUESTION for the short
    question that a server is asked after a failure."""
    tries: int
    """How often this prompt was sent so far; 1 is the first time."""
    headers: Mapping[str, str]
    at: float
    """When it arrived, in seconds of time.monotonic()."""

    @property
    def prompt(self) -> str:
        """The text of the prompt, or of all messages."""
        if "messages" in self.body:
            return "".join(message["content"] for message in self.body["messages"])
        return str(self.body["prompt"])


@dataclass(frozen=True)
class Reply:
    """A reply: JSON, bytes, or an iterator of bytes; `drop` breaks the connection off."""

    status: int = 200
    body: Any = field(default_factory=lambda: {"error": {"message": "told to fail"}})
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False


def answer(text: str = "an answer", **choice: Any) -> Reply:
    """Return a completion that both endpoints accept."""
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "finish_reason": "stop", "text": text, "message": message, **choice}]
    return Reply(200, {"id": "x", "created": 0, "model": "m", "choices": choices, "usage": None})


def answer_from_prompt(request: Request) -> Reply:
    """Answer with every value and variable that a prompt of small_release.py holds."""
    values = re.findall(r" is: ([\w-]+)\.", request.prompt)
    values = values or re.findall(r"VAR (\w+) =", request.prompt)
    return answer(", ".join(values) or "no idea")


def events(*chunks: Any, last: bytes = b"data: [DONE]\n\n") -> bytes:
    """Return chunks as server-sent events, with comments between them."""
    lines = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    return b": here\n\n".join(lines) + last


class ModelServer:
    """A running server: its address, and the requests for completions so far."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[Request] = []
        self.in_flight = self.max_in_flight = 0

    @property
    def tries(self) -> list[int]:
        """The number of requests for each prompt, in the order in which prompts first arrived."""
        rows = [request.row for request in self.requests if request.row != QUESTION]
        return [rows.count(row) for row in sorted(set(rows))]


VLLM = {"id": "m", "object": "model", "owned_by": "vllm", "max_model_len": 10**6}
MODEL = {"id": "m", "object": "model", "owned_by": "test"}


@contextmanager
def model_server(
    reply: Callable[[Request], Reply] = lambda _: answer(),
    models: Sequence[Mapping[str, Any]] | Callable[[], Reply] = (MODEL,),
    paths: Mapping[str, Any] | None = None,
    port: int = 0,
) -> Iterator[ModelServer]:
    """Serve completions from `reply`, /v1/models, and the JSON, text or Reply of other `paths`.

    A function in `paths` takes the body of a request and returns the JSON.
    """
    lock = Lock()
    tries_of: dict[str, int] = {}
    row_of: dict[str, int] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path.partition("?")[0] == "/v1/models":
                self.send(models() if callable(models) else Reply(200, {"data": list(models)}))
            elif paths and self.path.partition("?")[0] in paths:
                page = paths[self.path.partition("?")[0]]
                self.send(page if isinstance(page, Reply) else Reply(200, page))
            else:
                self.send(Reply(404))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if paths and callable(paths.get(self.path)):
                self.send(Reply(200, paths[self.path](body)))
                return
            if not self.path.partition("?")[0].endswith(("/completions", "/generate")):
                self.do_GET()
                return
            prompt = json.dumps(body.get("messages") or body.get("prompt"))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                is_question = "Say yes." in prompt
                row = QUESTION if is_question else row_of.setdefault(prompt, len(row_of))
                tries = tries_of[prompt] = tries_of.get(prompt, 0) + 1
                request = Request(self.path, body, row, tries, headers, time.monotonic())
                server.requests.append(request)
                server.in_flight += 1
                server.max_in_flight = max(server.in_flight, server.max_in_flight)
            try:
                self.send(reply(request))
            finally:
                with lock:
                    server.in_flight -= 1

        do_PUT = do_POST  # as NVIDIA's scripts call vLLM's /generate

        def send(self, response: Reply) -> None:
            body = response.body
            if not isinstance(body, bytes | Iterator):
                body = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            try:
                self.send_response(response.status)
                for name, value in response.headers.items():
                    self.send_header(name, value)
                if isinstance(body, bytes) and not response.drop:
                    self.send_header("Content-Length", str(len(body)))
                else:
                    self.send_header("Connection", "close")
                    self.close_connection = True
                if response.drop:
                    self.send_header("Content-Length", "100000")
                self.end_headers()
                for part in [body] if isinstance(body, bytes) else body:
                    self.wfile.write(part)
                    self.wfile.flush()
            except OSError:  # the client has gone
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 2048

    http = Server(("127.0.0.1", port), Handler)
    server = ModelServer(f"http://127.0.0.1:{http.server_port}/v1")
    Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
