"""The zeta function is scipy's, to the last bit."""

from __future__ import annotations

from ruler_builder.tasks.frequent_words import zeta


def test_it_is_scipys_to_the_last_bit():
    from scipy import special

    alphas = [1.1, 1.5, 2.0, 2, 2.5, 3.0, 3.5]
    assert [zeta(alpha).hex() for alpha in alphas] == [
        float(special.zeta(alpha)).hex() for alpha in alphas
    ]
