"""What every task family shares: a row's key, how it is drawn, measured and written down.

A task is a pure function of its configuration, the row's key and the token budget:

    task = Niah(key, params, templates, counted_sources)
    task.row(17)        # the same bytes whenever, wherever and after whatever else
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from ruler_builder.tasks.draws import Draws
from ruler_builder.tasks.templates import Frame
from ruler_builder.text.counted import CountedSources
from ruler_builder.text.languages import Language
from ruler_builder.text.sources import LanguageSources
from ruler_builder.window.prompt import Fitted, Impossible, PromptBuilder, fit, refuse_if_over
from ruler_common.errors import RulerError
from ruler_common.rows import Row, canary_of

DATA_VERSION = "1.0.0"
"""Changes with every change to a row's bytes; part of every key, so old and new never mix."""
LAYOUTS = ("2024", "2025")
"""Of vt and cwe: the paper's own code (4f6507e, April 2024), and its later one (see the card)."""


@dataclass(frozen=True, kw_only=True)
class TaskParams:
    """A task's parameters, checked; `max_new_tokens` is the family's unless given."""

    optional: ClassVar[tuple[str, ...]] = ()
    """Parameters that the paper does not have: a manifest leaves them out if they are as usual."""
    from_corpus: ClassVar[bool] = False
    """Whether rows ask the questions of a corpus: no more than it has, and with its answers."""

    max_new_tokens: int

    def __post_init__(self) -> None:
        self.need(self.max_new_tokens >= 1, "max_new_tokens must be at least 1")

    def need(self, condition: bool, sentence: str) -> None:
        """Refuse impossible parameters with a sentence."""
        if not condition:
            raise RulerError(f"{sentence}.")

    def sources(self, text: LanguageSources, instruction: LanguageSources) -> tuple[str, ...]:
        """Return the names of the sources that rows are made of: those of these languages."""
        return ()

    @staticmethod
    def right_answers(references: Sequence[str], prompt_end: str) -> list[str]:
        """Return the right answers to a row whose prompt ends with `prompt_end`.

        By default there is one, which completes the sentence of the answer prefix.
        """
        *first, last = references
        return [f" {', '.join(first)}, and {last}" if first else f" {last}"]


def between_tags(references: Sequence[str], prompt_end: str) -> list[str]:
    """Return the right answer to a prompt of ONERULER, between the tags that the prompt shows."""
    opening, closing = (re.findall(tag, prompt_end) for tag in (r"<[^<>/]+>", r"</[^<>]+>"))
    return [" ".join([*opening[-1:], ", ".join(references), *closing[-1:]])]


CHECKED_ROWS = 8  # rows tried before any work
_SMALL = 2048  # tokens of a window's budget; below it every row is tried
_NO_WINDOW = 1 << 22  # tokens of the budget if no window is to be filled


@dataclass(frozen=True, kw_only=True)
class TaskKey:
    """A task, its window, its languages and the seed of its draws.

    The reserve and the tokenizer act through the budget alone, and the language of the instruction
    through the prompt: no draw depends on them. `max_length` and `reserve` are in tokens; a row may
    have `max_length - reserve`. A `max_length` of 0 is the control `0k`: no window, only the
    evidence.
    """

    dataset: str
    task: str
    max_length: int
    reserve: int
    seed: int = 0
    language: str = "en"
    instruction_language: str = "en"

    def question_draws(self, index: int, same_as: str | None = None) -> Draws:
        """Return the draws of what is asked: the same at every length, language and tokenizer.

        `same_as` names another task that asks the same.
        """
        return Draws(DATA_VERSION, self.seed, self.dataset, same_as or self.task, index, "ask")

    def filling_draws(self, *key: str | int) -> Draws:
        """Return the draws of the haystack: the same under every tokenizer.

        It differs between lengths and between languages.
        """
        return Draws(
            DATA_VERSION, self.seed, self.dataset, self.task, self.max_length, self.language, *key
        )


class NewRow(NamedTuple):
    """A row, and the figures from which the manifest says how full rows are."""

    columns: Row
    next_unit_tokens: int | None
    """Tokens of the haystack's next unit, which did not fit; None if the row holds the whole of a
    finite haystack, and in the control, which has no haystack."""
    repeats: int
    """How many times a finite haystack starts over."""


P = TypeVar("P", bound=TaskParams)


