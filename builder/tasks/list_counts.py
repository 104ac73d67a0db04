"""How often the words of a cwe list appear: in short windows less often than in longer ones.

    list_counts("common_words", params, max_length=4096)      # ListCounts(common=30, uncommon=3)

Tasks draw by these counts and the laws hold rows to them. `params` are a suite's or a manifest's:
freq_cw and freq_ucw, with `short_` before them the counts of a short window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

_LONGEST_SHORT = {"common_words": 4095, "multilingual_words": 8000}
"""The longest window, in tokens, that has the short counts: below 4k in RULER, 8k in ONERULER."""


class ListCounts(NamedTuple):
    """How many times a common and an uncommon word appear."""

    common: int
    uncommon: int


def is_short(family: str, max_length: int) -> bool:
    """Whether a window of so many tokens has the short counts of its family."""
    return max_length <= _LONGEST_SHORT[family]


def list_counts(family: str, params: Mapping[str, Any], max_length: int) -> ListCounts:
    """The counts of a family's task in a window of so many tokens."""
    short = "short_" if is_short(family, max_length) else ""
    return ListCounts(params[f"{short}freq_cw"], params[f"{short}freq_ucw"])
