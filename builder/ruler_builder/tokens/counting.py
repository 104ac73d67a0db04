r"""Exact token counts, without special tokens, by a tokenizer's own library or by gigatoken.

    counter = with_gigatoken(load_counter("qwen2.5", store))    # if the extra `fast` is installed
    tokens = counter.count(text)
    tokens = counter.confirmed_count(text, "row 0 of vt_4k")     # for every 100th row

The tokenizer's own library is the reference. gigatoken, a second counting library, counts 50 to
300 MB of text a second, tokenizers about 1 and tiktoken about 10. It should give the same numbers,
and every 100th row is counted by both: at the first difference `confirmed_count` raises
CountsDiffer, and the file is rebuilt without gigatoken. Without gigatoken, or for a tokenizer that
it cannot load, the reference counts everything.

A long prompt is counted piece by piece, each piece once. That is exact only if no token crosses the
border between two pieces. This is proved for four kinds of border, the split points:

    space      a non-space, then one space and a non-space:   "grass| is"
    line       a newline, then neither white space nor "/":   "again.\n|The"
    end        an ASCII letter or digit, then a newline:       "word|\nQuestion"
    stop       a Han character or kana, then the end of a      "です|。次"
               sentence or quotation: Chinese and Japanese have no spaces

The proof covers two kinds of tokenizer:

- Tokenizers that first split the text by one of PATTERNS. None of these patterns looks behind. A
  run of letters, digits or marks ends before a space whether or not text follows it; a run of white
  space that ends in a newline is one pre-token (`\s*[\r\n]+`) unless "/" follows; a run of letters
  ends before a stop.
- BPE over the whole text (Gemma). Every token is in the vocabulary, so a token can cross a split
  point only if it contains one. Few tokens do (`crossing`), and a text is searched for them. Many
  tokens cross a stop, so these tokenizers have no split points there.

Texts are never split for any other tokenizer, but counted whole.
"""

from __future__ import annotations

import json
import re
import tempfile
from binascii import b2a_base64
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ruler_builder.tokens.ids import OTHER_TEXTS
from ruler_common.manifest import TokenizerEntry

# ---- Where a text may be split -------------------------------------------------------------------

_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WHITE = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_OTHER = r"[^\r\n\p{L}\p{N}]?"

PATTERNS = {
    "cl100k_base": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "llama3": rf"{_CONTRACTIONS}|{_OTHER}\p{{L}}+|\p{{N}}{{1,3}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_WHITE}",
    "qwen2": rf"{_CONTRACTIONS}|{_OTHER}\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_WHITE}",
    "o200k_base": rf"{_OTHER}{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|{_OTHER}{_UPPER}+{_LOWER}*"
    rf"{_CONTRACTIONS}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_WHITE}",
    "tekken": rf"{_OTHER}{_UPPER}*{_LOWER}+|{_OTHER}{_UPPER}+{_LOWER}*|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_WHITE}",
}
"""Pre-tokenizer patterns whose split points are proved (and tried on random text by tests)."""

_SPLIT_INSIDE = re.compile(r"\S (?=\S|$)|\n(?=[^\s/])|[A-Za-z0-9]\n")
_STOPS = "。！？」』”"
# Kana and Han characters that are letters in every version of Unicode that tokenizers use.
_CJK = re.compile(r"[\u3041-\u3096\u30a1-\u30fa\u30fc-\u30fe\u3400-\u4db5\u4e00-\u9fcc]")
_MAX_CROSSING = 64


@dataclass(frozen=True)
class SplitPoints:
    """Where a tokenizer allows texts to be split."""

    proved: bool
    """Whether the proof above covers the tokenizer; if not, texts are not split."""
    crossing: tuple[str, ...] = ()
    """Tokens that cross a split point: a text that contains one of them is not split."""
    stops: bool = False
    """Whether a text may be split before a Chinese or Japanese stop, too."""
    spaces: bool = False
    """Whether a text may be split before every single space, which suffices to count its words
    one by one. May be true of a tokenizer that is not `proved`."""

    def between(self, before_text: str, after_text: str) -> bool:
        """Return whether the tokens of two texts add up to those of both joined; none is empty."""
        if not self.proved:
            return False
        before, after = before_text[-1], after_text[0]
        if after == " ":
            return not before.isspace() and len(after_text) > 1 and not after_text[1].isspace()
        if before == "\n":
            return not after.isspace() and after != "/"
        if after == "\n":
            return before.isalnum() and before.isascii()
        return self.stops and after in _STOPS and _CJK.match(before) is not None

    def hold_in(self, text: str) -> bool:
        """Return whether this text may be split: it contains none of the crossing strings."""
        return self.proved and not any(string in text for string in self.crossing)


NO_SPLIT_POINTS = SplitPoints(False)


def split_points_of_pattern(pattern: str) -> SplitPoints:
    """Return the split points of a tokenizer that splits text only by a regular expression."""
    proved = pattern in PATTERNS.values()
    return SplitPoints(proved, stops=proved, spaces=proved)


