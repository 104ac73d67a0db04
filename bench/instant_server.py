"""A server that answers every completion at once and reads no prompt: what is left is the client.

With `stream` in the request the answer is PIECES events of a token each, as vLLM writes them.

    with instant_server.started() as url: …

It runs as a separate process; `delay` is the number of seconds that it waits.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

MODELS = b'{"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 100000000}]}'
ANSWER = (
    b'{"choices": [{"index": 0, "finish_reason": "stop",'
    b' "text": " 42", "message": {"content": " 42"}}]}'
)
PIECES = 128
PIECE = (
    b'data: {"id":"cmpl-8a8f6c2f1f0b4d7f","object":"text_completion","created":1,"model":"m",'
    b'"choices":[{"index":0,"text":" 4","logprobs":null,"finish_reason":%b}]}\n\n'
)
STREAM = PIECE % b"null" * (PIECES - 1) + PIECE % b'"stop"' + b"data: [DONE]\n\n"
HEAD = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"


@contextmanager
def started(delay: float = 0.0) -> Iterator[str]:
    """Start the server; its base URL."""
    command = [sys.executable, "-m", "bench.instant_server", str(delay)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.wait()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            sizes = [line for line in head.split(b"\r\n") if line.startswith(b"content-length:")]
            left = int(sizes[0][15:]) if sizes else 0
            end = b""
            while left:
                part = await reader.read(min(left, 1 << 20))
                left, end = left - len(part), (end + part)[-1000:]
            path = head.split(b" ", 2)[1]
            if path.endswith(b"completions"):
                await asyncio.sleep(float(sys.argv[1]))
                status, body = b"200 OK", STREAM if b'"stream":true' in end else ANSWER
            else:
                here = path.endswith(b"/models")
                status, body = (b"200 OK", MODELS) if here else (b"404 No", b"{}")
            kind = b"text/event-stream" if body is STREAM else b"application/json"
            writer.write(HEAD % (status, kind, len(body), body))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
