"""Variable tracking: follow a chain of assignments through noise (section 3.2).

    VAR ABCDE = 12345
    VAR FGHIJ = VAR ABCDE

The names bound to the asked value are the references. A short solved example of the same form, with
names of three letters, comes first. Layout `2025` has a line for each assignment; in `2024`, the
layout of the paper's own code, lines of noise are joined by spaces and assignments go between
them; in the essays, which the reference code has too, they are sentences.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ruler_builder.tasks.base import LAYOUTS, NewRow, Task, TaskParams
from ruler_builder.tasks.draws import Draws, letters, numbers
from ruler_builder.tasks.templates import fill_templates
from ruler_builder.text.corpora import NOISE
from ruler_builder.text.sources import LanguageSources
from ruler_builder.window.haystacks import (
    DEPTHS,
    MAX_NEEDLES,
    MIN_TOKENS_PER_LINE,
    Haystack,
    Needle,
    RunOnHaystack,
)
from ruler_builder.window.prompt import PromptBuilder, fit

# ---- Parameters --------------------------------------------------------------------------------

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
        self.need(self.layout in LAYOUTS, f"layout must be one of {', '.join(LAYOUTS)}")
        self.need(self.haystack in _HAYSTACKS, f"haystack must be one of {', '.join(_HAYSTACKS)}")
        self.need(4 <= self.name_letters <= 10, "name_letters must be 4 to 10: examples have 3")
        self.need(0 <= self.examples <= 5, "examples must be 0 to 5")
        if self.layout == "2024":
            self.need(self.haystack == "noise", "layout 2024 has only the noise haystack")
            self.need(self.examples <= 1, "layout 2024 has at most one example")
        if self.haystack == "essay":
            enough = self.chains * (self.hops + 1) <= MAX_NEEDLES
            self.need(enough, f"in essays, chains x (hops + 1) cannot be over {MAX_NEEDLES}")

    def sources(self, text: LanguageSources, instruction: LanguageSources) -> tuple[str, ...]:
        """Return the essays, if they are the haystack."""
        return ("essays",) if self.haystack == "essay" else ()

    @staticmethod
    def right_answers(references: Sequence[str], prompt_end: str) -> list[str]:
        """Return the names, as in the solved example."""
        return [f" {' '.join(references)}"]


# ---- Wording -----------------------------------------------------------------------------------

TEMPLATES: dict[str, Any] = {
    "max_new_tokens": 30,
    "input": (
        "Memorize and track the chain(s) of variable assignment hidden in the following "
        "text.\n\n{context}\nQuestion: {question}"
    ),
    "question": "Find all variables that are assigned the value {value} in the text above.",
    "prefix": (
        " Answer: According to the chain(s) of variable assignment in the text above, {n} "
        "variables are assigned the value {value}, they are: "
    ),
}


# ---- Rows --------------------------------------------------------------------------------------

_EXAMPLE_NAME, _VALUE = 3, 5  # letters, digits
_MORE_NAMES = 50  # in addition to twice the number needed: some contain an example's name
_EXAMPLE_TOKENS = 500  # of the whole example, its answer too
_EVERY_ROW = -1  # the index by which an example is drawn that all rows share


def _parts(name: str) -> set[str]:
    """Return the pieces of a name that are as long as an example's name."""
    return {name[at : at + _EXAMPLE_NAME] for at in range(len(name) - _EXAMPLE_NAME + 1)}


@dataclass(frozen=True)
class Chain:
    """A value, the names bound to it, and the relative depth of each assignment, in order."""

    value: str
    names: list[str]
    depths: list[float]

    def assignments(self) -> list[str]:
        """Return the chain's lines; a line that assigns a name to another ends with a space.

        So it does in the reference code.
        """
        lines = [f"VAR {self.names[0]} = {self.value}"]
        for source, name in pairwise(self.names):
            lines.append(f"VAR {name} = VAR {source} ")
        return lines

    def places(self, lines: int) -> list[int]:
        """Return the lines of noise, of `lines`, before which the assignments go.

        At least one line is between two of them and one after the last, as in the reference code.
        Without noise they are in the order of their depths.
        """
        if not lines:
            return [0] * len(self.depths)
        gaps = lines - len(self.depths) + 1
        return [int(depth * gaps) + link for link, depth in enumerate(self.depths)]


