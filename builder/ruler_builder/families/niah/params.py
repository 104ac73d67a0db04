"""The parameters of RULER's niah (Table 5), and the text around its context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ruler_builder.suites.params import MOST_NEEDLES, TaskParams
from ruler_builder.suites.wording import Frame, filled

TYPES = {"words": "word", "numbers": "number", "uuids": "uuid"}
"""Of keys and values, with the word for one."""
_HAYSTACKS = ("noise", "essay", "needles")


@dataclass(frozen=True, kw_only=True)
class NiahParams(TaskParams):
    """Haystack, types of key and value, and how many of each (Table 5)."""

    haystack: str = "essay"
    key_type: str = "words"
    value_type: str = "numbers"
    keys: int = 1
    values: int = 1
    queries: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need_one_of("haystack", _HAYSTACKS)
        for name in (self.key_type, self.value_type):
            self.need(name in TYPES, f"key_type and value_type must be of {', '.join(TYPES)}")
        self.need(
            min(self.keys, self.values, self.queries) >= 1, "keys, values, queries start at 1"
        )
        self.need(self.queries <= self.keys, "queries cannot be more than keys")
        most = MOST_NEEDLES if self.haystack == "essay" else 1000
        self.need(self.keys * self.values <= most, f"keys x values cannot be more than {most}")

    def sources(self, language: str, instruction_language: str) -> tuple[str, ...]:
        """The essays, where they are the haystack."""
        return ("essays",) if self.haystack == "essay" else ()


def niah_frame(templates: Mapping[str, Any], types: str, many: bool, query: str) -> Frame:
    """The frame of a prompt that asks for values of the type `types` of the keys in `query`."""
    return filled(templates["many" if many else "one"], type=TYPES[types], types=types, query=query)
