"""Rows that ask for one of many labelled sentences."""

from __future__ import annotations

import numpy as np
from ruler_builder.families.labelled_sentence.params import LabelledParams

from ruler_builder.common.randomness import letters
from ruler_builder.context.haystacks import LineHaystack, Needle
from ruler_builder.context.prompt_builder import PromptBuilder
from ruler_builder.families.task import NewRow, Task
from ruler_builder.suites.wording import filled


class LabelledSentence(Task[LabelledParams]):
    """One task of them for one window."""

    def row(self, index: int) -> NewRow:
        """Row `index`."""
        label, text, depth = self._asked(index)
        frame = filled(self.templates, label=label)
        draw, most = self.key.draw_filling("haystack", index), self.key.max_length // 8
        others = (self._line(*self._sentence(draw)) for _ in range(most))
        lines = LineHaystack(others, most, self.counter)

        def draft(units: int) -> PromptBuilder:
            needle = Needle(depth, self._line(label, text), True)
            prompt = PromptBuilder(self.counter).add(frame.head)
            return lines.lay(prompt, units, [needle], frame.tail + frame.prefix)

        fitted = self.fit(draft, lines.step, lines.most)
        return self.finish(index, fitted.draft, frame, [text], fitted.unit)

    def references(self, index: int) -> list[str]:
        """The sentence."""
        return [self._asked(index)[1]]

    def _asked(self, index: int) -> tuple[str, str, float]:
        draw = self.key.draw_asked(index)
        return *self._sentence(draw), float(draw.random())

    def _sentence(self, draw: np.random.Generator) -> tuple[str, str]:
        label, *words = letters(draw, 6, 1 + self.params.words)
        return label, " ".join(words)

    def _line(self, label: str, text: str) -> str:
        line: str = self.templates["line"].format(label=label, text=text)
        return line
