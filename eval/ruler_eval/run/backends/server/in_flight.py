"""Requests in flight up to two bounds, and the tries of each.

    for completion in in_flight(prompts, complete, loop, Pace(32, tokens=2 << 20)): …

Prompts are pulled only when there is room for them; answers come as they finish.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from ruler_eval.run.backends import server_replies
from ruler_eval.run.backends.backend import Completion
from ruler_eval.run.backends.server.outage import GivenUp, Outage
from ruler_eval.run.backends.server.pace import Pace
from ruler_eval.run.prompts import Prompt


def in_flight(
    prompts: Iterator[Prompt],
    complete: Callable[[Prompt], Awaitable[Completion]],
    loop: asyncio.AbstractEventLoop,
    pace: Pace,
) -> Iterator[Completion]:
    """Complete every prompt in a loop of another thread, as the pace allows.

    A longer prompt is sent alone. Raises GivenUp.
    """
    answers: queue.SimpleQueue[Completion | GivenUp] = queue.SimpleQueue()

    async def work(prompt: Prompt) -> None:
        try:
            answers.put(await complete(prompt))
        except GivenUp as error:
            answers.put(error)

    async def stop() -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        await asyncio.sleep(0)  # each has begun: what anyio's tasks wrap would never be awaited
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def next_answer() -> Completion:
        answer = answers.get()
        if isinstance(answer, GivenUp):
            raise answer
        return answer

    requests = tokens = 0
    try:
        for prompt in prompts:
            size = prompt_tokens(prompt)
            while requests and (pace.full(requests, tokens + size) or not answers.empty()):
                answer = next_answer()
                requests, tokens = requests - 1, tokens - prompt_tokens(answer.prompt)
                yield answer
            asyncio.run_coroutine_threadsafe(work(prompt), loop)
            requests, tokens = requests + 1, tokens + size
        for _ in range(requests):
            yield next_answer()
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result()


def prompt_tokens(prompt: Prompt) -> int:
    """The tokens of a prompt by our tokenizer, else as the release counts its row."""
    return prompt.row_tokens if prompt.tokens is None else prompt.tokens


async def completed(
    prompt: Prompt,
    ask: Callable[[], Awaitable[Any]],
    outage: Outage,
    retries: int,
    timeout: float,
) -> Completion:
    """One row: tries until an answer, a final error, or the last try.

    A request of `timeout` seconds at most is what `ask` sends. Tries while the server is gone do
    not count. Raises GivenUp.
    """
    row, tries, outages = (prompt.config, prompt.index), 0, outage.count
    while True:
        await outage.over()
        if outage.count != outages:
            tries, outages = 0, outage.count
        try:
            completion = server_replies.read_completion(prompt, await ask())
        except Exception as error:  # whatever a server does, the row gets one recorded state
            tries += 1
            if server_replies.is_transient(error):
                kind, last = server_replies.kind_of(error), tries >= retries
                if kind != "HTTP 429" and await outage.begun(row, kind, last):
                    continue
                if not last:
                    await asyncio.sleep(server_replies.wait_seconds(error, tries, timeout))
                    continue
            status = getattr(error, "status_code", None)
            return Completion(prompt, error=server_replies.describe(error), status=status)
        outage.answered()
        return completion
