"""The parameters of RULER's vt: how many chains and hops (Table 5), and how they are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ruler_builder.suites.params import LAYOUTS, MOST_NEEDLES, TaskParams

_HAYSTACKS = ("noise", "essay")


@dataclass(frozen=True, kw_only=True)
class ChainParams(TaskParams):
    """How many chains and hops (Table 5), names' letters, solved examples, haystack and layout."""

    optional = ("layout", "haystack", "name_letters", "examples")

    chains: int = 1
    hops: int = 4
    layout: str = "2025"
    haystack: str = "noise"
    name_letters: int = 5
    examples: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(1 <= self.chains <= 100, "chains must be 1 to 100")
        self.need(1 <= self.hops <= 100, "hops must be 1 to 100")
        self.need_one_of("layout", LAYOUTS)
        self.need_one_of("haystack", _HAYSTACKS)
        self.need(4 <= self.name_letters <= 10, "name_letters must be 4 to 10: examples have 3")
        self.need(0 <= self.examples <= 5, "examples must be 0 to 5")
        if self.layout == "2024":
            self.need(self.haystack == "noise", "layout 2024 has the noise haystack alone")
            self.need(self.examples <= 1, "layout 2024 has one example at the most")
        if self.haystack == "essay":
            enough = self.chains * (self.hops + 1) <= MOST_NEEDLES
            self.need(enough, f"in essays, chains x (hops + 1) cannot be over {MOST_NEEDLES}")

    def sources(self, language: str, instruction_language: str) -> tuple[str, ...]:
        """The essays, where they are the haystack."""
        return ("essays",) if self.haystack == "essay" else ()

    @staticmethod
    def right_answers(references: Sequence[str], prompt_end: str) -> list[str]:
        """The names, as in the solved example."""
        return [f" {' '.join(references)}"]
