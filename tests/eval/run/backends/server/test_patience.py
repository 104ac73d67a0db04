"""A request's own time begins when what was sent before it is answered."""

from __future__ import annotations

import asyncio
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from ruler_eval.run.backends.backend import ModelOptions
from ruler_eval.run.backends.server.patience import Patience
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.runner import run
from tests.eval.run.backends.hostile_server import Reply, hostile_server, usual

pytestmark = pytest.mark.skipif(
    find_spec("openai") is None, reason="the openai extra is not installed"
)


def test_rows_that_wait_in_a_queue_longer_than_the_timeout_are_answered(
    small: Path, tmp_path: Path
) -> None:
    """Twenty rows are sent at once, and answered one after another: the last after 3 s."""
    one, asked = threading.Lock(), []

    def answer(path: str) -> Reply:
        if path.endswith("completions"):
            asked.append(path)
            with one:
                time.sleep(0.15)
        return usual(path)

    with hostile_server(answer) as url:
        options = ModelOptions("m", base_url=url, concurrency=20, retries=1, timeout=2.2)
        out = tmp_path / "RUN"
        order = RunOrder(str(small), ("all_4k",), "openai", out, options=options, quiet=True)
        total = run(order).total
    assert (len(asked), total["error"]) == (20, 0)


async def never() -> None:
    await asyncio.sleep(60)


@pytest.mark.parametrize("answered", [0, 50])
def test_what_is_not_answered_is_given_up(answered: int) -> None:
    """After as many answers of 2 ms each, ten requests that hang are waited for 0.05 s."""

    async def run_all() -> float:
        patience = Patience(0.05)
        for _ in range(answered):
            await patience.wait(asyncio.sleep(0.002), 100)
        began = time.monotonic()
        hung = [patience.wait(never(), 100) for _ in range(10)]
        ended = await asyncio.gather(*hung, return_exceptions=True)
        assert {type(end) for end in ended} == {asyncio.TimeoutError}
        return time.monotonic() - began

    assert 0.05 <= asyncio.run(run_all()) < 5


def test_a_request_that_is_cancelled_is_ended() -> None:
    async def cancel() -> bool:
        request = asyncio.ensure_future(never())
        waiting = asyncio.ensure_future(Patience(60).wait(request, 1))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.sleep(0)
        return request.cancelled()

    assert asyncio.run(cancel())
