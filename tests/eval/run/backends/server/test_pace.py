"""A server is sent as many requests at a time as make it faster, and fewer where it fails."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import ruler_dataset
from ruler_eval.run.backends.backend import ModelOptions
from ruler_eval.run.backends.server.pace import Pace
from ruler_eval.run.backends.server.vllm_metrics import cache_of
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.runner import run
from tests.eval.run import small_release
from tests.eval.run.backends.hostile_server import Reply, hostile_server, usual

pytestmark = pytest.mark.skipif(
    find_spec("openai") is None, reason="the openai extra is not installed"
)


def test_it_halves_once_for_all_in_flight_and_grows_by_one_a_round() -> None:
    pace = Pace(16, tokens=1600)
    for _ in range(16):  # all that were in flight
        pace.failed(TimeoutError())
    assert pace.now == 8
    pace.failed(ValueError())  # a row's own failure
    assert pace.now == 8
    for _ in range(8 + 9):
        pace.answered(5)
    assert (pace.now, pace.tokens) == (10, 1000)
    pace.failed(TimeoutError())
    assert pace.now == 5
    for _ in range(1000):
        pace.answered(5)
    assert pace.now == 16


class Answers:
    """A server that takes `seconds` for each answer, and `at_once` of them at a time."""

    def __init__(self, seconds: float, at_once: int) -> None:
        self.now, self.seconds, self.at_once = 0.0, seconds, at_once

    def after(self, pace: Pace) -> None:
        """The next answer comes when it can."""
        assert pace.full(pace.now, 0)
        self.now += self.seconds / min(pace.now, self.at_once)
        pace.answered(100)


def test_it_grows_while_that_is_faster_and_goes_back_to_what_was_as_fast() -> None:
    server = Answers(seconds=1.0, at_once=100)
    pace = Pace(32, tokens=3200, most=1000, clock=lambda: server.now)
    asyncio.run(pace.watch(asyncio.sleep(0), 100))
    seen = []
    for _ in range(2000):
        server.after(pace)
        seen += [pace.now] if pace.now not in seen else []
    assert seen == [32, 48, 72, 108, 162]
    assert (pace.now, pace.tokens) == (108, 3200)
    pace.failed(TimeoutError())
    for _ in range(20_000):
        server.after(pace)
    assert pace.now == 108


def test_it_does_not_grow_where_rows_are_not_ready_as_fast_as_they_are_answered() -> None:
    server = Answers(seconds=1.0, at_once=100)
    pace = Pace(32, tokens=3200, most=1000, clock=lambda: server.now)
    asyncio.run(pace.watch(asyncio.sleep(0), 100))
    for _ in range(200):
        assert not pace.full(3, 300)
        server.now += 0.1 / (1 + server.now)  # they are answered faster and faster
        pace.answered(100)
    assert pace.now == 32


def test_it_never_grows_beyond_what_was_asked_for() -> None:
    for options in (ModelOptions("m", concurrency=16), ModelOptions("m", tokens_in_flight=1 << 20)):
        pace, server = Pace.of(options), Answers(seconds=1.0, at_once=10**6)
        for _ in range(5000):
            server.after(pace)
        assert pace.now <= (options.concurrency or 1000)
        assert pace.tokens <= (options.tokens_in_flight or 2 << 20)


def test_a_server_that_answers_many_at_a_time_is_sent_more_than_at_first(
    tmp_path: Path, serve: Callable[..., str], stats: Callable[[str], dict[str, Any]]
) -> None:
    url, data = serve(answer="x", delay=0.4), small_release.write(tmp_path / "ruler", rows=20)
    options, out = ModelOptions("m", base_url=url), tmp_path / "RUN"
    run(RunOrder(str(data), ("all_4k",), "openai", out, options=options, mode="chat", quiet=True))
    assert 32 < stats(url)["most"] <= 108


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
    def first(**given: int) -> tuple[int, int]:
        pace = Pace.of(ModelOptions("m", **given))
        return pace.now, pace.tokens

    assert first() == (32, 2 << 20)
    assert first(replicas_behind=16) == (512, 32 << 20)
    given = {"concurrency": 64, "tokens_in_flight": 1 << 20}
    assert first(replicas_behind=16, **given) == (64, 1 << 20)


def test_bounds_follow_what_vllm_tells_of_its_engines() -> None:
    engine = 'vllm:cache_config_info{block_size="16",engine="%d",num_gpu_blocks="4096"%s} 1.0\n'
    of_two = cache_of(engine % (0, "") + engine % (1, ""))
    assert of_two == (65536, 2)
    assert (
        Pace.of(ModelOptions("m"), *of_two).now,
        Pace.of(ModelOptions("m"), *of_two).tokens,
    ) == (
        64,
        4 * 65536,
    )
    assert cache_of(engine % (0, ',kv_cache_size_tokens="9000"')) == (9000, 1)
    assert cache_of(engine % (0, ',kv_cache_size_tokens="None"')) == (65536, 1)
    assert cache_of("<html>") == (None, 1)


def test_a_server_s_cache_bounds_the_tokens_in_flight(small: Path, tmp_path: Path) -> None:
    """Two rows of it fill the cache: no more than four are sent at a time."""
    lock, state = threading.Lock(), {"now": 0, "most": 0}
    size = max(row["length"] for row in ruler_dataset.load(small, "vt_4k"))
    told = f'vllm:cache_config_info{{engine="0",kv_cache_size_tokens="{2 * size}"}} 1.0'

    def answer(path: str) -> Reply:
        if path == "/metrics":
            return Reply(told.encode())
        if not path.endswith("completions"):
            return usual(path)
        with lock:
            state["now"] += 1
            state["most"] = max(state["most"], state["now"])
        time.sleep(0.1)
        with lock:
            state["now"] -= 1
        return usual(path)

    with hostile_server(answer) as url:
        options = ModelOptions("m", base_url=url)
        out = tmp_path / "RUN"
        order = RunOrder(str(small), ("vt_4k",), "openai", out, options=options, quiet=True)
        assert sum(run(order).total.values()) == 5
    assert state["most"] <= 4
