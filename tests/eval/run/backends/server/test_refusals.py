"""Rows that a server refuses alike, from the first on, are not recorded as failed."""

from __future__ import annotations

import pytest

from ruler_eval.run.backends.backend import Completion
from ruler_eval.run.backends.server.refusals import ROWS, AllRefused, Refusals
from tests.eval.run.backends.server.test_outage import prompt


def sent(*statuses: int | None) -> list[int | None]:
    """The statuses of what can be recorded, in order; None is an answer."""
    refusals, found = Refusals(), []
    for index, status in enumerate(statuses):
        one = Completion(prompt(index), error=status and f"HTTP {status}: no", status=status)
        found += refusals(one)
    return [completion.status for completion in [*found, *refusals.rest()]]


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_server_that_refuses_every_row_ends_the_run(status: int) -> None:
    assert sent(*[status] * (ROWS - 1)) == [status] * (ROWS - 1)
    with pytest.raises(AllRefused, match=f"HTTP {status}"):
        sent(*[status] * ROWS)


def test_refused_rows_among_answered_ones_are_their_own_failures() -> None:
    some = [*[400] * 7, None, *[400] * 20, 401, 403, None, *[401] * 7]
    assert sent(*some) == some


def test_a_key_that_stops_working_ends_the_run() -> None:
    with pytest.raises(AllRefused):
        sent(None, *[401] * ROWS)
