"""A model's tokenizer beside the named ones: how many tokens each makes of the same texts.

    mine, named = load_counter("mine=hf:Qwen/Qwen3-8B", store), load_counter("qwen2.5", store)
    counts_beside(mine, named, sample_texts())
    # Beside(tokenizer="qwen2.5", ratios={"essays": 1.0, …}, equal=1181, texts=1181)

The texts are of the kinds that rows are made of, from the project's own: they need no download.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ruler_builder.sources.chosen_sources import Sources, parse_choice
from ruler_builder.sources.download import Store
from ruler_builder.sources.registry import EMBEDDED
from ruler_builder.tokens.counters import TokenCounter
from ruler_builder.tokens.tokenizers import named

CHINESE = "Chinese"
_NUMBERS = 200  # needles with a number, and as many with a UUID
_LIST = 10  # words of a numbered list


class Beside(NamedTuple):
    """A named tokenizer beside a model's, on the same texts.

    `ratios` has the model's tokens as a multiple of this one's, by kind of text; `equal` of `texts`
    texts have the same number of tokens under both.
    """

    tokenizer: str
    ratios: dict[str, float]
    equal: int
    texts: int

    @property
    def exact(self) -> bool:
        """Whether every text has the same number of tokens."""
        return self.equal == self.texts

    @property
    def longest(self) -> float:
        """The largest ratio of the English kinds: above 1 rows of this tokenizer may not fit."""
        return max(self._english)

    @property
    def distance(self) -> float:
        """The largest difference of an English kind, as a share: 0.02 is two percent."""
        return max(abs(ratio - 1) for ratio in self._english)

    @property
    def _english(self) -> list[float]:
        return [ratio for kind, ratio in self.ratios.items() if kind != CHINESE]


def sample_texts() -> dict[str, list[str]]:
    """Texts by kind: `essays`, `documents`, `numbers`, `words`, `Chinese`."""
    sources = Sources(Store(None), parse_choice([EMBEDDED]))
    essays = sources.read("essays").decode()
    articles = json.loads(sources.read("squad"))["data"]
    words = sorted({*re.findall(r"[a-z]{3,}", essays)})
    keys = [hashlib.sha256(str(i).encode()).digest()[:16] for i in range(_NUMBERS)]
    needles = [
        f"One of the special magic numbers for {words[i]} is: {int.from_bytes(key) % 9_000_000}."
        for i, key in enumerate(keys)
    ]
    needles += [f"One of the uuids for {uuid.UUID(bytes=key)} is: VAR ABCDE." for key in keys]
    lists = [words[i : i + _LIST] for i in range(0, len(words), _LIST)]
    return {
        "essays": _lines(essays),
        "documents": [part["context"] for found in articles for part in found["paragraphs"]],
        "numbers": needles,
        "words": [" ".join(f"{i}. {w}" for i, w in enumerate(part, 1)) for part in lists],
        CHINESE: _lines(sources.read("book-zh").decode()),
    }


def counts_beside(
    model: TokenCounter, other: TokenCounter, texts: Mapping[str, Sequence[str]]
) -> Beside:
    """Count every text with both tokenizers."""
    ratios, equal = {}, 0
    for kind, some in texts.items():
        ours, theirs = model.counts(some), other.counts(some)
        ratios[kind] = sum(ours) / sum(theirs)
        equal += sum(a == b for a, b in zip(ours, theirs, strict=True))
    return Beside(other.name, ratios, equal, sum(map(len, texts.values())))


def tokenizer_by_name(model: str) -> str | None:
    """The named tokenizer that a family of models has, by the model's name; None if unknown.

    The families are the `models` of tokenizers.toml: `Qwen3` is Qwen/Qwen3-8B too, not Qwen3.5.
    """
    called = model.partition("@")[0].rstrip("/").rpartition("/")[2].lower().removeprefix("meta-")
    found = [
        (len(family), name)
        for name, entry in named().items()
        for family in entry["models"]
        if called == family.lower() or called.startswith(f"{family.lower()}-")
    ]
    return max(found)[1] if found else None


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]
