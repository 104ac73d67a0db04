"""A text in any language: folded, its numbers, its list, its whole words, its answer tags.

    read_answer(normalize("<Odpowiedź>12</Odpowiedź>"), "pl")      # "12"

A language is one of the 26 by its code, or any other by its rules.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from .language_rules import LANGUAGES, LanguageRules

Language = str | LanguageRules
"""A language: one of the 26 by its ISO 639-1 code, any other by its rules (`read_rules`)."""

_FORMAT = re.compile("[\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_ARABIC_TO_PERSIAN = (("ك", "ک"), ("ي", "ی"), ("ى", "ی"))
_APOSTROPHES = str.maketrans("‘’ʼ", "'''")
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
    """Return the rules in a table of a language.

    Args:
        table: the language's TOML file, or its `facts` in a release's manifest.

    Raises:
        ValueError: if the table has another form.
    """
    try:
        none = table["none"]
        return LanguageRules(
            tags=_words(table["answer_tags"]),
            conjunctions=_words(table["and"]),
            none=_words(none["prompt"]),
            none_forms=_words(none["forms"]),
            none_exceptions=_words(none.get("exceptions", ())),
            touching=bool(table.get("touching", False)),
            may_precede=_words(table.get("may_precede", ())),
            may_follow=_words(table.get("may_follow", ())),
            fold=tuple((ord(letter), str(folded)) for letter, folded in table.get("fold", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"this does not describe a language: {error!r}.") from None


def _words(value: Any) -> tuple[str, ...]:
    """Return the words of a list, or the names of a table. Raises TypeError for anything else."""
    if isinstance(value, str) or not all(isinstance(word, str) for word in value):
        raise TypeError(f"{value!r} is not a list of words")
    return tuple(value)


def normalize(text: str, language: Language | None = None) -> str:
    """Fold a text: NFKC, case folded, no zero-width characters, digits as 0 … 9, apostrophes as '.

    Some languages have equal letters of their own (`LanguageRules.fold`), such as Russian ё and е.
    """
    folds = () if language is None else rules_for(language).fold
    if text.isascii() and not folds:
        return text.casefold()
    text = unicodedata.normalize("NFKC", _FORMAT.sub("", text)).translate(_APOSTROPHES)
    if folds:
        text = text.translate(dict(folds))
    text = unicodedata.normalize("NFKC", text.casefold())
    for arabic, persian in _ARABIC_TO_PERSIAN:
        text = text.replace(arabic, persian)
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


@functools.lru_cache(maxsize=8)
def numbers(text: str) -> frozenset[str]:
    """Return the numbers of two digits or more in a normalized text; 1,234,567 is 1234567."""
    if _MAY_BE_GROUPED.search(text):  # most texts have none: be quick
        text = _GROUPED.sub(lambda number: re.sub(r"\D", "", number[0]), text)
    return frozenset(_NUMBER.findall(text))


def listed_items(text: str) -> list[str]:
    """Return the items of a list, normalized, as RULER's strict score reads them.

    Items are numbered, or set apart by commas or lines, else by spaces. Bullets, quotes, counts
    such as "(30 times)" and a lead-in that ends with a colon are dropped; `...` stays.
    """
    text = _NEW_LINE.sub("\n", _SPACES.sub(" ", _COUNT.sub("", normalize(text))))
    items = _NUMBERED.findall(text) if _MAY_BE_NUMBERED.search(text) else []
    if len(items) < 2:
        separator = _OR_SLASH if "/" in text else _SEPARATOR  # the second finds the same, sooner
        items = [item for item in separator.split(text) if item.strip()]
    if len(items) == 1:
        items = items[0].rpartition(":")[2].split()
    cleaned = []
    for item in items:
        words = item.rpartition(":")[2].strip()
        if words.isalpha() and not words.startswith("and"):  # as most are: be quick
            cleaned.append(words)
            continue
        if not words.isalnum():
            if _DOTS.fullmatch(words):
                cleaned.append("...")
                continue
            words = words.strip(_AROUND)
        if words[:1].isdecimal() or words.startswith(("and", "&")):
            words = _LEADING.sub("", words).strip(_AROUND)
        cleaned.append(words)
    return [item for item in cleaned if item and item not in ("and", "&")]


def read_answer(text: str, language: Language) -> str:
    """Return what is in the last answer tag pair of a normalized text, else all of it.

    The names of other tags are dropped; where such a pair begins or ends, a line ends.
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
    """Yield where `words` begin in a text and no letter or digit touches them."""
    place = text.find(words) if words else -1
    while place >= 0:
        end = place + len(words)
        before = place > 0 and is_letter(words[0]) and is_letter(text[place - 1])
        after = end < len(text) and is_letter(words[-1]) and is_letter(text[end])
        if not (touched := before or after):
            yield place
        place = text.find(words, place + 1 if touched else end)


def holds(text: str, words: str) -> bool:
    """Return whether a text holds the words as whole words."""
    return next(whole_words(text, words), None) is not None


@functools.cache
def _tag_pattern(language: Language) -> re.Pattern[str]:
    tags = {normalize(tag, language).strip() for tag in (*rules_for(language).tags, "answer")}
    longest_first = sorted(tags - {""}, key=len, reverse=True)
    either = "|".join(r"\s+".join(map(re.escape, tag.split())) for tag in longest_first)
    return re.compile(rf"[<‹]\s*(?:(/)\s*)?(?:{either})\s*[>›]")
