r"""How near a short answer is to a right one: by its content words, then by its letters.

same_words("on 3 hills", {"three hills"})                                # True
near("jillian bell", {"jillian belk"})                                   # True: one letter
near("1472 km", {"2844 km"})                                             # False: another number
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from ruler_eval.families.answer_text import find_whole, much_alike
from ruler_eval.families.function_words import frequent

_STOP = frequent("en") | {
    *("and", "or", "from", "between", "were", "into", "than", "then", "there", "their", "they"),
    *("she", "her", "him", "we", "its", "who", "whom", "whose", "which", "what", "when", "where"),
    *("document", "documents", "passage", "text", "context", "mentions", "mentioning", "states"),
    *("question", "answer", "mentioned", "stated", "said", "says", "over", "after", "before"),
    *("these", "those", "such", "any", "most", "very", "both", "only", "no", "not"),
    *("how", "why", "had", "has", "have", "did", "does", "do", "been", "being", "also", "s"),
}
_FROM_ZERO = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_FROM_FIRST = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_TENS = "thirty forty fifty sixty seventy eighty ninety"
_NUMBERS = {
    **{word: str(number) for number, word in enumerate(_FROM_ZERO.split())},
    **{word: str(number) for number, word in enumerate(_FROM_FIRST.split(), 1)},
    **{word: f"{number}0" for number, word in enumerate(_TENS.split(), 3)},
    "single": "1",
}
_NAMES = {
    number: [name for name, other in _NUMBERS.items() if other == number]
    for number in _NUMBERS.values()
}
_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")
_MARKS = re.compile("[\u02b0-\u02ff\u0300-\u036f]+")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_SCALED = re.compile(
    r"(?<![\d.,])(\d+(?:\.\d+)?[ -]?|\b[a-z]+[ -])(thousand|million|billion|mn?|bn?)\b"
)
_SCALES = {"thousand": 3, "million": 6, "m": 6, "mn": 6, "billion": 9, "b": 9, "bn": 9}
_FEW = 15  # words of a short answer
_LEAST_PAIR = 2  # content words of a reference that are looked for in a longer answer
_ALIKE = 0.82  # of the letters of two words
_ALIKE_WHOLE = 0.85  # of the letters of two answers, however they are parted into words
_LONG, _LOST, _LEAST_STEM = 8, 3, 6  # letters: of a long word, of its ending, of what is left
_LONG_STEM, _STEM = 7, 0.6  # letters, and share of a word's, in which two words begin alike
_LEAST_LETTERS = 4
_ENDING = 4  # letters that a word may have more: Turk and Turkish
_SENTENCE = 2  # words that a longer answer has more than the reference
_MANY = 3  # words shared, that no two answers share by chance: then less than a half is enough
_NEARLY_HALF = 0.45
_LEAST_RUN = 4  # words in a row, function words too, that a longer answer repeats
_MOST = 0.75  # of the words, where a part of a longer answer is compared
_INITIALS = range(2, 7)  # letters of an abbreviation


@lru_cache(maxsize=16)  # several rules, and several runs' answers, are about one question
def content(text: str) -> tuple[str, ...]:
    """The words of a normalized text in order, but for function words.

    Plural endings are dropped, and small numbers are digits: "the three hills" is ("3", "hill").
    """
    words = (_plain(word) for word in _WORD.findall(without_marks(text)))
    return tuple(word for word in words if word)


def without_marks(text: str) -> str:
    """A text without accents, letters that are apostrophes, the ending 's and signs of powers."""
    if not text.isascii():
        text = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    return text.replace("'s", "").replace("^", "")


def _plain(word: str) -> str:
    if word in _NUMBERS:
        return _NUMBERS[word]
    if word in _STOP:
        return ""
    if ordinal := _ORDINAL.fullmatch(word):
        return ordinal[1]
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def stands_in(text: str, word: str) -> bool:
    """Whether a word of `content` stands in a normalized text."""
    names: Collection[str] = ()
    endings: Collection[str] = ("", "s")
    if word.isdecimal():
        names, endings = _NAMES.get(word, ()), ("", "th", "st", "nd", "rd")
    if word in text and any(find_whole(word + ending, text) >= 0 for ending in endings):
        return True
    return any(find_whole(name, text) >= 0 for name in names)


def has_endings(word: str) -> bool:
    """Whether a word is so long that it may stand in a text with another ending."""
    return len(word) >= _LONG and word.isalpha()


def begins_in(text: str, word: str) -> bool:
    """Whether it does, or a long one with another ending: "deterministic", "deterministically"."""
    stem = word[: max(_LEAST_STEM, len(word) - _LOST)]
    return stands_in(text, word) or (has_endings(word) and _begins_word(stem, text))


def _begins_word(stem: str, text: str) -> bool:
    at = text.find(stem)
    while at >= 0:
        if not text[at - 1 : at].isalnum():
            return True
        at = text.find(stem, at + 1)
    return False


