"""The parameters of RULER's vt (Table 5), and the text around its solved examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ruler_builder.suites.params import LAYOUTS, MOST_NEEDLES, TaskParams
from ruler_builder.suites.wording import filled

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


class ExampleFrame(NamedTuple):
    """What stands before and after the context of a solved example, its prefix, and its end."""

    head: str
    tail: str
    prefix: str
    end: str


def chain_example_frame(
    templates: Mapping[str, str], layout: str, names: int, value: str
) -> ExampleFrame:
    """The frame of a solved example of vt, whose answer is `names` names.

    The paper's own code (layout 2024) joined the words of the example's template by single spaces,
    and put a space before the example and two more newlines after it.
    """
    lead, end = "", "\n\n"
    if layout == "2024":
        lead, end = " ", "\n\n\n\n"
        templates = {**templates, "input": " ".join(templates["input"].split())}
    frame = filled(templates, n=names, value=value)
    return ExampleFrame(lead + frame.head, frame.tail, frame.prefix, end)
