"""Rows that are kept until they are sent: within a number of bytes, those sent last go first."""

from __future__ import annotations

import pyarrow as pa

from ruler_eval.run.preparing.kept_rows import KeptRows

KEYS = [("a", index) for index in range(6)]


def text_of(key: tuple[str, int]) -> str:
    return f"row {key[1]} ą " * 40


def filled(most: int, order: list[int]) -> KeptRows:
    kept = KeptRows(most)
    kept.expect(KEYS)
    for index in order:
        key = "a", index
        kept.add(key, {"index": index}, pa.py_buffer(text_of(key).encode()))
    return kept


def there(kept: KeptRows) -> list[int]:
    return [key[1] for key in KEYS if not kept.expects(key)]


def test_a_row_comes_back_once_as_it_was() -> None:
    kept = filled(1 << 20, [3, 0])
    assert kept.take(("a", 3)) == {"index": 3, "input": text_of(("a", 3))}
    assert kept.take(("a", 3)) is None
    assert not kept.expects(("a", 3))  # it was sent
    kept.take(("a", 0))
    assert kept.bytes == 0


def test_the_rows_that_are_sent_last_go_first() -> None:
    one = filled(1 << 20, [0]).bytes
    room = 2 * one + one // 2  # for three: one may go over
    assert there(filled(room, [0, 1, 2, 3, 4, 5])) == [0, 1, 2]
    assert there(filled(room, [5, 4, 3, 2, 1, 0])) == [0, 1, 2]
    kept = filled(room, [0, 1, 2])
    kept.take(("a", 0))
    kept.add(("a", 5), {"index": 5}, pa.py_buffer(text_of(("a", 5)).encode()))
    kept.add(("a", 3), {"index": 3}, pa.py_buffer(text_of(("a", 3)).encode()))
    assert there(kept) == [0, 1, 2, 3]  # 0 was sent; 5 went for 3


def test_what_is_expected_no_more_is_let_go() -> None:
    kept = filled(1 << 20, [1, 2])
    kept.expect([("a", 2)])
    assert kept.take(("a", 1)) is None
    assert kept.take(("a", 2)) is not None
    assert kept.bytes == 0
