"""The parameters of ONERULER's cwe: the counts of common and other words (section 2)."""

from __future__ import annotations

from dataclasses import dataclass

from ruler_builder.suites.list_counts import ListParams
from ruler_builder.suites.wording import between_tags


@dataclass(frozen=True, kw_only=True)
class MultilingualWordsParams(ListParams):
    """Number of common words and the counts; the short ones apply up to 8000 tokens."""

    longest_short = 8000

    short_freq_cw: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(self.num_cw == 10, "num_cw must be 10: the published prompts ask for ten words")

    right_answers = staticmethod(between_tags)
