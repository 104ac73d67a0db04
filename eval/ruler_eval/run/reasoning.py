"""The tokens that a model may use for reasoning, in addition to those of the answer.

    Reasoning.parse("off")     no reasoning
    Reasoning.parse("on")      8,192 tokens in addition to max_new_tokens
    Reasoning.parse("4096")    4,096 tokens, a limit that the engine is asked to enforce

Reasoning never counts against a task's max_new_tokens and is not scored; the metric's
`split_reasoning` removes it from a text. For comparison: the authors of ONERULER gave o3-mini 10k
output tokens and DeepSeek-R1 8k (arXiv:2503.01996, B.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ruler_common.errors import RulerError
from ruler_score.reasoning_marks import CHANNEL_TOKENS, NAMED_TOKENS, token_mark

ON_BUDGET = 8192
"""Tokens for reasoning with `--thinking on`."""
CHANNEL = "<|channel|>"
"""A token that only gpt-oss has. Its other marks are end tokens of different models."""


ALWAYS_REASONS = re.compile(
    r"(?:^|[/.:])(?:o[1-9](?:-|$)|gpt-5|gpt-oss|deepseek[-_.]r1|deepseek-reasoner|qwq|magistral"
    r"|grok-4(?!\S*fast)|minimax-m[1-9]|gemini-2\.5-pro|gemini-[3-9]\S*-pro|glm-z1|exaone-deep"
    r"|openthinker)"
    r"|(?:^|[-_/:])(?:think|thinking|thinker|reasoner|reasoning)(?:$|[-_.:])",
    re.IGNORECASE,
)
"""Names of models that reason before each answer; asked only if their template is unknown."""
DOES_NOT_REASON = re.compile(r"(?:no|non)[-_]?(?:think|reason)|chat|instruct", re.IGNORECASE)
SWITCH_FIELDS = ("reasoning_effort", "reasoning", "thinking", "chat_template_kwargs", "extra_body")
"""Fields of a request by which a user turns a model's reasoning off."""


@dataclass(frozen=True)
class Reasoning:
    """Whether a model is asked to reason, and how many tokens it may use for that."""

    on: bool = False
    budget: int = 0
    """Tokens."""
    limited: bool = False
    """Whether the engine is asked to end the reasoning at the budget, if it can."""

    def settings(self) -> dict[str, Any]:
        """Return what run.json records."""
        settings: dict[str, Any] = {"on": self.on, "budget": self.budget}
        return {**settings, "limited": True} if self.limited else settings

    @classmethod
    def parse(cls, text: str) -> Reasoning:
        """Read `off`, `on` or a number of tokens. Raises RulerError for anything else."""
        if text == "off":
            return cls()
        if text == "on":
            return cls(True, ON_BUDGET)
        if text.isdecimal() and len(text) < 10 and int(text) > 0:
            return cls(True, int(text), limited=True)
        raise RulerError(f"--thinking '{text}' is not off, on or a number of tokens above 0.")


def check_model(
    model: str, mode: str, reasoning: Reasoning, arguments: Mapping[str, Any], always: bool
) -> None:
    """Raise RulerError for a model that always reasons and has no tokens for it.

    Args:
        model: The model's name.
        mode: The prompt mode; in the others the answer has begun.
        reasoning: Whether it is asked to reason.
        arguments: The fields of --engine-arg.
        always: Whether the provider says that all its models reason.
    """
    reasons = ALWAYS_REASONS.search(model) and not DOES_NOT_REASON.search(model)
    if mode != "chat" or reasoning.on or not (always or reasons):
        return
    if not any(name in arguments for name in SWITCH_FIELDS):
        raise RulerError(
            f"The model '{model}' reasons before it answers, which would use up the tokens of the "
            "answer, and --thinking is off: give it tokens (--thinking 8192), or turn its "
            "reasoning off (such as --engine-arg reasoning_effort=none)."
        )


def decode(tokenizer: Any, token_ids: Sequence[int]) -> str:
    """Return the text of generated tokens without special tokens, except the marks of reasoning.

    A character that truncation left incomplete is dropped, as servers do.
    """
    special = _special_ids(tokenizer)
    ids = [token for token in token_ids if token not in special]
    text = tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    return str(text).rstrip("\ufffd")


@lru_cache(maxsize=4)
def _special_ids(tokenizer: Any) -> frozenset[int]:
    added = tokenizer.added_tokens_decoder.items()
    parts: tuple[str, ...] = NAMED_TOKENS
    if any(content.content == CHANNEL for _, content in added):
        parts += CHANNEL_TOKENS
    special = {token for token, content in added if content.special}
    mark_tokens = {
        token for token, content in added if content.content in parts or token_mark(content.content)
    }
    return frozenset((special | set(tokenizer.all_special_ids)) - mark_tokens)


def has_special_marks(tokenizer: Any) -> bool:
    """Whether marks of reasoning are special tokens, which a server leaves out unless asked."""
    added = tokenizer.added_tokens_decoder.items()
    special = {token for token, content in added if content.special}
    return not special <= _special_ids(tokenizer)


def reasoning_length(tokenizer: Any, token_ids: Sequence[int]) -> int | None:
    """Return how many generated tokens come before the one that ends the reasoning.

    None if the reasoning does not end. The count is exact; retokenizing the decoded text is not.
    """
    ends = _end_ids(tokenizer)
    for place, token in enumerate(token_ids):
        if token in ends:
            return place
    return None


@lru_cache(maxsize=4)
def _end_ids(tokenizer: Any) -> frozenset[int]:
    """Return the tokens that end reasoning, such as `</think>`."""
    added = tokenizer.added_tokens_decoder.items()
    return frozenset(token for token, content in added if token_mark(content.content) == "closes")


def count_tokens(tokenizer: Any, text: str) -> int:
    """Return the number of tokens of a text, without special tokens."""
    return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def truncate(tokenizer: Any, answer: str, max_new_tokens: int) -> tuple[str, bool]:
    """Return the first `max_new_tokens` tokens of an answer, and whether it was longer.

    Tokens that the reasoning did not use must not make the answer longer.
    """
    ids = tokenizer(answer, add_special_tokens=False, verbose=False)["input_ids"]
    if len(ids) <= max_new_tokens:
        return answer, False
    return decode(tokenizer, ids[:max_new_tokens]), True
