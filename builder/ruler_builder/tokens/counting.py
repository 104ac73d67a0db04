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
import json
import tempfile
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
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
    """Return the tokens of each text; each different word is tokenised once.

    If a tokenizer splits before every single space (SplitPoints.spaces), the tokens of a text are
    those of its first word and of every other word with its space. HotpotQA's paragraphs have 6
    million words, half a million of them different, so this takes a fraction of the time. A text
    with a space that is not alone between two words is counted whole.

    Args:
        texts: The texts.
        count_batch: Returns the tokens of each of some texts, counted whole.
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

    ordered = sorted(words - no_words)
    spaced = dict(zip(ordered, count_batch([f" {word}" for word in ordered]), strict=True))
    beginnings = []  # the first word of each text, or all of the text
    for text in texts:
        beginnings.append(text.partition(" ")[0] if divisible(text) else text)
    counts = []
    for text, beginning, tokens in zip(texts, beginnings, count_batch(beginnings), strict=True):
        if beginning != text:
            tokens += sum(spaced[word] for word in text.split(" ")[1:])
        counts.append(tokens)
    return counts


@dataclass(eq=False, kw_only=True)
class TokenCounter:
    """Counts tokens, without special tokens, exactly as a tokenizer's own library does."""

    name: str
    # Its entry in the manifest
    about: TokenizerEntry
    # The library that counts, and its version: `tokenizers 0.23.3`
    counted_by: str
    # The library's tokenizer
    tokenizer: Any
    # Returns the tokens of a text; a special token's name in it counts as ordinary text
    encode: Callable[[str], Sized]
    split_points: SplitPoints = split_points.NONE
    # The library's own counter, if gigatoken counts
    reference: TokenCounter | None = None

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.encode(text))

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; each different text is counted once."""
        tokens: dict[str, int] = {}
        for text in texts:
            if text not in tokens:
                tokens[text] = len(self.encode(text))
        return [tokens[text] for text in texts]

    def confirmed_count(self, text: str, where: str) -> int:
        """Return the number of tokens of a text as the tokenizer's own library counts them.

        `where` names the text in an error: "row 100 of vt_4k". Raises EngineMismatch if the engine
        counts differently.
        """
        tokens = self.count(text)
        if self.reference is None:
            return tokens
        exact = self.reference.count(text)
        if exact != tokens:
            raise EngineMismatch(
                f"{self.counted_by} counts {tokens} tokens in {where}, "
                f"{self.reference.counted_by} counts {exact}: "
                "this file is counted again without it."
            )
        return exact


class BatchCounter(TokenCounter):
    """Counts with the Rust library tokenizers, which is much faster for many texts at a time."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; of many texts by their words, if exact."""
        if self.split_points.spaces and sum(map(len, texts)) >= WORTHWHILE:
            return counts_by_words(texts, self._counts_whole)
        return self._counts_whole(texts)

    def _counts_whole(self, texts: Sequence[str]) -> list[int]:
        different = list(dict.fromkeys(texts))
        encodings = self.tokenizer.encode_batch_fast(different, add_special_tokens=False)
        tokens = {text: len(encoded) for text, encoded in zip(different, encodings, strict=True)}
        return [tokens[text] for text in texts]


class EngineMismatch(Exception):
    """The engine and the tokenizer's own library differ on a text; the message is a sentence."""


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
def _load_engine(reference: TokenCounter) -> TokenCounter | None:
    """Return gigatoken's counter for a tokenizer; None if it does not know its pattern."""
    import gigatoken

    if isinstance(reference, BatchCounter):
        serialised, unknown = _with_every_byte(reference.tokenizer.to_str())
        tokenizer = gigatoken.Tokenizer.from_json(serialised)
    else:
        unknown = b""
        pattern = getattr(reference.tokenizer, "_pat_str", None)  # tiktoken's
        if pattern not in _SCHEMES:
            return None
        ranks = reference.tokenizer._mergeable_ranks
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ranks.tiktoken"
            with path.open("wb") as file:
                for token in sorted(ranks, key=ranks.get):
                    file.write(b"%s %d\n" % (base64.b64encode(token), ranks[token]))
            # No special tokens: their names in a text are ordinary text, as for the reference.
            tokenizer = gigatoken.Tokenizer.from_tiktoken(path, _SCHEMES[pattern], {})
    return engine_counter(reference, tokenizer, unknown)


def engine_counter(reference: TokenCounter, tokenizer: Any, unknown: bytes = b"") -> TokenCounter:
    """Return a counter by gigatoken's tokenizer.

    A text with one of the bytes `unknown`, which the vocabulary does not have, is counted by the
    reference.
    """
    encode = getattr(tokenizer, "backend", tokenizer).encode

    def encode_known(text: str) -> Sized:
        data = text.encode()
        if len(data) > len(data.translate(None, unknown)):
            return reference.encode(text)
        tokens: Sized = encode(text)
        return tokens

    return TokenCounter(
        name=reference.name,
        about=reference.about,
        counted_by=f"{ENGINE} {version(ENGINE)}",
        tokenizer=tokenizer,
        encode=encode_known if unknown else encode,
        split_points=reference.split_points,
        reference=reference,
    )


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
