"""Rows are prepared by threads, and handed on in their order."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ruler_eval.run.preparing.ahead import MOST_TOKENS, Ahead
from ruler_eval.run.preparing.row_reader import SentRow


def rows(count: int, length: int = 1) -> Iterator[SentRow]:
    return (("vt_4k", {"index": index, "length": length}) for index in range(count))


def test_rows_are_handed_on_in_order_whoever_is_ready_first() -> None:
    second_is_done = threading.Event()

    def prepare(row: SentRow) -> int:
        if row[1]["index"] == 0:
            assert second_is_done.wait(30)
        elif row[1]["index"] == 1:
            second_is_done.set()
        return int(row[1]["index"])

    ahead = Ahead(prepare, threads=2)
    assert list(ahead(rows(20))) == list(range(20))
    ahead.close()


def test_no_more_is_taken_than_threads_and_memory_need() -> None:
    for length, most in ((1, 5), (MOST_TOKENS, 2)):
        taken: list[int] = []

        def counted(length: int = length, taken: list[int] = taken) -> Iterator[SentRow]:
            for row in rows(50, length):
                taken.append(row[1]["index"])
                yield row

        ahead = Ahead(lambda row: row, threads=2)
        handed_on = ahead(counted())
        next(handed_on)
        assert len(taken) == most
        handed_on.close()
        ahead.close()


def test_an_error_is_raised_where_the_row_is_asked_for() -> None:
    def prepare(row: SentRow) -> int:
        return 1 // int(row[1]["index"] != 1)

    ahead = Ahead(prepare, threads=2)
    handed_on = ahead(rows(3))
    assert next(handed_on) == 1
    with pytest.raises(ZeroDivisionError):
        next(handed_on)
    ahead.close()
