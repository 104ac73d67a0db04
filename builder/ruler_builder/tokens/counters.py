"""Exact token counts: a tokenizer's own library counts, without special tokens.

    counter = TiktokenCounter("o200k_base", about, tiktoken.get_encoding("o200k_base"))
    counter.count("The grass is green.")            # 5

tokenizers.py loads a tokenizer and makes its counter.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from ruler_builder.tokens import split_points
from ruler_builder.tokens.split_points import SplitPoints
from ruler_common.manifest_form import TokenizerEntry

WORTHWHILE = 1 << 20
"""Characters from which it saves time to count by words."""


def counts_by_words(
    texts: Sequence[str], count_batch: Callable[[Sequence[str]], list[int]]
) -> list[int]:
    """Tokens of each text, each different word tokenised once; `count_batch` counts texts whole.

    Where a tokenizer splits before every single space (SplitPoints.spaces), the tokens of a text
    are those of its first word and of every other word with its space. HotpotQA's paragraphs have
    6 million words, half a million of them different, so this takes a fraction of the time. A text
    with a space that does not stand alone between two words is counted whole.
    """
    words: set[str] = set()
    for text in texts:
        words.update(text.split(" ")[1:])
    no_words = {word for word in words if not word or word[0].isspace()}
    last_only = {word for word in words if word and word[-1].isspace()}

    def divisible(text: str) -> bool:
        first, *others = text.split(" ")
        return (
            bool(first)
            and not (others and first[-1].isspace())
            and no_words.isdisjoint(others)
            and last_only.isdisjoint(others[:-1])
        )

    divided = [divisible(text) for text in texts]
    ordered = sorted(words - no_words)
    spaced = dict(zip(ordered, count_batch([f" {word}" for word in ordered]), strict=True))
    pairs = list(zip(texts, divided, strict=True))
    firsts = count_batch([text.partition(" ")[0] if split else text for text, split in pairs])
    return [
        found + sum(map(spaced.__getitem__, text.split(" ")[1:])) if split else found
        for (text, split), found in zip(pairs, firsts, strict=True)
    ]


@dataclass(eq=False)
class TokenCounter(ABC):
    """Counts tokens with a tokenizer's own library; `about` is its entry in the manifest."""

    name: str
    about: TokenizerEntry
    split_points: SplitPoints = field(default=split_points.NONE)

    @property
    def counted_by(self) -> str:
        """The library that counts, and its version: `tokenizers 0.23.3`."""
        return f"{self.about['library']} {self.about['version']}"

    @abstractmethod
    def count(self, text: str) -> int:
        """Tokens of a text, without special tokens, exactly as the reference library gives them."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]

    def counts_once(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; each different one is counted once."""
        different = list(dict.fromkeys(texts))
        known = dict(zip(different, self.counts(different), strict=True))
        return [known[text] for text in texts]


class TiktokenCounter(TokenCounter):
    """Counts with a tiktoken Encoding (also Tekken's, which mistral-common wraps)."""

    def __init__(self, name: str, about: TokenizerEntry, encoding: Any) -> None:
        super().__init__(name, about, split_points.of_pattern(encoding._pat_str))
        self.encoding = encoding
        self.pattern: str = encoding._pat_str
        """The regular expression that splits a text before the merges."""
        self._encode = encoding.encode_ordinary

    def count(self, text: str) -> int:
        """Tokens of a text; a special token's name in it counts as ordinary text."""
        return len(self._encode(text))


class FastCounter(TokenCounter):
    """Counts with the Rust backend of a transformers fast tokenizer, one thread."""

    def __init__(self, name: str, about: TokenizerEntry, backend: Any) -> None:
        backend.no_truncation()  # a tokenizer.json may ask for these; a call does only if asked to
        backend.no_padding()
        serialised: str = backend.to_str()
        about["backend_sha256"] = hashlib.sha256(serialised.encode()).hexdigest()
        about["backend_version"] = version("tokenizers")
        super().__init__(name, about, split_points.of_tokenizer_json(serialised))
        self._backend = backend
        self.serialised = serialised
        """The tokenizer as its library writes it, the form of a tokenizer.json."""

    @property
    def counted_by(self) -> str:
        """`tokenizers`, which counts for transformers, and its version."""
        return f"tokenizers {self.about['backend_version']}"

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._backend.encode_batch_fast([text], add_special_tokens=False)[0])

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; of many texts by their words, where that is exact."""
        if self.split_points.spaces and sum(map(len, texts)) >= WORTHWHILE:
            return counts_by_words(texts, self._counts_whole)
        return self._counts_whole(texts)

    def _counts_whole(self, texts: Sequence[str]) -> list[int]:
        found = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding) for encoding in found]


class SlowCounter(TokenCounter):
    """Counts with a transformers tokenizer that has no fast backend."""

    def __init__(self, name: str, about: TokenizerEntry, tokenizer: Any) -> None:
        super().__init__(name, about)
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))
