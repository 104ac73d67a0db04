"""Exact token counts, without special tokens, by a tokenizer's own library or by a faster engine.

    counter = with_engine(load_counter("qwen2.5", store))    # the engine needs the extra `fast`
    tokens = counter.count(text)
    tokens = counter.confirmed_count(text, "row 0 of vt_4k")     # for every 100th row

The tokenizer's own library is the reference. The engine, gigatoken, gives the same numbers at 50 to
300 MB of text a second, tokenizers about 1 and tiktoken about 10, but only a comparison shows
that it does: `confirmed_count` raises EngineMismatch at the first difference, and the file is then
made again without the engine. Without gigatoken, or for a tokenizer that it cannot load, the
reference counts everything.
"""

from __future__ import annotations

import base64
import hashlib
import json
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ruler_builder.tokens import split_points
from ruler_builder.tokens.split_points import PATTERNS, SplitPoints, without_merges
from ruler_common.manifest import TokenizerEntry

WORTHWHILE = 1 << 20
"""Characters from which it saves time to count by words."""


def counts_by_words(
    texts: Sequence[str], count_batch: Callable[[Sequence[str]], list[int]]
) -> list[int]:
    """Tokens of each text, each different word tokenised once; `count_batch` counts texts whole.

    If a tokenizer splits before every single space (SplitPoints.spaces), the tokens of a text
    are those of its first word and of every other word with its space. HotpotQA's paragraphs have
    6 million words, half a million of them different, so this takes a fraction of the time. A text
    with a space that is not alone between two words is counted whole.
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
        first + sum(map(spaced.__getitem__, text.split(" ")[1:])) if split else first
        for (text, split), first in zip(pairs, firsts, strict=True)
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

    def confirmed_count(self, text: str, where: str) -> int:
        """Tokens of a text, as the tokenizer's own library counts them.

        `where` names the text in an error: "row 100 of vt_4k".
        """
        return self.count(text)

    def counts_once(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; each different one is counted once."""
        different = list(dict.fromkeys(texts))
        tokens = dict(zip(different, self.counts(different), strict=True))
        return [tokens[text] for text in texts]


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
        """Tokens of each text; of many texts by their words, if that is exact."""
        if self.split_points.spaces and sum(map(len, texts)) >= WORTHWHILE:
            return counts_by_words(texts, self._counts_whole)
        return self._counts_whole(texts)

    def _counts_whole(self, texts: Sequence[str]) -> list[int]:
        encodings = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding) for encoding in encodings]


class SlowCounter(TokenCounter):
    """Counts with a transformers tokenizer that has no fast backend."""

    def __init__(self, name: str, about: TokenizerEntry, tokenizer: Any) -> None:
        super().__init__(name, about)
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False))


ENGINE = "gigatoken"
# What gigatoken calls the pre-tokenizer patterns of tiktoken's encodings.
_SCHEMES = {
    PATTERNS["cl100k_base"]: "gpt4",
    PATTERNS["o200k_base"]: "o200k",
    PATTERNS["tekken"]: "nemotron",
}
# An engine that counts these differently from the reference is not used.
_PROBES = (
    "The grass is green.  Here we go\tthere\n\n\nand back again.\r\n \n1. VAR ABCDE = 12345 ",
    "don't I'LL they'Ve 3.14 1,000,000 http://a.b/c?d=e#f 8f14e45f-ceea-467f-a1f2-6f2d3c9a1b7e",
    "Zażółć gęślą jaźń; 日本語。한국어 العربية हिन्दी தமிழ் 🙂👩‍👧 e\u0301 \u200b ½ Ⅷ",
    "<s> </s> <bos> <|endoftext|> <|im_start|> [INST] <unk> <start_of_turn> </b>",
)


class EngineMismatch(Exception):
    """The engine and the tokenizer's own library differ on a text; the message is a sentence."""


