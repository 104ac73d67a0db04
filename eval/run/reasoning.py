r"""Thought and answer: room for thinking, and taking the two apart.

    Reasoning.parse("off")     no thinking is asked for and no room is kept for it
    Reasoning.parse("8192")    8,192 tokens of room beyond max_new_tokens
    split("<think>hm</think>\n42")   ("hm", "42", True)

A thought never counts against a task's max_new_tokens, and never reaches the scorer. Room: the
authors of ONERULER gave o3-mini 10k output tokens and DeepSeek-R1 8k (arXiv:2503.01996, B.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ruler_dataset import RulerError

ON_BUDGET = 8192
"""Tokens of room for a thought with `--thinking on`."""
TAGS = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<reasoning>", "</reasoning>"),
)
"""How models mark their thought, for servers without a reasoning parser."""


@dataclass(frozen=True)
class Reasoning:
    """Whether a model is asked to think, and the tokens of room it gets for that."""

    on: bool = False
    budget: int = 0

    @classmethod
    def parse(cls, text: str) -> Reasoning:
        """Read `off`, `on` or a number of tokens."""
        if text == "off":
            return cls()
        if text == "on":
            return cls(True, ON_BUDGET)
        if text.isdecimal() and int(text) > 0:
            return cls(True, int(text))
        raise RulerError(f"--thinking '{text}' is not off, on or a number of tokens above 0.")


def opens_thought(prompt: str) -> bool:
    """Whether a rendered prompt already opened the thought, as DeepSeek-R1's template does."""
    return prompt.rstrip().endswith(tuple(opening for opening, _ in TAGS))


def split(text: str, opened: bool = False) -> tuple[str | None, str, bool | None]:
    """Take thought and answer apart: `(thought, answer, ended)`.

    `opened` says that the prompt ended with the opening tag. `ended` is False when the thought was
    cut, and then there is no answer; without any thought it is None and the text is the answer.
    """
    for opening, closing in TAGS:
        starts = text.lstrip().startswith(opening)
        if closing in text:
            thought, _, answer = text.partition(closing)
            return thought.replace(opening, "", 1).strip("\n"), answer.strip("\n"), True
        if starts:
            return text.lstrip().removeprefix(opening).strip("\n"), "", False
    if opened:
        return text.strip("\n"), "", False
    return None, text, None


def decode(tokenizer: Any, token_ids: Sequence[int]) -> str:
    """The text of generated tokens without special tokens, except tags of a thought.

    A character that the cut left half-written is dropped, as servers do.
    """
    special = _special_ids(tokenizer)
    kept = [token for token in token_ids if token not in special]
    text = tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    return str(text).rstrip("\ufffd")


@lru_cache(maxsize=4)
def _special_ids(tokenizer: Any) -> frozenset[int]:
    added = tokenizer.added_tokens_decoder.items()
    special = {token for token, content in added if content.special}
    tags = {tokenizer.convert_tokens_to_ids(tag) for pair in TAGS for tag in pair}
    return frozenset((special | set(tokenizer.all_special_ids)) - tags)


def count(tokenizer: Any, text: str) -> int:
    """Tokens of a text, no special tokens."""
    return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def cut(tokenizer: Any, answer: str, max_new_tokens: int) -> tuple[str, bool]:
    """The first `max_new_tokens` tokens of an answer, and whether anything was cut off.

    After a short thought the rest of its room must not lengthen the answer.
    """
    ids = tokenizer(answer, add_special_tokens=False, verbose=False)["input_ids"]
    if len(ids) <= max_new_tokens:
        return answer, False
    return decode(tokenizer, ids[:max_new_tokens]), True
