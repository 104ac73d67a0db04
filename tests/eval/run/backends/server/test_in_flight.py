"""Requests in flight, and how they are called off where a run ends early."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from ruler_eval.run.backends.backend import Completion
from ruler_eval.run.backends.server.in_flight import in_flight
from ruler_eval.run.backends.server.pace import Pace
from ruler_eval.run.prompts import Prompt

pytestmark = pytest.mark.skipif(
    find_spec("openai") is None, reason="the openai extra is not installed"
)
PROMPT = Prompt(config="vt_4k", index=0, messages=(), text="", token_ids=None, max_new_tokens=9)


def test_what_has_just_begun_is_called_off_without_a_warning() -> None:
    """A connection is made by anyio's tasks, which may not be cancelled before they begin."""
    import anyio

    loop = asyncio.new_event_loop()

    async def complete(prompt: Prompt) -> Completion:
        async with anyio.create_task_group() as connecting:
            connecting.start_soon(anyio.sleep, 60)
        return Completion(prompt)

    def prompts() -> Iterator[Prompt]:
        loop.call_soon_threadsafe(time.sleep, 0.2)  # the first step waits until all is called off
        yield PROMPT
        raise KeyError

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with pytest.raises(KeyError):
            list(in_flight(prompts(), complete, loop, Pace(1, tokens=9)))
        assert asyncio.all_tasks(loop) == set()
        gc.collect()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    assert [str(one.message) for one in found] == []
