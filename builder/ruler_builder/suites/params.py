"""What the parameters of every task share, checked: what a suite or a manifest may say.

    class ChainParams(TaskParams): …    # each family's own are in tasks/<family>.py
    ListParams.counts(max_length=4096)  # of both cwe families: ListCounts(common=30, uncommon=3)

It imports nothing that builds rows, so that the proof reads a manifest's tasks by the same rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ruler_builder.text.registry import LanguageSources
from ruler_common.errors import RulerError

MOST_NEEDLES = 40
"""Needles in an essay or book: there are so many depths."""
LAYOUTS = ("2024", "2025")
"""Of vt and cwe: the paper's own code (4f6507e, April 2024), and its later one (see the card)."""


@dataclass(frozen=True, kw_only=True)
class TaskParams:
    """A task's parameters, checked; `max_new_tokens` is the family's unless given."""

    optional: ClassVar[tuple[str, ...]] = ()
    """Parameters beside the paper's: a manifest leaves them out where they are as usual."""
    from_corpus: ClassVar[bool] = False
    """Whether rows ask the questions of a corpus: no more than it has, and with its answers."""

    max_new_tokens: int

    def __post_init__(self) -> None:
        self.need(self.max_new_tokens >= 1, "max_new_tokens must be at least 1")

    def need(self, condition: bool, sentence: str) -> None:
        """Refuse impossible parameters with a sentence."""
        if not condition:
            raise RulerError(f"{sentence}.")

    def need_one_of(self, name: str, known: Sequence[str]) -> None:
        """Refuse a parameter that is none of these words."""
        self.need(getattr(self, name) in known, f"{name} must be one of {', '.join(known)}")

    def sources(self, text: LanguageSources, instruction: LanguageSources) -> tuple[str, ...]:
        """Return the names of the sources that rows are made of: those of these languages."""
        return ()

    @staticmethod
    def right_answers(references: Sequence[str], prompt_end: str) -> list[str]:
        """The right answers to a row as its prompt asks for them, which ends with `prompt_end`.

        Here one, that goes on in the sentence of the answer prefix.
        """
        *first, last = references
        return [f" {', '.join(first)}, and {last}" if first else f" {last}"]


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