def split_points_of_json(text: str) -> SplitPoints:
    """Return the split points of a Hugging Face fast tokenizer, from its tokenizer.json."""
    parts = json.loads(without_merges(text))
    added = [token["content"] for token in parts.get("added_tokens") or []]
    strips = any(token["lstrip"] or token["rstrip"] for token in parts.get("added_tokens") or [])
    if strips or parts.get("truncation") or parts["model"].get("dropout"):
        return NO_SPLIT_POINTS
    if any(_SPLIT_INSIDE.search(content) for content in added):
        return NO_SPLIT_POINTS
    if _is_split_by_pattern(parts):
        stops = not any(set(content) & set(_STOPS) for content in added)
        return SplitPoints(True, stops=stops, spaces=True)
    if _is_whole_text_bpe(parts):
        tokens = (token.replace("\u2581", " ") for token in parts["model"]["vocab"])
        crossing = tuple(token for token in tokens if _SPLIT_INSIDE.search(token))
        return SplitPoints(True, crossing) if len(crossing) <= _MAX_CROSSING else NO_SPLIT_POINTS
    return SplitPoints(False, spaces=_is_split_as_gpt2(parts))


def without_merges(text: str) -> str:
    """Return a tokenizer.json without its merges, the largest part, which comes last."""
    before, merges, _ = text.rpartition(',"merges":[')
    return f"{before}}}}}" if merges else text


def _is_split_by_pattern(parts: dict[str, Any]) -> bool:
    normalizer, pre = parts.get("normalizer"), parts.get("pre_tokenizer") or {}
    if normalizer is not None and normalizer["type"] != "NFC":
        return False
    steps = pre.get("pretokenizers", [])
    if pre.get("type") != "Sequence" or [step["type"] for step in steps] != ["Split", "ByteLevel"]:
        return False
    split, byte_level = steps
    return (
        split["pattern"].get("Regex") in PATTERNS.values()
        and split["behavior"] == "Isolated"
        and not split["invert"]
        and not byte_level["use_regex"]
        and not byte_level["add_prefix_space"]
    )


def _is_split_as_gpt2(parts: dict[str, Any]) -> bool:
    r"""Return whether text is split by GPT-2's pattern, possibly after its digits (SmolLM2).

    `'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+` begins a pre-token
    at every single space, but joins the newlines of an empty line only where a text ends.
    """
    normalizer, pre = parts.get("normalizer"), parts.get("pre_tokenizer") or {}
    if normalizer is not None and normalizer["type"] != "NFC":
        return False
    steps = pre.get("pretokenizers") or [pre]
    *before, last = steps
    return (
        [step["type"] for step in before] in ([], ["Digits"])
        and last.get("type") == "ByteLevel"
        and last["use_regex"]
        and not last["add_prefix_space"]
    )


def _is_whole_text_bpe(parts: dict[str, Any]) -> bool:
    """Return whether BPE runs over the whole text, as Gemma's does.

    Its normalizer replaces every space by U+2581, so its pre-tokenizer, which splits at spaces,
    never splits anything.
    """
    normalizer = parts.get("normalizer") or {}
    pre, model = parts.get("pre_tokenizer"), parts["model"]
    return (
        model["type"] == "BPE"
        and not model.get("continuing_subword_prefix")
        and not model.get("end_of_word_suffix")
        and (model.get("byte_fallback") or not model.get("fuse_unk"))
        and normalizer.get("type") == "Replace"
        and normalizer["pattern"] == {"String": " "}
        and normalizer["content"] == "\u2581"
        and (pre is None or (pre["type"] == "Split" and pre["pattern"] == {"String": " "}))
    )


# ---- Counting ------------------------------------------------------------------------------------

WORTHWHILE = 1 << 20
"""Counting by words saves time from this many characters on."""


