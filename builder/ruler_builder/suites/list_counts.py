"""How often words appear in a numbered list: what the parameters of both cwe families share.

    params.counts(max_length=4096)      # ListCounts(common=30, uncommon=3)

freq_cw and freq_ucw say how often common and other words appear, with `short_` before them how
often in a short window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ruler_builder.suites.params import TaskParams


class ListCounts(NamedTuple):
    """How many times a common and an uncommon word appear."""

    common: int
    uncommon: int


@dataclass(frozen=True, kw_only=True)
class ListParams(TaskParams):
    """Number of common words and the counts."""

    longest_short: ClassVar[int]
    """The longest window, in tokens, that has the short counts."""

    num_cw: int = 10
    freq_cw: int = 30
    freq_ucw: int = 3
    short_freq_cw: int = 6
    short_freq_ucw: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for short in ("", "short_"):
            common, uncommon = (getattr(self, f"{short}{name}") for name in ("freq_cw", "freq_ucw"))
            sentence = f"{short}freq_cw must be more than {short}freq_ucw, from 1 on"
            self.need(common > uncommon >= 1, sentence)

    @classmethod
    def is_short(cls, max_length: int) -> bool:
        """Whether a window of so many tokens has the short counts."""
        return max_length <= cls.longest_short

    def counts(self, max_length: int) -> ListCounts:
        """The counts in a window of so many tokens."""
        if self.is_short(max_length):
            return ListCounts(self.short_freq_cw, self.short_freq_ucw)
        return ListCounts(self.freq_cw, self.freq_ucw)
