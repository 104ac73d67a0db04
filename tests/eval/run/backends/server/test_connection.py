"""The connection to a server: what is called off, and what the environment may say of it."""

from __future__ import annotations

import asyncio
import gc
import time
import warnings
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(
    find_spec("openai") is None, reason="the openai extra is not installed"
)


def test_a_request_that_is_called_off_before_it_begins_leaves_no_warning() -> None:
    """As where a run ends early while rows are still counted by the server."""
    from ruler_eval.run.backends.server.connection import Connection

    def call_off() -> None:
        for task in asyncio.all_tasks(connection.loop):
            task.cancel()

    with (
        warnings.catch_warnings(record=True) as found,
        closing(Connection("http://127.0.0.1:9/v1", "k", 1.0)) as connection,
        ThreadPoolExecutor(1) as thread,
    ):
        warnings.simplefilter("always")
        connection.loop.call_soon_threadsafe(time.sleep, 0.2)  # what is asked waits meanwhile
        asked = thread.submit(lambda: connection.call(connection.ask("/models")))
        time.sleep(0.1)
        connection.loop.call_soon_threadsafe(call_off)
        assert isinstance(asked.exception(5), CancelledError)
        del asked
        gc.collect()
    assert [str(one.message) for one in found] == []
