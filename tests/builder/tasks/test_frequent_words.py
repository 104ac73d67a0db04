"""fwe: words whose ranks would tie, and the zeta function."""

from __future__ import annotations

import pytest

from ruler_builder.tasks.frequent_words import zeta
from ruler_builder.tasks.registry import read_suite
from ruler_common.errors import RulerError
from tests.builder.tasks.row_reading import custom_task, task_of


@pytest.mark.parametrize("alpha", [3.5, 10])
def test_words_that_would_tie_are_refused_before_any_work(embedded, tmp_path, alpha):
    path = tmp_path / "own.toml"
    path.write_text(custom_task("frequent_words", alpha=alpha, words=10))
    with pytest.raises(RulerError, match="never lead the next: take a longer length"):
        task_of(embedded, "mine", "4k", read_suite(path)).check(1)


def test_the_zeta_function_is_scipys_to_the_last_bit():
    from scipy import special

    alphas = [1.1, 1.5, 2.0, 2, 2.5, 3.0, 3.5]
    assert [zeta(alpha).hex() for alpha in alphas] == [
        float(special.zeta(alpha)).hex() for alpha in alphas
    ]