class WatchedCounter(TokenCounter):
    """Counts with gigatoken; `reference` is the tokenizer's own library.

    A text with one of the bytes `unknown`, which the vocabulary does not have, is counted by the
    reference.
    """

    def __init__(self, reference: TokenCounter, tokenizer: Any, unknown: bytes = b"") -> None:
        super().__init__(reference.name, reference.about, reference.split_points)
        self.reference, self._unknown = reference, unknown
        self._encode = getattr(tokenizer, "backend", tokenizer).encode

    @property
    def counted_by(self) -> str:
        """`gigatoken` and its version."""
        return f"{ENGINE} {version(ENGINE)}"

    def count(self, text: str) -> int:
        """Tokens of a text, as the engine counts them."""
        if self._unknown and len(data := text.encode()) > len(data.translate(None, self._unknown)):
            return self.reference.count(text)
        return len(self._encode(text))

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; of many short ones the calls in between are half of the time."""
        if self._unknown:
            return super().counts(texts)
        return [len(self._encode(text)) for text in texts]

    def confirmed_count(self, text: str, where: str) -> int:
        """Tokens of a text; raises EngineMismatch if the reference counts differently."""
        tokens, exact = self.count(text), self.reference.count(text)
        if exact != tokens:
            raise EngineMismatch(
                f"{self.counted_by} counts {tokens} tokens in {where}, "
                f"{self.reference.counted_by} counts {exact}: "
                "this file is counted again without it."
            )
        return exact


def with_engine(reference: TokenCounter) -> TokenCounter:
    """Return the same counter, faster if gigatoken is installed and knows the tokenizer."""
    try:
        import gigatoken  # noqa: F401
    except ImportError:
        return reference
    try:
        counter = _load_engine(reference)
        if counter and counter.counts(_PROBES) == reference.counts(_PROBES):
            return counter
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of its Rust code is not an Exception
        pass
    return reference


@lru_cache(maxsize=1)
def _load_engine(reference: TokenCounter) -> WatchedCounter | None:
    """Return gigatoken's counter for a tokenizer; None if it does not know its pattern."""
    import gigatoken

    if isinstance(reference, FastCounter):
        serialised, unknown = _with_every_byte(reference.serialised)
        return WatchedCounter(reference, gigatoken.Tokenizer.from_json(serialised), unknown)
    if not isinstance(reference, TiktokenCounter) or reference.pattern not in _SCHEMES:
        return None
    ranks = reference.encoding._mergeable_ranks
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ranks.tiktoken"
        with path.open("wb") as file:
            for token in sorted(ranks, key=ranks.get):
                file.write(b"%s %d\n" % (base64.b64encode(token), ranks[token]))
        # No special tokens: their names in a text are ordinary text, as for the reference.
        tokenizer = gigatoken.Tokenizer.from_tiktoken(path, _SCHEMES[reference.pattern], {})
    return WatchedCounter(reference, tokenizer)


def _with_every_byte(serialised: str) -> tuple[str, bytes]:
    """Return a tokenizer.json whose byte-level vocabulary has all 256 bytes, and the added ones.

    Gigatoken accepts only such a vocabulary; SmolLM2's, for example, has no token for 21
    bytes, most of which never occur in UTF-8 text.
    """
    from tokenizers.pre_tokenizers import ByteLevel

    if '"ByteLevel"' not in serialised:
        return serialised, b""
    vocabulary = json.loads(without_merges(serialised))["model"].get("vocab")
    if not isinstance(vocabulary, dict) or vocabulary.keys() >= {*ByteLevel.alphabet()}:
        return serialised, b""
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    described = json.loads(serialised)
    vocabulary = described["model"]["vocab"]
    added = {token["id"] for token in described["added_tokens"]}
    unknown = [(byte, sign) for byte, sign in bytes_to_unicode().items() if sign not in vocabulary]
    for number, (_, sign) in enumerate(unknown, max(added | {*vocabulary.values()}) + 1):
        vocabulary[sign] = number
    return json.dumps(described), bytes(byte for byte, _ in unknown)