class VariableTracking(Task[ChainParams]):
    """One vt task for one window."""

    cost = 1

    same_beginning = True  # all rows hide their chains in the same text

    def prepare(self) -> None:
        """Take the essays or, for the window and the example, enough lines of noise."""
        self._links = self.params.hops + 1  # assignments of one chain
        self._haystack: Haystack
        # The fewest lines of noise, or words of the essays, that a text with chains has
        self._min_units = 0
        # Strings in the essays: as names they would occur twice
        self._in_the_text: frozenset[str] = frozenset()
        if self.params.haystack == "essay":
            self._haystack = self.counted_sources.essays
            self._in_the_text = self.counted_sources.essays.capitals(self.params.name_letters)
            return
        self._min_units = self._links
        lines = max(_EXAMPLE_TOKENS, self.key.max_length) // MIN_TOKENS_PER_LINE + self._links
        if self.params.layout == "2024":
            self._haystack = RunOnHaystack(NOISE, lines, self.counter)
        else:
            self._haystack = self.counted_sources.noise(lines)

    def row(self, index: int) -> NewRow:
        """Make row `index`: the same chains and depths at every length."""
        chains, solved = self._asked(index)
        examples = "".join(map(self._example, solved))
        asked = chains[0]
        frame = fill_templates(self.templates, n=self._links, value=asked.value)

        def draft(units: int) -> PromptBuilder:
            prompt = PromptBuilder(self.counter).add(examples).add(frame.head)
            return self._lay(prompt, units, chains, frame.tail + frame.prefix)

        min_units = 0 if self.is_control else self._min_units
        fitted = self.fit(draft, self._haystack.step, self._haystack.max_units, min_units)
        repeats = self._haystack.repeats(fitted.units)
        return self.new_row(
            index, fitted.draft, frame, asked.names, fitted.next_unit_tokens, repeats
        )

    def references(self, index: int) -> list[str]:
        """Return the names of the asked chain, in its order."""
        return self._asked(index)[0][0].names

    def _asked(self, index: int) -> tuple[list[Chain], list[list[Chain]]]:
        """Return the chains of the task, the asked one first, and those of each solved example."""
        draws, count = self.key.question_draws(index), self.params.chains
        needed = self._links * count
        if self.params.layout == "2024":
            shared = self._shared_example
            taken = [chain.value for chain in shared]
            values = numbers(draws, _VALUE, count, taken)
            short = {name for chain in shared for name in chain.names}
            names = self._names(draws, needed)
            if any(not short.isdisjoint(_parts(name)) for name in names[: self._links]):
                names = self._names(draws, 2 * needed + _MORE_NAMES)
                names.sort(key=lambda name: not short.isdisjoint(_parts(name)))  # free ones first
            chains = self._chains(draws, values, names[:needed])
            return chains, [shared] * self.params.examples
        values = numbers(draws, _VALUE, (1 + self.params.examples) * count)
        chains = self._chains(draws, values[:count], self._names(draws, needed))
        parts = {part for name in chains[0].names for part in _parts(name)}
        value_sets = [values[i : i + count] for i in range(count, len(values), count)]
        return chains, [
            self._chains(draws, example_values, self._example_names(draws, parts))
            for example_values in value_sets
        ]

    @cached_property
    def _shared_example(self) -> list[Chain]:
        """Draw the chains of layout 2024's example, which is the same in every row."""
        draws = self.key.question_draws(_EVERY_ROW)
        values = numbers(draws, _VALUE, self.params.chains)
        return self._chains(draws, values, self._example_names(draws))

    def _names(self, draws: Draws, count: int) -> list[str]:
        """Draw `count` different names for a row's chains."""
        length, taken = self.params.name_letters, self._in_the_text
        return letters(draws, length, count, string.ascii_uppercase, taken)

    def _example_names(self, draws: Draws, parts: Collection[str] = ()) -> list[str]:
        """Return the names of an example's chains; none is one of the `parts` of references."""
        count = self._links * self.params.chains
        names = letters(draws, _EXAMPLE_NAME, count, string.ascii_uppercase)
        if not set(names).isdisjoint(parts):
            names = letters(draws, _EXAMPLE_NAME, count, string.ascii_uppercase, parts)
        return names

    def _chains(self, draws: Draws, values: list[str], names: list[str]) -> list[Chain]:
        """Return the chains of these values at random depths; `names` are in order."""
        size, count = self._links, len(values)
        if self.params.haystack == "essay":
            depths = self._depths_in_essays(draws, count)
        else:
            depths = np.sort(draws.floats(count * size).reshape(count, size), axis=1).tolist()
        return [
            Chain(value, names[i * size : (i + 1) * size], depths[i])
            for i, value in enumerate(values)
        ]

    def _depths_in_essays(self, draws: Draws, chains: int) -> list[list[float]]:
        """Draw different ones of the 40 depths for all assignments, the chains in random turns."""
        count = chains * self._links
        depths = sorted(DEPTHS[i] / 100 for i in draws.distinct(len(DEPTHS), count).tolist())
        turns = draws.permutation(count) // self._links
        return [
            [depth for depth, turn in zip(depths, turns, strict=True) if turn == chain]
            for chain in range(chains)
        ]

    def _lay(
        self, prompt: PromptBuilder, units: int, chains: Sequence[Chain], tail: str
    ) -> PromptBuilder:
        """Add `units` units of the haystack with the chains in it; the first chain is asked for.

        In essays assignments are sentences between others.
        """
        needles, places = [], []
        for number, chain in enumerate(chains):
            for depth, text in zip(chain.depths, chain.assignments(), strict=True):
                if self.params.haystack == "essay":
                    text = f"{text.strip()}."
                needles.append(Needle(depth, text, answer=number == 0))
            places += chain.places(units)
        if self.params.haystack == "essay":
            return self._haystack.lay(prompt, units, needles, tail)
        return self._haystack.lay(prompt, units, needles, tail, places)

    def _example(self, chains: Sequence[Chain]) -> str:
        """Return a solved example of at most 500 tokens, or as few as its chains need.

        The paper's own code (layout 2024) joined the words of the example's template by single
        spaces, and put a space before the example and two more newlines after it.
        """
        templates, lead, end = self.templates, "", "\n\n"
        if self.params.layout == "2024":
            templates = {**templates, "input": " ".join(templates["input"].split())}
            lead, end = " ", "\n\n\n\n"
        frame = fill_templates(templates, n=self._links, value=chains[0].value)
        head = lead + frame.head
        solved = f"{frame.tail}{frame.prefix} {' '.join(chains[0].names)}{end}"

        def draft(units: int) -> PromptBuilder:
            return self._lay(PromptBuilder(self.counter).add(head), units, chains, solved)

        haystack, min_units = self._haystack, self._min_units
        budget = max(_EXAMPLE_TOKENS, draft(min_units).tokens)
        return fit(draft, budget, haystack.step, haystack.max_units, min_units).draft.text
