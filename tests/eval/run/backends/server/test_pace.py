"""A server that takes few requests at a time is sent fewer, and every row is answered."""

from __future__ import annotations

import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from ruler_eval.run.backends.backend import ModelOptions
from ruler_eval.run.backends.server.pace import Pace
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.runner import run
from tests.eval.run.backends.hostile_server import Reply, hostile_server, usual

pytestmark = pytest.mark.skipif(
    find_spec("openai") is None, reason="the openai extra is not installed"
)


def test_it_halves_once_for_all_in_flight_and_grows_by_one_a_round() -> None:
    pace = Pace(16)
    for _ in range(16):  # all that were in flight
        pace.failed(TimeoutError())
    assert pace.now == 8
    pace.failed(ValueError())  # a row's own failure
    assert pace.now == 8
    for _ in range(8 + 9):
        pace.answered()
    assert pace.now == 10
    pace.failed(TimeoutError())
    assert pace.now == 5
    for _ in range(1000):
        pace.answered()
    assert pace.now == 16


def test_a_server_that_takes_three_at_a_time_answers_all(small: Path, tmp_path: Path) -> None:
    lock, state = threading.Lock(), {"now": 0, "refused": 0, "answered": 0}

    def answer(path: str) -> Reply:
        if not path.endswith("completions"):
            return usual(path)
        with lock:
            if state["now"] >= 3:
                state["refused"] += 1
                return Reply({"error": {"message": "busy"}}, 429, {"Retry-After": "0.05"})
            state["now"] += 1
        time.sleep(0.2)
        with lock:
            state["now"] -= 1
            state["answered"] += 1
        return usual(path)

    with hostile_server(answer) as url:
        options = ModelOptions("m", base_url=url, concurrency=16, retries=50)
        order = RunOrder(
            str(small),
            ("all_4k",),
            "openai",
            tmp_path / "RUN",
            options=options,
            mode="chat",
            quiet=True,
        )
        assert sum(run(order).total.values()) == 20
    assert state["answered"] == 20
    assert state["refused"] > 0


def test_bounds_follow_the_replicas_unless_they_are_given() -> None:
    assert ModelOptions("m").most == (32, 2 << 20)
    assert ModelOptions("m", replicas_behind=16).most == (512, 32 << 20)
    given = ModelOptions("m", replicas_behind=16, concurrency=64, tokens_in_flight=1 << 20)
    assert given.most == (64, 1 << 20)
