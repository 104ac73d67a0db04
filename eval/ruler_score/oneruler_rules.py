"""ONERULER's rules (arXiv:2503.01996, section 3): the answer is exactly what was asked for.

    exact_numbers("<Odpowiedź>1234567</Odpowiedź>", ["1234567"], "pl")      # 1.0

And as its authors' script has them: `authors_numbers` and the rest.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import NamedTuple

from .language_rules import LANGUAGES
from .language_text import (
    AFTER,
    BEFORE,
    COUNT,
    MARKS,
    Language,
    denies,
    either_of,
    normalize,
    numbers,
    places,
    read_answer,
    rules_for,
    says_none,
    stands,
)

NONE_WORDS = {language: rules.none for language, rules in LANGUAGES.items()}
"""What the prompts ask for when there is no answer, and variants of it that are accepted."""
AUTHORS_NONE_WORDS = {**NONE_WORDS, "fa": ("هیچ کدام",), "sr": ("nema",)}
"""The variants that the authors' script accepts."""

_WORDS = re.compile(rf"(?:[^\W\d_]|[{MARKS}])+")
_ENGLISH_LEAD_IN, _MOST_LEAD_IN, _WORD_BEGINS = ("answer", "final"), 60, re.compile(r"\w")


@functools.lru_cache(maxsize=8)  # the rules of one row read the same answer
def answer_in(prediction: str, language: Language) -> str:
    """What a prediction without reasoning gives as its answer, normalized."""
    return read_answer(normalize(prediction, language), language)


def exact_numbers(
    prediction: str, references: Sequence[str], language: Language, none_word: str | None = None
) -> float:
    """1 if the answer's numbers are exactly the references and the none word is not there."""
    answer = answer_in(prediction, language)
    wanted = {normalize(reference, language) for reference in references}
    return float(numbers(answer) == wanted and not says_none(answer, language, none_word))


def exact_none(prediction: str, language: Language, none_word: str | None = None) -> float:
    """1 if the answer says none and there is no number of two digits or more."""
    answer = answer_in(prediction, language)
    return float(denies(answer, language, none_word) and not numbers(answer))


def common_words(
    prediction: str, references: Sequence[str], language: Language
) -> tuple[int, bool]:
    """How many of the words are in the answer's list (Figure 23), and whether nothing else is.

    Separators, numbering, counts, case and the word for "and" are ignored. Words may hold spaces.
    """
    words = {normalize(reference, language).strip() for reference in references} - {""}
    best = best_list(answer_in(prediction, language), words, language)
    return best.found, best.alone


class _List(NamedTuple):
    """A list as it is read, how many of the words stand in it, and whether nothing else does."""

    text: str
    found: int
    alone: bool


def best_list(text: str, words: Collection[str], language: Language) -> _List:
    """A normalized answer's list, with or without what looks like a lead-in: which fits better.

    Both are tried, since a word of the list may be a word of the lead-in.
    """
    lists = [_read_list(text, words, language)]
    if end := _lead_in_end(text, language):
        lists.append(_read_list(text[end:], words, language))
    return max(lists, key=lambda one: (one.alone and one.found == len(words), one.found, one.alone))


def _read_list(text: str, words: Collection[str], language: Language) -> _List:
    listed = rest = _list_of_words(text, words, language)
    found = 0
    for word in sorted(words, key=len)[::-1]:
        ends = [0, *(place + len(word) for place in places(rest, word))]
        found += len(ends) > 1
        starts = [*(end - len(word) for end in ends[1:]), len(rest)]
        rest = "\n".join(rest[end:start] for end, start in zip(ends, starts, strict=True))
    known = {*rules_for(language).conjunctions, "and"}
    return _List(listed, found, {*_WORDS.findall(rest)} <= known)


def _list_of_words(text: str, words: Collection[str], language: Language) -> str:
    """A normalized answer without numbers and counts; lines end at "and"s that touch words."""
    rules = rules_for(language)

    def kept(count: re.Match[str]) -> str:
        return count[0] if any(stands(count[0], word) for word in words) else " "

    text = COUNT.sub(kept, text)
    if not re.search(r"\d", "".join(words)):
        text = _count_pattern(language).sub(kept, text)
        text = re.sub(r"\d+", " ", text)  # ① touches its word
    text = re.sub(r"[ \t]+", " ", text)
    if not rules.touching:
        return text
    either, between = (
        "|".join(map(re.escape, sorted(items, key=len)[::-1]))
        for items in (words, rules.conjunctions)
    )
    joined = rf"({BEFORE}(?:{either}))(?:{between})(?=\s?(?:{either})(?:{AFTER}|{between}))"
    for _ in words:  # the word after an "and" begins a line in the next round
        text = re.sub(joined, r"\1\n", text)
    return text


