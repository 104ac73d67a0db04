"""Rules by which tasks make rows and to which the laws hold them: optional parameters and counts.

    with_optional({"family": "variable_tracking", "hops": 8})["layout"]       # "2025"
    list_counts("common_words", params, max_length=4096)      # ListCounts(common=30, uncommon=3)

`params` are a suite's or a manifest's: freq_cw and freq_ucw say how often words of a cwe list
appear, with `short_` before them how often in a short window. It imports nothing that builds rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

LAYOUTS = ("2024", "2025")
"""Of vt and cwe: the paper's own code (4f6507e, April 2024), and that since 26ed7ba (May 2025)."""
OPTIONAL: dict[str, dict[str, Any]] = {
    "variable_tracking": {"layout": "2025", "haystack": "noise", "name_letters": 5, "examples": 1},
    "common_words": {"layout": "2025", "examples": 1},
    "frequent_words": {"vocabulary": 0, "word_letters": 6},
    "question_answering": {"no_documents": False},
}
"""Parameters beside Table 5's, and what they are where neither suite nor manifest names them."""
_LONGEST_SHORT = {"common_words": 4095, "multilingual_words": 8000}
"""The longest window, in tokens, that has the short counts: below 4k in RULER, 8k in ONERULER."""


def with_optional(described: Mapping[str, Any]) -> dict[str, Any]:
    """A task's family and parameters, with the optional ones that a manifest leaves out."""
    return {**OPTIONAL.get(described["family"], {}), **described}


def without_usual(family: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """A task's parameters but for optional ones that are as usual: what a manifest lists."""
    usual = OPTIONAL.get(family, {})
    return {name: v for name, v in params.items() if name not in usual or v != usual[name]}


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


def example_words(num_cw: int, max_length: int) -> int:
    """Different words of cwe's solved example: 40, below 4096 tokens 20, or twice the common ones.

    The last where the common words would leave no room for others.
    """
    usual = 20 if is_short("common_words", max_length) else 40
    return usual if num_cw < usual else 2 * num_cw
