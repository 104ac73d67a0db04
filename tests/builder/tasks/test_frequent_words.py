"""fwe: words whose ranks would tie, and the shares of the Zeta distribution."""

from __future__ import annotations

import math

import pytest

from ruler_builder.tasks.frequent_words import zeta_shares
from ruler_builder.tasks.registry import read_suite
from ruler_common.errors import RulerError
from tests.builder.tasks.row_reading import custom_task, task_of


@pytest.mark.parametrize("alpha", [3.5, 10])
def test_words_that_would_tie_are_refused_before_any_work(embedded, tmp_path, alpha):
    path = tmp_path / "own.toml"
    path.write_text(custom_task("frequent_words", alpha=alpha, words=10))
    with pytest.raises(RulerError, match="never lead the next: take a longer length"):
        task_of(embedded, "mine", "4k", read_suite(path)).check(1)


@pytest.mark.parametrize("alpha", [1.1, 1.5, 2.0, 2.5, 3.5])
def test_the_shares_of_ranks_are_those_of_the_zeta_distribution(alpha):
    from scipy import stats

    shares = zeta_shares(alpha, 5000)
    assert shares == pytest.approx(stats.zipf.pmf(range(1, 5001), alpha), rel=1e-12)


def test_the_shares_of_frozen_rows_are_rounded_as_ieee_754_rounds_them():
    zeta = math.pi * math.pi / 6
    expected = [1.0 / float(rank * rank) / zeta for rank in range(1, 30_000)]
    assert zeta_shares(2.0, 29_999).tolist() == expected
