"""A real HTTP server on loopback that answers well or fails as its script says; run as a process.

    python failing_server.py '{"scripts": [["ok"], ["429", "ok"]]}'   # prints its port

The n-th new prompt gets the n-th script (cyclically), and each request for it the script's next
step, the last one forever. Steps: ok, no-usage (an answer without its token counts), or an HTTP
status. GET /stats tells what was done.

Answers wait `delay` seconds, or with `together` until so many requests wait at the same time.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
from typing import Any


def read_answer(asked: str) -> str:
    """Return every value and variable that a prompt of small_release holds."""
    values = re.findall(r" is: ([\w-]+)\.", asked) or re.findall(r"VAR (\w+) =", asked)
    return ", ".join(values) or "no idea"


class Server:
    def __init__(self, plan: dict[str, Any]) -> None:
        self.scripts = plan.get("scripts", [["ok"]])
        self.models = plan.get("models", [{"id": "m", "object": "model", "owned_by": "test"}])
        self.delay = plan.get("delay", 0.0)
        self.together = plan.get("together")
        self.waiting: list[asyncio.Future[None]] = []
        self.answer = plan.get("answer")
        self.order: dict[str, int] = {}
        self.tries: dict[str, int] = {}
        self.steps: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.now = self.most = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                method, path, _ = line.decode().split()
                headers = {}
                while (header := (await reader.readline()).decode().strip()) != "":
                    name, _, value = header.partition(":")
                    headers[name.lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.now += 1
                self.most = max(self.most, self.now)
                try:
                    keep = await self.reply(writer, method, path, body, headers)
                finally:
                    self.now -= 1
                if not keep:
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def reply(
        self,
        writer: asyncio.StreamWriter,
        method: str,
        path: str,
        body: bytes,
        headers: dict[str, str],
    ) -> bool:
        if path == "/stats":
            stats = {"steps": self.steps, "most": self.most, "requests": self.requests[:50]}
            return await self.send(writer, 200, stats)
        if path == "/v1/models":
            return await self.send(writer, 200, {"object": "list", "data": self.models})
        if path not in ("/v1/completions", "/v1/chat/completions"):
            return await self.send(writer, 404, {"error": {"message": "no such path"}})
        request = json.loads(body)
        asked = request.get("prompt") or "".join(m["content"] for m in request["messages"])
        key = hashlib.sha256(str(asked).encode()).hexdigest()
        script = self.scripts[self.order.setdefault(key, len(self.order)) % len(self.scripts)]
        tried = self.tries[key] = self.tries.get(key, 0) + 1
        step = script[min(tried, len(script)) - 1]
        self.steps.append(step)
        if len(self.requests) < 50:
            self.requests.append({"path": path, **request})
        await (self.others() if self.together else asyncio.sleep(self.delay))
        return await self.act(writer, step, path, request, str(asked))

    async def others(self) -> None:
        """Wait until enough requests wait, at most a minute."""
        self.waiting.append(asyncio.get_running_loop().create_future())
        here = self.waiting[-1]
        if len(self.waiting) == self.together:
            for one in self.waiting:
                one.set_result(None)
            self.waiting = []
        await asyncio.wait([here], timeout=60)

    async def act(
        self,
        writer: asyncio.StreamWriter,
        step: str,
        path: str,
        request: dict[str, Any],
        asked: str,
    ) -> bool:
        if step.isdigit():
            after = {"Retry-After": "0"} if step == "429" else {}
            return await self.send(writer, int(step), {"error": {"message": f"told {step}"}}, after)
        answer = self.completion(path, request, asked)
        if step == "no-usage":
            del answer["usage"]
        return await self.send(writer, 200, answer)

    def completion(self, path: str, request: dict[str, Any], asked: str) -> dict[str, Any]:
        text = self.answer if self.answer is not None else read_answer(asked)
        usage = {"prompt_tokens": len(asked.split()), "completion_tokens": 5}
        message: dict[str, Any] = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "stop"}
        if path.endswith("/chat/completions"):
            choice |= {"message": message}
        else:
            choice |= {"text": text, "logprobs": None}
        usage["total_tokens"] = sum(usage.values())
        return {
            "id": "x",
            "object": "chat.completion" if "chat" in path else "text_completion",
            "created": 0,
            "model": request["model"],
            "choices": [choice],
            "usage": usage,
        }

    async def send(
        self,
        writer: asyncio.StreamWriter,
        status: int,
        body: Any,
        headers: dict[str, str] | None = None,
        kind: str = "application/json",
    ) -> bool:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        await writer.drain()
        return True


async def main(plan: dict[str, Any]) -> None:
    server = await asyncio.start_server(
        Server(plan).serve, "127.0.0.1", 0, backlog=2048, limit=1 << 26
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
