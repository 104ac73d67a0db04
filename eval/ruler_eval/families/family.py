"""What a module of this room says of its task family: the contract between families and the rest.

    FAMILY = Family(rule="vt", solve=solve, kinds={"other_chain": other_chain})

`rule` and `solve` every family has; what is left out is read as most families' rows are. The table
(families/table.py) gives a family its name, the one that a manifest has for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ruler_eval.families.answer_text import values
from ruler_eval.families.given_answer import GivenAnswer

Description = dict[str, str]
"""A task's parameters as the figures of complexity name them."""


def as_they_are(params: Mapping[str, Any]) -> Description:
    """Every parameter under its own name."""
    return {name: str(value) for name, value in params.items()}


def nowhere(answer: GivenAnswer) -> float | None:
    """A family without distractors: no wrong answer is one's."""
    return None


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """One task family, as its answers are given, scored, sorted and drawn."""

    # The benchmark's task whose scoring rule its tasks follow.
    rule: str
    # The oracle: a perfect answer to a row's `input`; None where the wording is not its own.
    solve: Callable[[str], str | None]
    # The oracle where the question is in another language than the text: of `input` and of the
    # text's words by the question's. None: nothing has to be translated.
    solve_across: Callable[[str, Mapping[str, str]], str | None] | None = None
    # The benchmark that it belongs to.
    dataset: str = "ruler"
    # The benchmark's tasks of it: they are its own, and their rules, whatever a manifest says.
    tasks: tuple[str, ...] = ()
    # The rule of a task with the parameter `absent`, where the right answer is that none is.
    absent_rule: str = ""
    # The items an answer offers: of its text, the same normalized, the normalized references.
    items: Callable[[str, str, set[str]], list[str]] = values
    # Whether a list of words is asked for.
    is_list: bool = False
    # When a wrong answer is of a kind of analysis/errors/error_kinds.RULES that families decide on.
    kinds: Mapping[str, Callable[[GivenAnswer], bool]] = field(default_factory=dict)
    # How near in depth (0 … 1) the nearest distractor's value stood; None: it gave none.
    distance: Callable[[GivenAnswer], float | None] = nowhere
    # A task's parameters for the figures of complexity; None: its tasks are in no such figure.
    describe: Callable[[Mapping[str, Any]], Description] | None = as_they_are
    # The last words before the context; an example before it ends with the same words.
    before_context: str = ""
    # The first words after the context.
    after_context: str = "Question:"
    # A needle, assignment or document: its group is a value, without one a reference is in it.
    evidence: re.Pattern[str] | None = None
