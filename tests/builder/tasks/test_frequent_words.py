"""fwe: wording, and words that never lead."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruler_builder.suites.suite import read_suite
from ruler_builder.window.counted_sources import CountedSources
from ruler_common.errors import RulerError
from tests.builder.tasks.row_reading import (
    own_task,
    parts,
    task_of,
)


def test_frequent_words_is_worded_as_the_reference_code_words_it(embedded: CountedSources) -> None:
    row = task_of(embedded, "fwe", "1k").row(0)
    head, context, tail = parts(row)
    assert head == (
        "Read the following coded text and track the frequency of each coded word. "
        "Find the three most frequently appeared coded words. "
    )
    assert not context.startswith(" ")
    assert row.question == (
        "Do not provide any explanation. Please ignore the dots '....'. "
        "What are the three most frequently appeared words in the above coded text?"
    )
    assert tail == f"\nQuestion: {row.question}"
    assert row.answer_prefix == (
        " Answer: According to the coded text above, the three most frequently appeared words are:"
    )


@pytest.mark.parametrize("alpha", [3.5, 10])
def test_words_that_never_lead_are_refused_before_any_work(
    embedded: CountedSources, tmp_path: Path, alpha: float
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(own_task("frequent_words", alpha=alpha, words=10))
    with pytest.raises(RulerError, match="never lead the next: take a longer length"):
        task_of(embedded, "mine", "4k", read_suite(path)).check(1)