class Task(ABC, Generic[P]):
    """A task for one window; subclasses say what is asked and how the haystack is laid."""

    crosses_languages: ClassVar[bool] = False
    """Whether text and instruction may be in two languages."""
    cost: ClassVar[int] = 0
    """A rank: files of families with a higher one take longer, and are made first."""
    same_beginning: bool = False
    """Whether the rows of a file share their haystack, so that compressing hard pays."""
    languages: tuple[Language, ...] = ()
    """The languages whose prompts and nouns rows are made of; none in RULER."""
    max_rows: int | None = None
    """How many rows there can be; None if unlimited."""
    prompt_end: str = ""
    """What a prompt ends with, if it shows the form of an answer."""

    def __init__(
        self, key: TaskKey, params: P, templates: dict[str, Any], counted_sources: CountedSources
    ) -> None:
        self.key = key
        self.params = params
        self.templates = templates
        self.counted_sources = counted_sources
        self.counter = counted_sources.counter
        self.is_control = key.max_length == 0
        """Whether rows are of the control, `0k`: their evidence and no haystack."""
        self.fills = not self.is_control
        """Whether rows have as much haystack as fits, or the least that they can have."""
        self.budget = (
            _NO_WINDOW if self.is_control else key.max_length - key.reserve - params.max_new_tokens
        )
        """Tokens that `input` and `answer_prefix` may take together."""
        self.prepare()

    def prepare(self) -> None:
        """Set what all rows share, such as words or a language; called once, by __init__."""

    @abstractmethod
    def row(self, index: int) -> NewRow:
        """Make row `index`. Raises RulerError if the window cannot hold the task."""

    @abstractmethod
    def references(self, index: int) -> list[str]:
        """Return the references of row `index`, drawn without making the row."""

    def check(self, rows: int) -> None:
        """Refuse a window that cannot hold the task, before any work. Raises Impossible.

        Tries rows with as little haystack as they can have; in a small window, all of them.
        """
        shortest = copy(self)
        shortest.fills = False
        for index in range(rows if self.budget <= _SMALL else min(rows, CHECKED_ROWS)):
            shortest.row(index)

    def check_answers(self, rows: int) -> None:
        """Refuse a task whose right answers do not fit `max_new_tokens`. Raises Impossible."""
        longest = self.counted_sources.longest_answers
        asked = (replace(self.key, max_length=0), self.params, rows)
        if asked not in longest:  # the same at every length
            longest_answer = 0, 0  # tokens, and the index of its row
            for index in range(rows):
                answers = self.params.right_answers(self.references(index), self.prompt_end)
                longest_answer = max(longest_answer, (min(self.counter.counts(answers)), index))
            longest[asked] = longest_answer
        needed, index = longest[asked]
        if needed > self.params.max_new_tokens:
            raise Impossible(
                f"The right answer of row {index} takes {needed} tokens, and max_new_tokens is "
                f"{self.params.max_new_tokens}: give the task max_new_tokens = {needed} in a "
                "custom suite."
            )

    def fit(
        self,
        draft: Callable[[int], PromptBuilder],
        step: Callable[[int, int], int],
        max_units: int | None = None,
        min_units: int = 0,
    ) -> Fitted[PromptBuilder]:
        """Return the fullest draft that fits the window; the shortest if rows are not filled."""
        if not self.fills:
            shortest = draft(min_units)
            refuse_if_over(shortest.tokens, self.budget)
            return Fitted(min_units, shortest, None)
        return fit(draft, self.budget, step, max_units, min_units)

    def fit_counted(
        self,
        draft: Callable[[int, str], PromptBuilder],
        placeholder: str,
        text: Callable[[int], str],
        step: Callable[[int, int], int],
        max_units: int | None = None,
        min_units: int = 0,
    ) -> Fitted[PromptBuilder]:
        """Fit drafts with a placeholder for their text if tokens add up, else with the text.

        The placeholder begins and ends as every text does; `draft` knows the tokens of the text.
        """

        def whole(units: int) -> PromptBuilder:
            return draft(units, text(units))

        if self.fills and self.counter.split_points.hold_in(draft(min_units, placeholder).text):
            fitted = fit(
                lambda units: draft(units, placeholder), self.budget, step, max_units, min_units
            )
            prompt = whole(fitted.units)
            if prompt.tokens == fitted.draft.tokens:
                return Fitted(fitted.units, prompt, fitted.next_unit_tokens)
        return self.fit(whole, step, max_units, min_units)

    def new_row(
        self,
        index: int,
        prompt: PromptBuilder,
        frame: Frame,
        outputs: list[str],
        next_unit_tokens: int | None,
        repeats: int = 0,
        none_word: str = "",
    ) -> NewRow:
        """Return the row of a finished prompt, which ends with the answer prefix."""
        text, tokens = prompt.text, prompt.tokens
        if not text.endswith(frame.prefix) or tokens > self.budget:
            raise AssertionError(
                f"{self.key}: row {index} has {tokens} tokens, budget {self.budget}"
            )
        row: Row = {
            "index": index,
            "task": self.key.task,
            "language": self.key.language,
            "instruction_language": self.key.instruction_language,
            "max_length": self.key.max_length,
            "input": text[: len(text) - len(frame.prefix)],
            "answer_prefix": frame.prefix,
            "outputs": outputs,
            "max_new_tokens": self.params.max_new_tokens,
            "length": tokens + self.params.max_new_tokens,
            "context_start": prompt.context_start,
            "context_end": prompt.context_end,
            "question": frame.question,
            "evidence": prompt.evidence,
            "none_word": none_word,
            "canary": canary_of(self.key.dataset, DATA_VERSION),
        }
        return NewRow(row, next_unit_tokens, repeats)
