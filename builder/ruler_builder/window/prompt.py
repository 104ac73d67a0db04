r"""A prompt under construction, and the fullest one that fits a window.

    prompt = PromptBuilder(counter)
    prompt.add("A special magic number …\n")     # counted when `tokens` is read
    prompt.add(text, tokens=131_000)             # a long piece whose tokens were counted before
    prompt.mark_evidence(1, 68, answer=True)     # characters of the next piece
    prompt.add(" One of the special magic numbers …")
    prompt.tokens                                        # exact: pieces meet at split points

A prompt is built of pieces, so that it is counted without being tokenised again. Pieces that do not
meet at a split point are counted as one; if the tokenizer has no split points, the whole text is.
So `tokens` is always what the reference tokenizer gives for `text`.

    fitted = fit(draft, budget, step)      # fitted.units, fitted.draft, fitted.next_unit_tokens

`draft(n)` returns the row's text with n units of haystack; `step(n, tokens)` estimates how many
units hold `tokens` more (or, if negative, fewer) than n units do. The result has at most `budget`
tokens, and would not fit with one more unit: it is found by counting, under every tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Generic, Protocol, TypeVar

from ruler_builder.tokens.counting import TokenCounter
from ruler_common.errors import RulerError
from ruler_common.rows import Evidence


class PromptBuilder:
    """Text under construction; offsets are in characters, counts in tokens."""

    def __init__(self, counter: TokenCounter) -> None:
        self.counter = counter
        self.length = 0  # characters so far
        self.context_start = self.context_end = 0
        self._texts: list[str] = []
        # Texts that meet at split points, with their tokens if these are known.
        self._pieces: list[tuple[str, int | None]] = []
        self._spans: list[tuple[int, int, bool]] = []
        self._counted: int | None = None  # `tokens`, until something is added

    def add(self, text: str, tokens: int | None = None) -> PromptBuilder:
        """Append a piece.

        `tokens` is the number of tokens of this piece by itself. Pass it for a long piece; a piece
        without it is counted when the prompt's `tokens` is read.
        """
        if not text:
            return self
        self._texts.append(text)
        self._counted = None
        self.length += len(text)
        if self._pieces and not self.counter.split_points.between(self._pieces[-1][0], text):
            text, tokens = self._pieces.pop()[0] + text, None
        self._pieces.append((text, tokens))
        return self

    def mark_evidence(self, start: int, end: int, answer: bool) -> PromptBuilder:
        """Mark characters `start` to `end` of the next piece as evidence."""
        self._spans.append((self.length + start, self.length + end, answer))
        return self

    @property
    def at_context_start(self) -> bool:
        """Whether nothing of the context has been added yet."""
        return self.length == self.context_start

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self._texts)

    @property
    def tokens(self) -> int:
        """Exact number of tokens of `text`, no special tokens."""
        if self._counted is not None:
            return self._counted
        split_points = self.counter.split_points
        if split_points.crossing and not split_points.hold_in(whole := self.text):
            self._counted = self.counter.count(whole)
            return self._counted
        total, uncounted = 0, []
        for text, tokens in self._pieces:
            if tokens is None:
                uncounted.append(text)
            else:
                total += tokens
        self._counted = total + sum(self.counter.counts(uncounted))
        return self._counted

    @property
    def evidence(self) -> list[Evidence]:
        """The marked spans with their depth in the context, in text order."""
        width = max(1, self.context_end - self.context_start)
        evidence = []
        for start, end, answer in sorted(self._spans):
            depth = (start - self.context_start) / width
            evidence.append(Evidence(start=start, end=end, depth=depth, answer=answer))
        return evidence


# ---- The most units that fit ---------------------------------------------------------------------

_MAX_ESTIMATES = 8  # drafts sized by `step`, before the search switches to bisection


class Impossible(RulerError):
    """A task cannot be built for this window; others can (`ruler build --skip-impossible`)."""


class Sized(Protocol):
    """Anything that has a number of tokens."""

    @property
    def tokens(self) -> int:
        """Exact number of tokens."""
        ...


S = TypeVar("S", bound=Sized)


@dataclass(frozen=True)
class Fitted(Generic[S]):
    """The fullest draft, its units, and the tokens of the next unit, which did not fit."""

    units: int
    draft: S
    next_unit_tokens: int | None  # None: the haystack has no more units


def fit(
    draft: Callable[[int], S],
    budget: int,
    step: Callable[[int, int], int],
    max_units: int | None = None,
    min_units: int = 0,
) -> Fitted[S]:
    """Return the draft with the most units, from `min_units` to `max_units`, within the budget.

    The search keeps a number of units that fits and one that does not, and tries the estimate of
    `step` between them; after a few tries it bisects. Raises Impossible if `min_units` do not fit.

    Args:
        draft: Returns the text with a number of units.
        budget: The maximum number of tokens.
        step: Estimates how many units hold a number of tokens more than a number of units do.
        max_units: The number of units available; None: unlimited.
        min_units: The minimum number of units of a text.
    """
    units, best = min_units, draft(min_units)
    refuse_if_over(best.tokens, budget)
    remaining = budget - best.tokens
    too_many, excess = max_units + 1 if max_units is not None else None, None
    tried_units, difference = units, remaining
    for attempt in count():
        if too_many is not None and too_many - units <= 1:
            break
        tried_units = max(units + 1, step(tried_units, difference))
        if attempt >= _MAX_ESTIMATES:
            if too_many is None:
                tried_units = max(tried_units, units + 2 ** (attempt - _MAX_ESTIMATES))
            else:
                tried_units = (units + too_many) // 2
        if too_many is not None:
            tried_units = min(tried_units, too_many - 1)
        candidate = draft(tried_units)
        difference = budget - candidate.tokens
        if difference >= 0:
            units, best, remaining = tried_units, candidate, difference
        else:
            too_many, excess = tried_units, -difference
    return Fitted(units, best, remaining + excess if excess is not None else None)


def refuse_if_over(tokens: int, budget: int) -> None:
    """Raise Impossible if the shortest possible row does not fit the budget."""
    if tokens > budget:
        raise Impossible(
            f"The task needs at least {tokens} tokens, and the window has {budget} for it: "
            "take a longer length."
        )
