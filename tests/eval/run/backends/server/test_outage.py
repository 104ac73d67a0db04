"""A server that is gone makes rows wait, not fail; after too long a time the run ends."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from ruler_eval.run.backends.backend import Completion
from ruler_eval.run.backends.server.in_flight import completed
from ruler_eval.run.backends.server.outage import ROWS, GivenUp, Outage
from ruler_eval.run.prompts import Prompt

ANSWER = {"choices": [{"text": "42", "finish_reason": "stop"}]}


def prompt(index: int) -> Prompt:
    return Prompt(
        config="vt_4k", index=index, messages=(), text="?", token_ids=None, max_new_tokens=5
    )


class Server:
    """It fails `failures` requests, and all until it was asked `away` times whether it is alive."""

    def __init__(self, failures: float = 0, away: float = 0) -> None:
        self.failures, self.away, self.lines = failures, away, list[str]()

    async def ask(self) -> Any:
        await asyncio.sleep(0)
        self.failures -= 1
        if self.failures >= 0 or self.away > 0:
            raise TimeoutError
        return ANSWER

    async def alive(self) -> bool:
        self.away -= 1
        return self.away <= 0

    def run(self, rows: int, retries: int = 2, give_up_after: float = 30.0) -> list[Completion]:
        async def all_rows() -> list[Completion]:
            outage = Outage(self.alive, give_up_after, self.lines.append, first_pause=0.001)
            return await asyncio.gather(
                *(completed(prompt(i), self.ask, outage, retries, 0.001) for i in range(rows))
            )

        return asyncio.run(all_rows())


def test_rows_wait_for_a_server_that_is_gone_and_none_fails() -> None:
    server = Server(away=6)
    found = server.run(4)
    assert [completion.error for completion in found] == [None] * 4
    assert server.lines == ["TimeoutError"]  # one line, however often it was asked


def test_many_rows_that_fail_alike_are_the_server_s_fault_though_it_says_it_is_well() -> None:
    server = Server(failures=5 * ROWS)
    found = server.run(ROWS, retries=3)
    assert [completion.error for completion in found] == [None] * ROWS
    assert server.lines == ["TimeoutError"]


def test_a_row_that_fails_alone_is_its_own_failure() -> None:
    (found,) = Server(failures=99).run(1)
    assert found.error
    assert "TimeoutError" in found.error


@pytest.mark.parametrize("fault", ["failures", "away"])
def test_a_server_that_stays_away_ends_the_run(fault: str) -> None:
    with pytest.raises(GivenUp, match="TimeoutError"):
        Server(**{fault: math.inf}).run(2 * ROWS, give_up_after=0.05)
