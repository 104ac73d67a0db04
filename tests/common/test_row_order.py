"""The random order of rows is frozen, so that a sample is the same for every model."""

from __future__ import annotations

import pytest

from ruler_common.names import LENGTHS
from ruler_common.rows import row_order

FROZEN = [5, 2, 8, 0, 3, 4, 1, 7, 6, 9]


def test_the_order_is_frozen():
    """All runs of a data version must take the same rows."""
    assert row_order("1.0.0", "ruler", "vt", "4k", 10) == FROZEN
    assert row_order("1.0.0", "ruler", "vt", "8k", 10) == FROZEN[1:] + FROZEN[:1]


@pytest.mark.parametrize("dataset", LENGTHS)
def test_lengths_begin_with_different_rows(dataset):
    lengths = LENGTHS[dataset]
    share = 500 // len(lengths)
    orders = [row_order("1.0.0", dataset, "niah_multivalue", length, 500) for length in lengths]
    assert all(sorted(order) == list(range(500)) for order in orders)
    first = [index for order in orders for index in order[:share]]
    assert len({*first}) == len(first)


def test_another_task_length_or_version_has_another_order():
    keys = [("1.0.0", "vt", "4k"), ("1.0.0", "cwe", "4k"), ("1.0.1", "vt", "4k")]
    keys += [("1.0.0", "vt", "5000"), ("1.0.0", "vt", "6000")]
    orders = {tuple(row_order(v, "ruler", task, length, 50)) for v, task, length in keys}
    assert len(orders) == len(keys)
