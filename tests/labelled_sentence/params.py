"""The parameters of the labelled sentences' tasks."""

from __future__ import annotations

from dataclasses import dataclass

from ruler_builder.suites.params import TaskParams


@dataclass(frozen=True, kw_only=True)
class LabelledParams(TaskParams):
    """How many words a sentence has."""

    words: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(1 <= self.words <= 20, "words must be 1 to 20")
