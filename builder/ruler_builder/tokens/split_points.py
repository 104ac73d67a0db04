r"""Split points: places where the tokens of a text are those of the two parts, concatenated.

A long prompt is counted piece by piece, each piece once. That is exact only if no token crosses the
border between two pieces, which is proved for these four kinds of border and assumed for no other:

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
- BPE over the whole text (Gemma). Merges only make tokens of the vocabulary, so a token can cross a
  split point only if it contains one. There are few of these `crossing` strings, and a text is
  searched for them. Many tokens cross a stop, so these tokenizers have no split points there.

Any other tokenizer has no split points, and its texts are counted whole.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

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
        """Return whether tokens(both) = tokens(before) + tokens(after), neither empty."""
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


NONE = SplitPoints(False)


def of_pattern(pattern: str) -> SplitPoints:
    """Return the split points of a tokenizer that splits text only by a regular expression."""
    proved = pattern in PATTERNS.values()
    return SplitPoints(proved, stops=proved, spaces=proved)


def of_tokenizer_json(text: str) -> SplitPoints:
    """Return the split points of a Hugging Face fast tokenizer, from its tokenizer.json."""
    parts = json.loads(without_merges(text))
    added = [token["content"] for token in parts.get("added_tokens") or []]
    strips = any(token["lstrip"] or token["rstrip"] for token in parts.get("added_tokens") or [])
    if strips or parts.get("truncation") or parts["model"].get("dropout"):
        return NONE
    if any(_SPLIT_INSIDE.search(content) for content in added):
        return NONE
    if _is_split_by_pattern(parts):
        stops = not any(set(content) & set(_STOPS) for content in added)
        return SplitPoints(True, stops=stops, spaces=True)
    if _is_whole_text_bpe(parts):
        tokens = (token.replace("\u2581", " ") for token in parts["model"]["vocab"])
        crossing = tuple(token for token in tokens if _SPLIT_INSIDE.search(token))
        return SplitPoints(True, crossing) if len(crossing) <= _MAX_CROSSING else NONE
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
