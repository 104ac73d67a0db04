"""An answer's text in any language: folded, its numbers, its list, its tags, what says none in it.

    read_answer(normalize("<Odpowiedź>12</Odpowiedź>"), "pl")      # "12"

A language is one of the 26 by its code, or any other by its rules.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Mapping
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
_NEVER, _DOTTED = "(?!)", "\ue000"  # a pattern that fits nothing; a letter that is in no text
_MAY_BE_GROUPED = re.compile(r"\d[ ,.'٬]\d\d")
MARKS = "\u0300-\u036f\u0900-\u0963\u0b80-\u0bcf"  # vowel signs and accents are parts of words
BEFORE, AFTER = rf"(?<![^\W_])(?<![{MARKS}])", rf"(?![^\W_]|[{MARKS}])"
_PAIR = re.compile(r"<\s*([^\W\d_][^<>/\n]{0,40}?)\s*>([^<>]*)</\s*\1\s*>")
_NUMBERED = re.compile(r"(?:^|\s)\d{1,3}\s*[.):]\s*(.+?)(?=\s+\d{1,3}\s*[.):]\s|[\n,;]|$)")
COUNT = re.compile(r"\(\s*[x×]?\s*\d{1,9}[^()\d]{0,20}\)")  # apple (30 times)
_MAY_BE_NUMBERED = re.compile(r"\d\s*[.):]")
_NEW_LINE, _SPACES = re.compile(r"\n\s*"), re.compile(r"[^\S\n](?:[^\S\n]+|(?<! ))")
_DOTS = re.compile(r"\W*(?:\.{3,}|…)\W*")
_LEADING = re.compile(r"^(?:\d{1,3}\s*[.)]|and|&)\s+")
_AROUND = " *_`\"'“”.-()[]"
_SEPARATOR, _OR_SLASH = re.compile("[\n,;|、，،؛·•]"), re.compile(r"[\n,;|、，،؛·•]|\s/\s")


def rules_for(language: Language) -> LanguageRules:
    """The rules of a language; KeyError for a code that is none of the 26."""
    return LANGUAGES[language] if isinstance(language, str) else language


def read_rules(table: Mapping[str, Any]) -> LanguageRules:
    """The rules in a table of a language: its TOML file, or its `facts` in a release's manifest.

    Raises ValueError for a table of another form.
    """
    try:
        none, cwe = table["none"], table["cwe"]
        found = LanguageRules(
            tags=_words(table["answer_tags"]),
            conjunctions=_words(table["and"]),
            none=_words(none["published"]),
            none_alone=_words(none["inflected"]),
            none_phrases=tuple(dict.fromkeys(_words(none["prompt"]) + _words(none["usual"]))),
            lead_in=" ".join(_words(cwe["lead_in"])),
            counts=" ".join(_words(cwe["counts"])),
            touching=bool(table.get("touching", False)),
            fold=tuple((ord(letter), str(folded)) for letter, folded in table.get("fold", ())),
            not_after=_words(none.get("not_after", ())),
            may_follow=str(none.get("may_follow", "")),
            may_end_before=_words(none.get("may_end_before", ())),
            may_begin=str(none.get("may_begin", "")),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"this is no table of a language: {error!r}.") from None
    if any(phrase.count("…") > 2 for phrase in found.none_phrases):
        raise ValueError("a phrase that says none has more than two ….")
    return found


def _words(value: Any) -> tuple[str, ...]:
    """The words of a list. Raises TypeError for a text, and for what is no text in the list."""
    if isinstance(value, str) or not all(isinstance(word, str) for word in value):
        raise TypeError(f"{value!r} is no list of words")
    return tuple(value)


def normalize(text: str, language: Language | None = None) -> str:
    """NFKC, case folded, no zero-width characters, digits as 0 … 9, apostrophes as '.

    Some languages fold letters in a way of their own, as Turkish I to ı; none of the 26 does.
    """
    folds = () if language is None or isinstance(language, str) else language.fold
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
    """The numbers of two digits or more in a normalized text; 1,234,567 is 1234567."""
    if _MAY_BE_GROUPED.search(text):  # most texts have none: be quick
        text = _GROUPED.sub(lambda number: re.sub(r"\D", "", number[0]), text)
    return frozenset(_NUMBER.findall(text))


def listed_items(text: str) -> list[str]:
    """The items of a list, normalized: numbered, or set apart by commas or lines, else by spaces.

    Bullets, quotes, counts such as "(30 times)" and a lead-in that ends with a colon are dropped;
    `...` stays.
    """
    text = _NEW_LINE.sub("\n", _SPACES.sub(" ", COUNT.sub("", normalize(text))))
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


def says_none(text: str, language: Language, none_word: str | None = None) -> bool:
    """Whether the language's none word (or `none_word`) stands in a normalized text as a word."""
    return bool(_none_pattern(language, none_word or "").search(text))