def counts_by_words(
    texts: Sequence[str], count_batch: Callable[[Sequence[str]], list[int]]
) -> list[int]:
    """Return the tokens of each text; each different word is tokenised once.

    If a tokenizer splits before every single space (SplitPoints.spaces), the tokens of a text are
    those of its first word and of every other word with its space. HotpotQA's paragraphs have 6
    million words, half a million of them different, so this takes a fraction of the time. A text
    with two white space characters in a row is counted whole.

    Args:
        texts: The texts.
        count_batch: Returns the tokens of each text, counted whole.
    """
    words: set[str] = set()
    for text in texts:
        words.update(text.split(" ")[1:])
    # After a space there must be a word, and before a space no other white space.
    not_words = {word for word in words if not word or word[0].isspace()}
    not_before_space = {word for word in words if word and word[-1].isspace()}

    def is_divisible(text: str) -> bool:
        first, *rest = text.split(" ")
        return (
            bool(first)
            and not (rest and first[-1].isspace())
            and not_words.isdisjoint(rest)
            and not_before_space.isdisjoint(rest[:-1])
        )

    ordered = sorted(words - not_words)
    word_tokens = dict(zip(ordered, count_batch([f" {word}" for word in ordered]), strict=True))
    beginnings = []  # the first word of each text, or all of the text
    for text in texts:
        beginnings.append(text.partition(" ")[0] if is_divisible(text) else text)
    counts = []
    for text, beginning, tokens in zip(texts, beginnings, count_batch(beginnings), strict=True):
        if beginning != text:
            tokens += sum(word_tokens[word] for word in text.split(" ")[1:])
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
    # Returns the tokens of a text, in which a special token's name is ordinary text
    encode: Callable[[str], Sized]
    split_points: SplitPoints = NO_SPLIT_POINTS
    # The library's own counter, if gigatoken counts
    reference: TokenCounter | None = None

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's tokens."""
        encoded: Any = self.encode(text)
        return list(getattr(encoded, "ids", encoded))

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.encode(text))

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; each different text is counted once."""
        different = dict.fromkeys(texts)
        tokens = dict(zip(different, map(len, map(self.encode, different)), strict=True))
        return [tokens[text] for text in texts]

    def confirmed_count(self, text: str, where: str) -> int:
        """Return the number of tokens of a text as the tokenizer's own library counts them.

        `where` names the text in an error: "row 100 of vt_4k". Raises CountsDiffer if gigatoken
        counts differently.
        """
        tokens = self.count(text)
        if self.reference is None:
            return tokens
        exact = self.reference.count(text)
        if exact != tokens:
            raise CountsDiffer(
                f"{self.counted_by} counts {tokens} tokens in {where}, "
                f"{self.reference.counted_by} counts {exact}: "
                "this file is counted again without it."
            )
        return exact


class BatchCounter(TokenCounter):
    """Counts with the Rust library tokenizers, which is much faster for many texts at a time."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; many texts are counted by their words."""
        if self.split_points.spaces and sum(map(len, texts)) >= WORTHWHILE:
            return counts_by_words(texts, self._counts_whole)
        return self._counts_whole(texts)

    def _counts_whole(self, texts: Sequence[str]) -> list[int]:
        different = list(dict.fromkeys(texts))
        encodings = self.tokenizer.encode_batch_fast(different, add_special_tokens=False)
        tokens = {text: len(encoded) for text, encoded in zip(different, encodings, strict=True)}
        return [tokens[text] for text in texts]


class CountsDiffer(Exception):
    """gigatoken counts a text differently from the tokenizer's own library."""


# What gigatoken calls the pre-tokenizer patterns of tiktoken's encodings.
_SCHEMES = {
    PATTERNS["cl100k_base"]: "gpt4",
    PATTERNS["o200k_base"]: "o200k",
    PATTERNS["tekken"]: "nemotron",
}
# gigatoken is not used if it counts these differently from the reference.
_PROBES = (
    *OTHER_TEXTS,
    "<s> </s> <bos> <|endoftext|> <|im_start|> [INST] <unk> <start_of_turn> </b>",
)


def with_gigatoken(reference: TokenCounter) -> TokenCounter:
    """Return a counter that uses gigatoken, or the reference if it cannot load the tokenizer."""
    try:
        import gigatoken  # noqa: F401
    except ImportError:
        return reference
    try:
        counter = _load_gigatoken(reference)
        if counter and counter.counts(_PROBES) == reference.counts(_PROBES):
            return counter
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of its Rust code is not an Exception
        pass
    return reference


@lru_cache(maxsize=1)
def _load_gigatoken(reference: TokenCounter) -> TokenCounter | None:
    """Return gigatoken's counter for a tokenizer; None if its pattern is unknown to gigatoken."""
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
            lines = [
                b"%s %d\n" % (b2a_base64(token, newline=False), ranks[token])
                for token in sorted(ranks, key=ranks.__getitem__)
            ]
            path.write_bytes(b"".join(lines))
            # No special tokens: their names in a text are ordinary text, as for the reference.
            tokenizer = gigatoken.Tokenizer.from_tiktoken(path, _SCHEMES[pattern], {})
    return gigatoken_counter(reference, tokenizer, unknown)


def gigatoken_counter(
    reference: TokenCounter, tokenizer: Any, unknown: bytes = b""
) -> TokenCounter:
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
        counted_by=f"gigatoken {version('gigatoken')}",
        tokenizer=tokenizer,
        encode=encode_known if unknown else encode,
        split_points=reference.split_points,
        reference=reference,
    )


def _with_every_byte(serialised: str) -> tuple[str, bytes]:
    """Return a tokenizer.json whose byte-level vocabulary has all 256 bytes, and the added ones.

    Gigatoken accepts only such a vocabulary. A trained tokenizer may lack bytes that were not in
    its training text: SmolLM2's lacks 21.
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
    added_ids = [token["id"] for token in described["added_tokens"]]
    token_id = max([*vocabulary.values(), *added_ids])
    unknown = []
    for byte, character in bytes_to_unicode().items():
        if character not in vocabulary:
            token_id += 1
            vocabulary[character] = token_id
            unknown.append(byte)
    return json.dumps(described), bytes(unknown)
