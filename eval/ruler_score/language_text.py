"""Read text in any language: case folding, numbers, lists, whole words, answer tags.

    read_answer(normalize("<Odpowiedź>12</Odpowiedź>"), "pl")      # "12"

A language is the code of one of the 26 languages, or the rules of another one.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from .language_rules import LanguageRules
from .language_table import LANGUAGES

Language = str | LanguageRules
"""The ISO 639-1 code of one of the 26 languages, or the rules of another one (`read_rules`)."""

_FORMAT = re.compile(  # zero-width characters, with the variation selectors of emoji
    "[\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0100-\U000e01ef]"
)
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_ARABIC_TO_PERSIAN = (("ك", "ک"), ("ي", "ی"), ("ى", "ی"))
_APOSTROPHES = str.maketrans("‘’ʼ", "'''")
_SIGNS = {
    **{ord("№"): "#", ord("º"): "°"},  # NFKC makes the word "no" of № and nº
    **{ord("①") + n: f" {n + 1}) " for n in range(20)},  # and the number 112 of ①12
    0x20E3: ") ",  # the keycap around a digit
}
_GROUPED = re.compile(  # 1,234,567 and, as in India, 12,34,567
    r"(?<!\d)(?<!\d[.,٬])\d{1,3}([ ,.'٬])\d{3}(?:\1\d{3})+(?!\d)"
    r"|(?<!\d)(?<!\d[.,])\d{1,2}(?:,\d\d)+,\d{3}(?!,?\d)"
)
_NUMBER = re.compile(r"\d{2,}")
_MAY_BE_GROUPED = re.compile(r"\d[ ,.'٬]\d\d")
_PAIR = re.compile(r"<\s*([^\W\d_][^<>/\n]{0,40}?)\s*>([^<>]*)</\s*\1\s*>")
_NUMBERED = re.compile(r"(?:^|\s)\d{1,3}\s*[.):]\s*(.+?)(?=\s+\d{1,3}\s*[.):]\s|[\n,;]|$)")
_COUNT = re.compile(r"\(\s*[x×]?\s*\d{1,9}[^()\d]{0,20}\)")  # apple (30 times)
_MAY_BE_NUMBERED = re.compile(r"\d\s*[.):]")
_NEW_LINE, _SPACES = re.compile(r"\n\s*"), re.compile(r"[^\S\n](?:[^\S\n]+|(?<! ))")
_DOTS = re.compile(r"\W*(?:\.{3,}|…)\W*")
_LEADING = re.compile(r"^(?:\d{1,3}\s*[.)]|and|&)\s+")
_AROUND = " *_`\"'“”.-()[]"
_SEPARATOR, _OR_SLASH = re.compile("[\n,;|、，،؛·•]"), re.compile(r"[\n,;|、，،؛·•]|\s/\s")


def rules_for(language: Language) -> LanguageRules:
    """Return the rules of a language; raise KeyError for a code that is not one of the 26."""
    return LANGUAGES[language] if isinstance(language, str) else language


def read_rules(table: Mapping[str, Any]) -> LanguageRules:
    """Return the rules in the table of a language.

    Args:
        table: the language's TOML file, or its `facts` in a release's manifest.

    Raises:
        ValueError: if the table does not have the fields of a language.
    """
    try:
        none = table["none"]
        no_numbers = none.get("no_numbers", {})
        return LanguageRules(
            tags=_words(table["answer_tags"]),
            conjunctions=_words(table["and"]),
            none=_words(none["prompt"]),
            none_forms=_words(none["forms"]),
            negators=_words(none.get("negators", ())),
            introductions=_words(none.get("introductions", ())),
            no_numbers=_words(no_numbers.get("sentences", ())),
            numbers=_words(no_numbers.get("numbers", ())),
            places=_words(no_numbers.get("places", ())),
            touching=bool(table.get("touching", False)),
            may_precede=_words(table.get("may_precede", ())),
            may_follow=_words(table.get("may_follow", ())),
            fold=tuple((ord(letter), str(folded)) for letter, folded in table.get("fold", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"the table does not describe a language: {error!r}.") from None


def _words(value: Any) -> tuple[str, ...]:
    """Return the words of a list, or the keys of a table. Raises TypeError for anything else."""
    if isinstance(value, str) or not all(isinstance(word, str) for word in value):
        raise TypeError(f"{value!r} is not a list of words")
    return tuple(value)


def normalize(text: str, language: Language | None = None) -> str:
    """Normalize a text: NFKC, case folding, no zero-width characters, digits 0 … 9, apostrophes '.

    Some languages treat further letters as equal (`LanguageRules.fold`), such as Russian ё and е.
    """
    folds = () if language is None else rules_for(language).fold
    if text.isascii() and not folds:
        return text.casefold()
    text = _FORMAT.sub("", text).translate(_SIGNS)
    text = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    if folds:
        text = text.translate(dict(folds))
    text = unicodedata.normalize("NFKC", text.casefold())
    for arabic, persian in _ARABIC_TO_PERSIAN:
        text = text.replace(arabic, persian)
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


@functools.lru_cache(maxsize=8)
def numbers(text: str) -> frozenset[str]:
    """Return the numbers of two digits or more in a normalized text; 1,234,567 is 1234567."""
    if _MAY_BE_GROUPED.search(text):  # a quick test, because most texts have none
        text = _GROUPED.sub(lambda number: re.sub(r"\D", "", number[0]), text)
    return frozenset(_NUMBER.findall(text))


def listed_items(text: str) -> set[str]:
    """Return the items of a list, normalized, for RULER's strict score.

    Items are numbered, or separated by commas or lines, else by spaces. Bullets, quotes, counts
    such as "(30 times)" and an introduction that ends with a colon are dropped; `...` is kept.
    """
    text = _NEW_LINE.sub("\n", _SPACES.sub(" ", _COUNT.sub("", normalize(text))))
    items = _NUMBERED.findall(text) if _MAY_BE_NUMBERED.search(text) else []
    if len(items) < 2:
        separator = _OR_SLASH if "/" in text else _SEPARATOR  # the second is faster
        items = list(filter(str.strip, separator.split(text)))
    if len(items) == 1:
        items = items[0].rpartition(":")[2].split()
    cleaned = set()
    for item in dict.fromkeys(items):
        words = item.rpartition(":")[2].strip()
        if words.isalpha() and not words.startswith("and"):  # the quick case, for most items
            cleaned.add(words)
            continue
        if not words.isalnum():
            if _DOTS.fullmatch(words):
                cleaned.add("...")
                continue
            words = words.strip(_AROUND)
        if words[:1].isdecimal() or words.startswith(("and", "&")):
            words = _LEADING.sub("", words).strip(_AROUND)
        cleaned.add(words)
    return cleaned - {"", "and", "&"}


def read_answer(text: str, language: Language) -> str:
    """Return the content of the last pair of answer tags in a normalized text, else all of it.

    Other pairs of tags are replaced by line breaks.
    """
    end = None
    for tag in reversed(list(_tag_pattern(language).finditer(text))):
        if tag[1]:
            end = tag.start()
        elif end is not None:
            return _PAIR.sub(r"\n\2\n", text[tag.end() : end])
    return _PAIR.sub(r"\n\2\n", _tag_pattern(language).sub("\n", text))


def is_letter(character: str) -> bool:
    """Return whether a character is a letter, a digit, or a mark on one, such as a vowel sign."""
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def whole_words(text: str, words: str) -> Iterator[int]:
    """Yield the offsets at which `words` occur in a text and no letter or digit touches them."""
    start = text.find(words) if words else -1
    while start >= 0:
        end = start + len(words)
        touches_before = start > 0 and is_letter(words[0]) and is_letter(text[start - 1])
        touches_after = end < len(text) and is_letter(words[-1]) and is_letter(text[end])
        if touches_before or touches_after:
            start = text.find(words, start + 1)
        else:
            yield start
            start = text.find(words, end)


def has_whole_words(text: str, words: str) -> bool:
    """Return whether a text has the words as whole words."""
    return next(whole_words(text, words), None) is not None


@functools.cache
def _tag_pattern(language: Language) -> re.Pattern[str]:
    tags = {normalize(tag, language).strip() for tag in (*rules_for(language).tags, "answer")}
    longest_first = sorted(tags - {""}, key=len, reverse=True)
    either = "|".join(r"\s+".join(map(re.escape, tag.split())) for tag in longest_first)
    return re.compile(rf"(?:[<‹]|&lt;)\s*(?:(/)\s*)?(?:{either})\s*(?:[>›]|&gt;)")
