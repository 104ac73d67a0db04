"""Copy the sentence with a label, among many labelled sentences.

Below are labelled sentences.
kqzrte: a fox runs over hills.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ruler_builder.tasks.base import NewRow, Task, TaskParams
from ruler_builder.tasks.draws import Draws, letters
from ruler_builder.tasks.templates import fill_templates
from ruler_builder.window.haystacks import LineHaystack, Needle
from ruler_builder.window.prompt import PromptBuilder

# ---- Parameters ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LabelledParams(TaskParams):
    """How many words a sentence has."""

    words: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(1 <= self.words <= 20, "words must be 1 to 20")


# ---- Wording -------------------------------------------------------------------------------------

TEMPLATES: dict[str, Any] = {
    "max_new_tokens": 40,
    "line": "{label}: {text}.",
    "input": "Below are labelled sentences.\n{context}\n{question}",
    "question": "What does the sentence labelled {label} say?",
    "prefix": " It says:",
}


# ---- Rows ----------------------------------------------------------------------------------------


class LabelledSentence(Task[LabelledParams]):
    """One task of them for one window."""

    def row(self, index: int) -> NewRow:
        """Row `index`."""
        label, text, depth = self._asked(index)
        frame = fill_templates(self.templates, label=label)
        draws, most = self.key.filling_draws("haystack", index), self.key.max_length // 8
        others = (self._line(*self._sentence(draws)) for _ in range(most))
        lines = LineHaystack(others, most, self.counter)

        def draft(units: int) -> PromptBuilder:
            needle = Needle(depth, self._line(label, text), True)
            prompt = PromptBuilder(self.counter).add(frame.head)
            return lines.lay(prompt, units, [needle], frame.tail + frame.prefix)

        fitted = self.fit(draft, lines.step, lines.max_units)
        return self.new_row(index, fitted.draft, frame, [text], fitted.next_unit_tokens)

    def references(self, index: int) -> list[str]:
        """The sentence."""
        return [self._asked(index)[1]]

    def _asked(self, index: int) -> tuple[str, str, float]:
        draws = self.key.question_draws(index)
        return *self._sentence(draws), float(draws.floats(1)[0])

    def _sentence(self, draws: Draws) -> tuple[str, str]:
        label, *words = letters(draws, 6, 1 + self.params.words)
        return label, " ".join(words)

    def _line(self, label: str, text: str) -> str:
        line: str = self.templates["line"].format(label=label, text=text)
        return line
