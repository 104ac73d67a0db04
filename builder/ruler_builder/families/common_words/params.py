"""The parameters of RULER's cwe: number of common words and the counts (Table 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ruler_builder.suites.params import LAYOUTS, ListParams

_MOST_COMMON = 200  # words: so many that no other contains are surely there


@dataclass(frozen=True, kw_only=True)
class CommonParams(ListParams):
    """Number of common words and the counts (Table 5); the short ones apply below 4096 tokens."""

    optional = ("layout", "examples")
    longest_short = 4095

    layout: str = "2025"
    examples: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(1 <= self.num_cw <= _MOST_COMMON, f"num_cw must be 1 to {_MOST_COMMON}")
        self.need_one_of("layout", LAYOUTS)
        self.need(0 <= self.examples <= 5, "examples must be 0 to 5")

    @staticmethod
    def right_answers(references: Sequence[str], prompt_end: str) -> list[str]:
        """The words, as in the solved example."""
        return ["".join(f" {number}. {word}" for number, word in enumerate(references, 1))]


def example_words(num_cw: int, max_length: int) -> int:
    """Different words of the solved example: 40, below 4096 tokens 20, or twice the common ones.

    The last where the common words would leave no room for others.
    """
    usual = 20 if CommonParams.is_short(max_length) else 40
    return usual if num_cw < usual else 2 * num_cw