def same_words(text: str, references: Collection[str]) -> bool:
    """Whether an answer has the words of a reference, or a part of them, and few others.

    A longer one: all of a reference's, if these are two or more. Large numbers are the same however
    they are written, and initials stand for the reference's words.
    """
    short = len(text.split()) <= _FEW
    text = _in_digits(text)
    for reference in map(_in_digits, references):
        given, wanted = set(content(_in_full(text, reference))), set(content(reference))
        whole = bool(wanted) and wanted <= given
        if short and (whole or (given and given <= wanted)):
            return True
        if whole and len(wanted) >= _LEAST_PAIR:
            return True
    return False


def _in_digits(text: str) -> str:
    """A normalized text with large numbers in digits: 1,300,000, 1.3 million and 1.3m are one."""
    text = _GROUPED.sub(lambda number: number[0].replace(",", ""), text)
    return _SCALED.sub(_scaled, text)


def _scaled(number: re.Match[str]) -> str:
    given = number[1].rstrip(" -")
    whole, _, rest = _NUMBERS.get(given, given).partition(".")
    zeros = _SCALES[number[2]] - len(rest)
    if not whole.isdecimal() or zeros < 0:
        return number[0]
    return (whole + rest + "0" * zeros).lstrip("0") or "0"


def _in_full(text: str, reference: str) -> str:
    """A normalized text with the words of a reference for their initials, function words too."""
    words = re.findall(r"[^\W\d_]+", reference)
    initials = "".join(word[0] for word in words)
    for word in set(re.findall(r"[^\W\d_]+", text.replace(".", ""))) - set(words) - _STOP:
        at = initials.find(word) if len(word) in _INITIALS else -1
        if at >= 0:
            full = " ".join(words[at : at + len(word)])
            text = re.sub(rf"\b{'[.]?'.join(word)}\b", full, text)
    return text


def near(text: str, references: Collection[str], question: str = "") -> bool:
    """Whether an answer shares most words or letters with a reference: F1 of words above a half.

    Of a longer answer, any part as long as the reference does, by a stricter measure, or repeats
    most of it word for word. Words are alike that differ by a few letters; a number with another
    digit is another number. Words of the question tell nothing, where there are others.
    """
    given, asked = content(text), set(content(question))
    return any(_near(text, given, reference, asked) for reference in references)


def _near(text: str, given: Sequence[str], reference: str, asked: set[str]) -> bool:
    wanted: Sequence[str] = content(reference)
    if not given or not wanted:
        return False
    if _alike("".join(given), "".join(wanted), _ALIKE_WHOLE):
        return True
    if set(wanted) - asked and _much_of(reference, text):
        return True
    single = len(wanted) == 1
    given = [word for word in given if word not in asked] or given
    wanted = [word for word in wanted if word not in asked] or wanted
    shared = _shared(given, wanted)
    if _f1(shared, given, wanted) > (0.5 if shared < _MANY else _NEARLY_HALF):
        return True
    if len(given) <= len(wanted) + _SENTENCE or (len(wanted) == 1 and not single):
        return False
    parts = _parts(given, len(wanted))
    return any(_f1(_shared(part, wanted), part, wanted) >= _MOST for part in parts)


def _much_of(reference: str, text: str) -> bool:
    """Whether half of a reference or more, and some words in a row, stand in a text as they are."""
    wanted = re.findall(r"\w+", reference)
    if len(wanted) < _LEAST_RUN:
        return False
    given = re.findall(r"\w+", text)
    matcher = difflib.SequenceMatcher(None, given, wanted, autojunk=False)
    run = matcher.find_longest_match().size
    return run >= _LEAST_RUN and 2 * run >= len(wanted)


def _parts(words: Sequence[str], length: int) -> Iterator[Sequence[str]]:
    for start in range(len(words) - length + 1):
        yield words[start : start + length]


def _f1(shared: int, given: Sequence[str], wanted: Sequence[str]) -> float:
    """Twice the words that both have, over the words of both; each word once."""
    return 2 * shared / (len(set(given)) + len(set(wanted)))


def _shared(given: Sequence[str], wanted: Sequence[str]) -> int:
    """How many words both have, or words that are alike."""
    rest = list(dict.fromkeys(wanted))
    shared = 0
    for word in dict.fromkeys(given):
        if like := next((other for other in rest if _akin(word, other)), None):
            rest.remove(like)
            shared += 1
    return shared


def _akin(a: str, b: str) -> bool:
    """Whether two words are alike, or long ones of one stem: "multiplying", "multiplication"."""
    if _alike(a, b):
        return True
    if a[:_LONG_STEM] != b[:_LONG_STEM]:
        return False
    unlike = (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y)
    stem = next(unlike, min(len(a), len(b)))
    return stem >= _LONG_STEM and stem > _STEM * min(len(a), len(b))


def _alike(a: str, b: str, share: float = _ALIKE) -> bool:
    """Whether two words have most letters in common, or one is the other's beginning.

    Their digits must be the same.
    """
    if a == b:
        return True
    if min(len(a), len(b)) < _LEAST_LETTERS or _digits(a) != _digits(b):
        return False
    if abs(len(a) - len(b)) <= _ENDING and (a.startswith(b) or b.startswith(a)):
        return True
    return much_alike(a, b, share)


def _digits(word: str) -> str:
    return "" if word.isalpha() else re.sub(r"\D", "", word)
