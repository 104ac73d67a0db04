"""Mark most cases of a parametrized test as nightly.

@pytest.mark.parametrize("name", mostly_nightly(3, ["qwen2.5", "gemma3", "o200k_base"]))
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_nightly(step: int, cases: Iterable[Any]) -> list[Any]:
    """Return all cases; only every `step`-th is run without `-m nightly`."""
    return [
        pytest.param(case, marks=pytest.mark.nightly) if place % step else case
        for place, case in enumerate(cases)
    ]