def exact_words(prediction: str, references: Sequence[str], language: Language) -> float:
    """1 if the listed words are exactly the references."""
    found, alone = common_words(prediction, references, language)
    return float(alone and found == len({normalize(word, language) for word in references}))


@functools.cache
def _lead_in_word(language: Language) -> re.Pattern[str]:
    """A word that may stand before a list, and what follows it up to the next word."""
    rules = rules_for(language)
    known = either_of((*rules.lead_in.split(), *rules.tags, *_ENGLISH_LEAD_IN), language)
    after = "" if rules.touching else AFTER
    return re.compile(rf"(?:{known}){after}[ \t\"'«»„“”*_#()]*")


def _lead_in_end(text: str, language: Language) -> int:
    """Where the list begins, in characters; 0 where nothing stands before it.

    Known words stand before it up to a colon, three of them up to a line's end, or four.
    """
    word, end = _lead_in_word(language), 0
    at, run, comma = _skipped(text, 0), 0, False
    while run < _MOST_LEAD_IN and (match := word.match(text, at)):
        at, run = match.end(), run + 1
        sign = text[at : at + 1]
        if sign == ":" or (sign == "\n" and run >= 3):
            end = at = _skipped(text, at)
            run, comma = 0, False
        elif sign == ",":
            at, comma = _skipped(text, at), True
    return end if run < 4 or comma else at


def _skipped(text: str, at: int) -> int:
    """The next letter, digit or underscore from `at` on."""
    match = _WORD_BEGINS.search(text, at)
    return match.start() if match else len(text)


@functools.cache
def _count_pattern(language: Language) -> re.Pattern[str]:
    """A count beside a word of a list: x30, 30 times, appears 30 times."""
    rules = rules_for(language)
    word = f"(?:{either_of((*rules.counts.split(), 'x', '×'), language)})"
    first = second = word
    if not isinstance(language, str):  # a stranger's: the longest that fits, so that time is short
        first, second = (rf"(?=({word}))\{group}" for group in (1, 2))
    before, after = ("", "") if rules.touching else (BEFORE, AFTER)
    in_front = rf"(?:{before}{first}(?:{after}[:\s]{{0,4}}|(?=\d))){{0,4}}"
    behind = rf"(?:\s?{second}{after}){{1,4}}{AFTER}"
    return re.compile(rf"{in_front}\d{{1,9}}(?:{behind})?")


# ---- As its authors scored it ----------------------------------------------------------------


def authors_answer(prediction: str, model: str = "") -> str:
    """The text their script reads: all of it, reasoning included.

    Of a model named deepseek it reads the first `<Answer>…</Answer>` on one line, tags included,
    where there is one.
    """
    match = re.search(r"<Answer>.*?</Answer>", prediction) if "deepseek" in model else None
    return match[0] if match else prediction


def authors_numbers(answer: str, references: Sequence[str], language: Language) -> float:
    """Numbers as a set, same count; any none word as a bare substring, even in a word, fails."""
    text = unicodedata.normalize("NFKC", answer)
    if any(word in text or _squeeze(word) in text for word in _authors_none_words(language)):
        return 0.0
    found = dict.fromkeys(number for number in re.findall(r"\d+", text) if len(number) > 1)
    try:
        wanted, given = [int(item) for item in references], {int(number) for number in found}
    except ValueError:  # a reference that is no number, a number of thousands of digits
        return 0.0
    return float(len(found) == len(wanted) and given == set(wanted))


def authors_none(answer: str, language: Language) -> float:
    """A none word as a bare substring is right, whatever numbers stand beside it."""
    text = _squeeze(unicodedata.normalize("NFKC", answer))
    return float(any(_squeeze(word) in text for word in _authors_none_words(language)))


def _authors_none_words(language: Language) -> tuple[str, ...]:
    """What their script accepts; in a language that it does not know, what the prompt asks for."""
    return AUTHORS_NONE_WORDS[language] if isinstance(language, str) else language.none


def authors_words(answer: str, references: Sequence[str]) -> float:
    """Every word as a bare substring, whatever else was listed."""
    text = answer.strip().lower()
    return float(all(reference.strip().lower() in text for reference in references))


def authors_leave_out(prediction: str | None, finish_reason: str | None, model: str = "") -> bool:
    """Whether a row leaves their denominator: nothing came back, or o3 used up its tokens."""
    return prediction is None or ("o3-" in model and finish_reason == "length")


def _squeeze(text: str) -> str:
    return text.strip().lower().replace("\u200c", "").replace(" ", "")
