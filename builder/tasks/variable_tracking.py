"""Variable tracking: follow a chain of assignments through noise (section 3.2).

    VAR ABCDE = 12345
    VAR FGHIJ = VAR ABCDE

The names bound to the asked value are the references. A short solved example of the same form, with
names of three letters, comes first.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from builder.common.randomness import letters, numbers
from builder.context.fit import fit
from builder.context.haystacks import FEWEST_TOKENS_A_LINE, LineHaystack, Needle
from builder.context.prompt_builder import PromptBuilder
from builder.tasks.task import Row, Task, TaskParams

_NAME, _EXAMPLE_NAME, _VALUE = 5, 3, 5  # letters, letters, digits
_EXAMPLE_LINES = 20  # of noise, about 500 tokens


@dataclass(frozen=True)
class ChainParams(TaskParams):
    """How many chains, and how many hops in each (Table 5)."""

    chains: int = 1
    hops: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(1 <= self.chains <= 100, "chains must be 1 to 100")
        self.need(1 <= self.hops <= 100, "hops must be 1 to 100")


@dataclass(frozen=True)
class Chain:
    """A value, the names bound to it, and the relative depth of each assignment."""

    value: str
    names: list[str]
    depths: list[float]

    def needles(self, answer: bool) -> list[Needle]:
        """The assignments, in order."""
        sources = [self.value, *(f"VAR {name}" for name in self.names)]
        return [
            Needle(depth, f"VAR {name} = {source}", answer)
            for depth, name, source in zip(self.depths, self.names, sources, strict=False)
        ]


class VariableTracking(Task[ChainParams]):
    """One vt task at one place."""

    params_type = ChainParams
    same_beginning = True

    @cached_property
    def haystack(self) -> LineHaystack:
        """Lines of noise, enough for the window."""
        most = max(_EXAMPLE_LINES, self.place.max_length // FEWEST_TOKENS_A_LINE)
        return self.counted_sources.noise(most)

    def row(self, index: int) -> Row:
        """Row `index`: the same chains and depths at every length."""
        draw = self.place.ask(index)
        count = self.params.chains
        values = numbers(draw, _VALUE, count + 1)
        chains = self._chains(draw, values[:count], _NAME)
        example = self._chains(draw, [values[count]] * 1, _EXAMPLE_NAME)[0]
        asked = chains[0]
        needles = [needle for i, chain in enumerate(chains) for needle in chain.needles(i == 0)]
        head, tail, prefix, question = self._frame(asked)

        def draft(units: int) -> PromptBuilder:
            prompt = self._example(self.prompt(), example).add(head)
            return self.haystack.lay(prompt, units, needles, tail + prefix)

        fitted = fit(draft, self.room, self.haystack.step, self.haystack.most)
        return self.finish(index, fitted.draft, prefix, asked.names, question, fitted.unit)

    def _chains(self, draw: np.random.Generator, values: list[str], length: int) -> list[Chain]:
        size = self.params.hops + 1
        names = letters(draw, length, size * len(values), string.ascii_uppercase)
        depths = np.sort(draw.random((len(values), size)), axis=1).tolist()
        return [
            Chain(value, names[i * size : (i + 1) * size], depths[i])
            for i, value in enumerate(values)
        ]

    def _frame(self, chain: Chain) -> tuple[str, str, str, str]:
        question = self.templates["question"].format(value=chain.value)
        head, tail = self.templates["input"].split("{context}")
        prefix = self.templates["prefix"].format(n=len(chain.names), value=chain.value)
        return head, tail.format(question=question), prefix, question

    def _example(self, prompt: PromptBuilder, chain: Chain) -> PromptBuilder:
        head, tail, prefix, _ = self._frame(chain)
        needles = [Needle(n.depth, n.text, False) for n in chain.needles(False)]
        solved = f"{tail}{prefix} {' '.join(chain.names)}\n\n"
        text = self.haystack.lay(self.prompt().add(head), _EXAMPLE_LINES, needles, solved).text
        return prompt.add(text)
