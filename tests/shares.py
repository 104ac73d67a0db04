"""How much of the repetitive tests one run takes: a share by default, all with RULER_TESTS=all.

A share is taken only of cases that differ by a value (examples of a law, tokenizers of one kind,
places of one fault), and every kind keeps a case in each run. The share is the same until
RULER_TESTS_TURN names another, so that a commit passes or fails alike on any day;
`.github/workflows/nightly.yml` runs all, the slow tests marked `nightly` too.

    @pytest.mark.parametrize("name", share(2, ["cl100k_base", "o200k_base"]))
    LAWS = settings(max_examples=examples(120))
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest

Case = TypeVar("Case")
ALL = os.environ.get("RULER_TESTS") == "all"
TURN = int(os.environ.setdefault("RULER_TESTS_TURN", "0"))
"""Which of the shares this run takes, and the seed of drawn cases."""
LESS = 5
"""So many times fewer examples of a law are tried by default."""
FEWEST = 12


def share(step: int, cases: Iterable[Case]) -> list[Case]:
    """Every `step`-th case, at least one; RULER_TESTS_TURN says from which on."""
    cases = list(cases)
    step = 1 if ALL else max(1, min(step, len(cases)))
    return cases[TURN % step :: step]


def examples(most: int) -> int:
    """How many examples hypothesis tries of a law, where `most` are tried of all."""
    return most if ALL else min(most, max(most // LESS, FEWEST))


def leave_out_nightly(config: pytest.Config, items: list[Any]) -> None:
    """Leave the tests marked `nightly` out, unless all are asked for or only files are named."""
    if ALL or files_are_named(config):
        return
    left = [item for item in items if item.get_closest_marker("nightly")]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in set(left)]


def files_are_named(config: pytest.Config) -> bool:
    """Whether the command line names files of tests and no folder."""
    return all(arg.partition("::")[0].endswith(".py") for arg in config.args)
