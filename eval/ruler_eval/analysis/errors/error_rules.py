"""When an answer is of a kind, whatever its family: the longer predicates of error_kinds.RULES.

Each takes a GivenAnswer of a wrong row, and relies on the earlier ones not holding. What a family
alone can tell stands in its module (ruler_eval/families).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from ruler_eval.families.answer_text import (
    find_whole,
    normalize_long,
    resembles,
    says_nothing,
)
from ruler_eval.families.given_answer import GivenAnswer, candidates
from ruler_score import language_text
from ruler_score.language_text import normalize, numbers
from ruler_score.oneruler_rules import NONE_WORDS

WITHOUT_TEXT = ("missing", "does_not_fit", "failed", "cut_in_thinking", "cut", "empty")
"""Kinds of rows whose answer is not read."""
_REFUSAL = re.compile(
    r"\bi(?:'m| am)? (?:cannot|can't|can not|am unable|unable|won't|not able|sorry)\b|as an ai\b"
    r"|\bsorry, (?:but )?i\b|\bcannot (?:assist|help|comply|fulfill?)\b|je ne peux pas|no puedo"
    r"|ich kann (?:leider )?(?:nicht|keine|diese)|não posso|non posso|nie mogę|не могу|не можу"
    r"|申し訳|抱歉|无法(?:回答|提供|协助)|죄송"
)
_LEAST_EXPLANATION = 8  # words
_LEAST_COPY = 20  # characters that no honest answer shares with the beginning by chance
_NEAR_START = 100  # characters
_SCRIPTS = {
    "fa": "\u0600-\u06ff", "hi": "\u0900-\u097f", "ja": "\u3040-\u30ff\u4e00-\u9fff",
    "ko": "\uac00-\ud7af", "ru": "\u0400-\u04ff", "sr": "\u0400-\u04ff", "ta": "\u0b80-\u0bff",
    "uk": "\u0400-\u04ff", "zh": "\u4e00-\u9fff",
}  # fmt: skip


def over_the_window(answer: GivenAnswer) -> bool:
    """A prompt that did not fit."""
    return answer.prediction is not None and answer.prediction.finish_reason == "does_not_fit"


def empty(answer: GivenAnswer) -> bool:
    """Not one letter, digit or noise word."""
    return not re.search(r"[^\W_]|\.\.\.", answer.text)


def refused(answer: GivenAnswer) -> bool:
    """Declined, and nothing right was given; not to find the answer is no refusal."""
    text = answer.text.replace("’", "'")
    if answer.found or not _REFUSAL.search(text) or says_nothing(text):
        return False
    return not garbled(answer)


def says_none(answer: GivenAnswer) -> bool:
    """Says that there is no such thing, and offers no value instead."""
    if answer.task == "niah_none" or answer.found:
        return False
    if answer.language is not None:
        none_word = answer.row.get("none_word") or None
        how = answer.language, none_word
        return not answer.is_list and language_text.says_none(answer.text, *how)
    if not says_nothing(answer.first_line if answer.is_qa else answer.text):
        return False
    return answer.is_list or not (garbled(answer) or any(map(_is_value(answer), answer.wrong)))


def _is_value(answer: GivenAnswer) -> Callable[[str], bool]:
    """Whether an item may be meant as a value: half as long as a reference or longer."""
    least = min(map(len, answer.wanted), default=0) / 2
    return lambda item: len(item) >= least


def from_start(answer: GivenAnswer) -> bool:
    """The answer begins as the context or the prompt does."""
    beginning_of_answer = " ".join(answer.text.split())[:60]
    return len(beginning_of_answer) >= _LEAST_COPY and any(
        0 <= _beginning(text).find(beginning_of_answer) <= _NEAR_START
        for text in (answer.context, answer.row["input"])
    )


@lru_cache(maxsize=4)  # several runs answer one row
def _beginning(text: str) -> str:
    return " ".join(normalize_long(text[:1000]).split())


def garbled(answer: GivenAnswer) -> bool:
    """Something that is no value of the context, and is much like a reference that is missing."""
    if answer.is_list or answer.is_qa or answer.task == "niah_none":
        return False
    lacking = [value for value in answer.wanted if value not in answer.text]
    if lacking and answer.task == "vt":
        lacking = list(answer.wanted)  # a copy of another name instead of the missing one
    offered = [text for text in candidates(answer) if find_whole(text, answer.folded) < 0]
    return any(resembles(text, value) for text in offered for value in lacking)


def repeats(answer: GivenAnswer) -> bool:
    """One of the right ones stands there again, and others lack."""
    times = Counter(answer.items)
    return answer.found > 0 and any(times[value] > 1 for value in answer.wanted)


def unfinished(answer: GivenAnswer) -> bool:
    """A text of some length that offers nothing yet, and was truncated or ends in mid-sentence."""
    text = answer.text.strip()
    if answer.is_qa or answer.items or len(text.split()) < _LEAST_EXPLANATION:
        return False
    truncated_text = answer.prediction is not None and answer.prediction.finish_reason == "length"
    return truncated_text or not re.search(r"[.!?。！？।]\W*$", text)


def wrong_format(answer: GivenAnswer) -> bool:
    """The right number in another place or form, another language's none word, another script."""
    if answer.found and answer.task != "niah_none":
        return False
    whole = normalize(answer.raw)
    if answer.task == "niah_none":
        none = (language_text.says_none(answer.text, language) for language in NONE_WORDS)
        return not answer.items and any(none)
    if all(reference.isdecimal() for reference in answer.wanted):
        digits = re.sub(r"\D", "", answer.text)
        return answer.wanted <= numbers(whole) or any(
            reference in digits and not answer.items for reference in answer.wanted
        )
    script = _SCRIPTS.get(answer.language) if isinstance(answer.language, str) else None
    letters = re.findall(r"[^\W\d_]", answer.text)
    if script is None or not answer.is_list or len(letters) < 10:
        return False
    return len(re.findall(f"[{script}]", "".join(letters))) < 0.2 * len(letters)


def unrelated(answer: GivenAnswer) -> bool:
    """Nothing of the answer stands in the context, as far as that is known."""
    if not answer.context:
        return False
    context = answer.folded
    if answer.is_list and answer.items:
        return not answer.words.intersection(answer.items)
    items = answer.items or candidates(answer) or re.findall(r"\d{3,}", answer.text)
    return bool(items) and not any(item in context for item in items)