def denies(text: str, language: Language, none_word: str | None = None) -> bool:
    """Whether a normalized text says that there is no number: the none word or its equals."""
    return says_none(text, language, none_word) or bool(_denial_pattern(language).search(text))


def read_answer(text: str, language: Language) -> str:
    """What stands in the last answer tag pair of a normalized text, else all of it without tags.

    Another tag pair is no answer's: its name is dropped, and what stands around it is read too.
    """
    end = None
    for tag in reversed(list(_tag_pattern(language).finditer(text))):
        if tag[1]:
            end = tag.start()
        elif end is not None:
            return text[tag.end() : end]
    return _PAIR.sub(r" \2 ", _tag_pattern(language).sub(" ", text))


def _is_letter(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def places(text: str, words: str) -> Iterable[int]:
    """Where `words` stand in a text and no letter or digit touches them."""
    place = text.find(words) if words else -1
    while place >= 0:
        end = place + len(words)
        before = place > 0 and _is_letter(words[0]) and _is_letter(text[place - 1])
        after = end < len(text) and _is_letter(words[-1]) and _is_letter(text[end])
        if not (touched := before or after):
            yield place
        place = text.find(words, place + 1 if touched else end)


def stands(text: str, words: str) -> bool:
    """Whether the words stand in a text as words of their own."""
    return next(iter(places(text, words)), None) is not None


def either_of(texts: Iterable[str], language: Language) -> str:
    """A pattern of any of these texts, normalized, the longest first; of none, what never fits."""
    words = {normalize(text, language).strip() for text in texts} - {""}
    return (
        "|".join(r"\s+".join(map(re.escape, text.split())) for text in sorted(words, key=len)[::-1])
        or _NEVER
    )


@functools.cache
def _none_pattern(language: Language, none_word: str) -> re.Pattern[str]:
    rules = rules_for(language)
    either = either_of((*rules.none, none_word), language)
    before, after = BEFORE, AFTER
    if rules.not_after:
        before = "".join(f"(?<!{re.escape(word)})" for word in rules.not_after)
    if rules.may_follow:
        before = f"(?:{BEFORE}|(?<=[{re.escape(rules.may_follow)}]))"
    if rules.may_end_before:
        after += f"|(?={either_of(rules.may_end_before, language)})"
    begins = f"|(?:{either})(?={rules.may_begin})" if rules.may_begin else ""
    return re.compile(f"{before}(?:{either})(?:{after}){begins}")


@functools.cache
def _denial_pattern(language: Language) -> re.Pattern[str]:
    """What says none as the whole answer, or as a phrase in any place."""
    rules = rules_for(language)
    up_to_three = r"(?:[^\W\d]\S{0,40}\s{1,4}){0,3}?"
    phrases = either_of((phrase.replace("…", _DOTTED) for phrase in rules.none_phrases), language)
    phrases = phrases.replace(rf"{_DOTTED}\s+", up_to_three)
    before, after = ("(?<![a-z0-9])", "(?![a-z0-9])") if rules.touching else (BEFORE, AFTER)
    alone = rf"\A\W*(?:{either_of(rules.none_alone, language)})\W*\Z"
    return re.compile(f"{alone}|{before}(?:{phrases}){after}")


@functools.cache
def _tag_pattern(language: Language) -> re.Pattern[str]:
    either = either_of((*rules_for(language).tags, "answer"), language)
    return re.compile(rf"[<‹]\s*(?:(/)\s*)?(?:{either})\s*[>›]")
