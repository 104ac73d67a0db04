"""Variable tracking: follow a chain of assignments through noise (section 3.2).

    VAR ABCDE = 12345
    VAR FGHIJ = VAR ABCDE

The names bound to the asked value are the references. A short solved example of the same form, with
names of three letters, comes first.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from builder.common.randomness import letters, numbers
from builder.context.fit import fit
from builder.context.haystacks import FEWEST_TOKENS_A_LINE, LineHaystack, Needle
from builder.context.prompt_builder import PromptBuilder
from builder.tasks.task import Row, Task, TaskParams
from builder.tasks.wording import Frame, frame_of

_NAME, _EXAMPLE_NAME, _VALUE = 5, 3, 5  # letters, letters, digits
_EXAMPLE_TOKENS = 500  # of the whole example, its answer too


@dataclass(frozen=True, kw_only=True)
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
    """A value, the names bound to it, and the relative depth of each assignment, in order."""

    value: str
    names: list[str]
    depths: list[float]

    def placed(self, lines: int, answer: bool) -> list[tuple[int, Needle]]:
        """The assignments, each with the line of noise, of so many, before which it stands.

        A line at least stands between two of them and one after the last, as the reference code
        lays them. Where a name is assigned to another the line ends with a space, also as there.
        """
        texts = [f"VAR {self.names[0]} = {self.value}"]
        texts += [
            f"VAR {name} = VAR {source} "
            for source, name in zip(self.names, self.names[1:], strict=False)
        ]
        spare = lines - len(texts) + 1
        return [
            (int(depth * spare) + link, Needle(depth, text, answer))
            for link, (depth, text) in enumerate(zip(self.depths, texts, strict=True))
        ]


class VariableTracking(Task[ChainParams]):
    """One vt task for one window."""

    params_type = ChainParams
    family = "variable_tracking"

    @property
    def same_beginning(self) -> bool:
        """All rows hide their chains in the same noise."""
        return True

    @cached_property
    def _noise(self) -> LineHaystack:
        """Lines of noise, enough for the window and the example."""
        most = max(_EXAMPLE_TOKENS, self.key.max_length) // FEWEST_TOKENS_A_LINE
        return self.counted_sources.noise(most + self._links)

    @property
    def _links(self) -> int:
        """Assignments of one chain."""
        return self.params.hops + 1

    def row(self, index: int) -> Row:
        """Row `index`: the same chains and depths at every length."""
        chains, solved = self._asked(index)
        example = self._example(solved)
        asked, frame = chains[0], self._frame(chains[0])

        def draft(lines: int) -> PromptBuilder:
            prompt = self.prompt().add(example).add(frame.head)
            return self._lay(prompt, lines, chains, frame.tail + frame.prefix)

        fitted = fit(draft, self.room, self._noise.step, self._noise.most, least=self._links)
        return self.finish(index, fitted.draft, frame, asked.names, fitted.unit)

    def references(self, index: int) -> list[str]:
        """The names of the asked chain, in its order."""
        return self._asked(index)[0][0].names

    def _asked(self, index: int) -> tuple[list[Chain], list[Chain]]:
        """The chains of the task, the asked one first, and those of its example."""
        draw, count = self.key.draw_asked(index), self.params.chains
        values = numbers(draw, _VALUE, 2 * count)
        chains = self._chains(draw, values[:count], _NAME)
        return chains, self._chains(draw, values[count:], _EXAMPLE_NAME)

    def _chains(self, draw: np.random.Generator, values: list[str], length: int) -> list[Chain]:
        size = self._links
        names = letters(draw, length, size * len(values), string.ascii_uppercase)
        depths = np.sort(draw.random((len(values), size)), axis=1).tolist()
        return [
            Chain(value, names[i * size : (i + 1) * size], depths[i])
            for i, value in enumerate(values)
        ]

    def _lay(
        self, prompt: PromptBuilder, lines: int, chains: Sequence[Chain], tail: str
    ) -> PromptBuilder:
        """So many lines of noise with the chains among them; the first chain is the asked one."""
        placed = [
            pair for i, chain in enumerate(chains) for pair in chain.placed(lines, answer=i == 0)
        ]
        return self._noise.lay_at(prompt, lines, placed, tail)

    def _frame(self, chain: Chain) -> Frame:
        question = self.templates["question"].format(value=chain.value)
        prefix = self.templates["prefix"].format(n=len(chain.names), value=chain.value)
        return frame_of(self.templates["input"], question, prefix)

    def _example(self, chains: Sequence[Chain]) -> str:
        """A solved example of 500 tokens at the most, or as few as its chains need."""
        frame = self._frame(chains[0])
        solved = f"{frame.tail}{frame.prefix} {' '.join(chains[0].names)}\n\n"

        def draft(lines: int) -> PromptBuilder:
            return self._lay(self.prompt().add(frame.head), lines, chains, solved)

        room = max(_EXAMPLE_TOKENS, draft(self._links).tokens)
        return fit(draft, room, self._noise.step, self._noise.most, self._links).draft.text
