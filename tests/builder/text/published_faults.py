"""Find the errors in ONERULER's published files from the files alone, without the errata.

    dict(faults.niah(text))     # {"niah-needle-space": "'…{value} '"}: id of the erratum, evidence

Each finder reports the id of the erratum (ruler_builder/text/errata.toml) that corrects what it
found; the measures find errors that are left as published. published_audit.py compares both with
the errata.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from ruler_builder.text.errata import identity, is_word, scripts
from ruler_builder.text.languages import word_entries

Found = Iterator[tuple[str, str]]
"""Id of the erratum and what was found."""

_PLACEHOLDERS = {
    "task": ["context"],
    "needle_numbers": ["key", "value"],
    "question_single_numbers": ["query1"],
    "question_multi_numbers": ["query1", "query2"],
}
_PLAIN = ("please_list", "if_no_numbers", "answer_prefix", "answer_numbers", "none")
_CLASSES = ("noun", "verb", "adjective")
_READ_AS_MISSING = {"", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "<NA>"}
"""What pandas takes for a missing value, of what could be a word."""
_MANY = 20
"""A sign that occurs more often than this in a book is not an accident."""
_SIGNS = [
    ("book-page-marks", re.compile(r"\{\d+\}"), 0),
    ("book-note-digits", re.compile(r"(?<![^\W\d_])[^\W\d_]+\d{1,2}(?!\w)"), _MANY),
    ("book-stray-letters", re.compile(r"[\u07c0-\u07ff]"), 0),  # N'Ko: of none of the languages
    ("book-editors-notes", re.compile(r"［＃[^］]*］"), 0),
    ("book-entities", re.compile(r"&#?\w+;"), 0),
    ("book-reported-speech", re.compile(r"[\"'”’]\s+(?:하고|என்றா|कह कर)"), 0),
    ("book-rules", re.compile(r"(?m)^[-*_]{10,}\s*$"), 0),
]
"""Id of the erratum, the pattern that shows it, and how often a faultless book may have it."""


def niah(text: str) -> Found:
    """Faults of a niah.txt."""
    parts = json.loads(text)
    for part in (*_PLACEHOLDERS, *_PLAIN):
        holders = re.findall(r"\{(.*?)\}", parts[part])
        if holders != _PLACEHOLDERS.get(part, []):
            yield "niah-placeholders", f"{part}: {holders}"
        if "  " in parts[part]:
            yield "niah-inner-spaces", part
    if (needle := parts["needle_numbers"]) != needle.strip():
        yield "niah-needle-space", repr(needle)
    if parts["none"] not in parts["if_no_numbers"]:
        yield "niah-none-word", repr(parts["none"])


def cwe(text: str) -> Found:
    """Faults of a cwe.txt."""
    if (count := text.count("{context}")) != 1:
        yield "cwe-context-twice", f"{{context}} {count} times"
    if spaces := re.findall(r"(?m)  +| +$", text):
        yield "cwe-spaces", f"{len(spaces)} times"
    if text != text.rstrip():
        yield "cwe-last-lines", repr(text[len(text.rstrip()) :])


def nouns(text: str) -> dict[str, dict[str, str]]:
    """Faults of the noun list: language -> id -> what was found."""
    rows = [line.split("\t") for line in text.replace("\r\n", "\n").rstrip("\n").split("\n")]
    columns = {name: column for name, *column in zip(*rows, strict=True)}
    english = [noun.strip() for noun in columns["en"]]
    found: dict[str, dict[str, str]] = {}
    for code, column in columns.items():
        if code == "definition":
            continue
        here = found.setdefault(code, {})
        if "\r\n" in text:
            here["nouns-newlines"] = "carriage return at line ends"
        if spaced := sum(noun != noun.strip() for noun in column):
            here["nouns-spaces"] = f"{spaced} nouns"
        count = Counter(map(identity, map(str.strip, column)))
        twice = [place for place, noun in enumerate(column) if count[identity(noun.strip())] > 1]
        if twice:
            here["nouns-not-unique"] = ", ".join(
                f"{english[place]} = {column[place].strip()}" for place in twice
            )
    return found


def words(text: str) -> Found:
    """Faults of a dictionary, of the words that cwe could ask for."""
    rows = word_entries(text)
    if "\r\n" in text:
        yield "words-newlines", "carriage return at line ends"
    asked = [word for word, kind in rows if kind in _CLASSES]
    kinds: dict[str, list[str]] = {}
    for word in asked:
        for kind in _kinds(word):
            kinds.setdefault(kind, []).append(word)
    without_digits = [word for word in asked if not re.search(r"\d", word)]
    count = Counter(identity(re.sub(";.*", "", word).strip()) for word in without_digits)
    if twice := sum(times - 1 for times in count.values()):
        yield "words-twice", f"{twice} entries"
    for kind, those in kinds.items():
        yield kind, f"{len(those)} entries: {', '.join(map(repr, those[:3]))}"


def _kinds(word: str) -> Iterator[str]:
    if word in _READ_AS_MISSING:
        yield "words-read-as-missing"
    if word != unicodedata.normalize("NFC", word):
        yield "words-not-composed"
    if len(scripts(word)) > 1:
        yield "words-mixed-scripts"
    if "ĳ" in word.lower():
        yield "words-ligature-ij"
    if word != word.strip():
        yield "words-line-breaks"
    elif "\u200d" in word:
        yield "words-joiners"
    elif re.search(r"\d", word):
        yield "words-digits"
    elif ";" in word:
        yield "words-two-spellings"
    elif not is_word(word):
        yield "words-signs"


def book(text: str) -> Found:
    """Faults of a book."""
    if "\r\n" in text:
        yield "book-newlines", "carriage return at line ends"
    pages = text.split("\f")
    if len(pages) > 1:
        yield "book-form-feeds", f"{len(pages) - 1} form feeds"
    heads = Counter(page.strip().split("\n", 1)[0].strip() for page in pages[1:])
    title, times = max(heads.items(), key=lambda item: item[1], default=("", 0))
    if times > _MANY:
        yield "book-running-titles", f"{title!r} at the head of {times} pages"
    if (numbered := sum(bool(re.search(r"\n\s*\d+\s*\Z", page)) for page in pages[:-1])) > _MANY:
        yield "book-page-numbers", f"at the foot of {numbered} pages"
    if isbn := re.search(r"ISBN.*", text):
        yield "book-publisher", isbn[0].strip()
    if soft := text.count("\u00ad"):
        yield "book-soft-hyphens", f"{soft} times"
    if tags := re.findall(r"</?[A-Za-z]+>", text):
        yield "book-tags", ", ".join(tags)
    for fault, sign, least in _SIGNS:
        if signs := sign.findall(text)[least:]:
            yield fault, f"{least + len(signs)} times, such as {signs[0].strip()!r}"
    lines = Counter(line.strip() for line in text.split("\n") if len(line.strip()) > 60)
    if (again := sum(lines.values()) - len(lines)) > _MANY:
        yield "book-chapters-twice", f"{again} long lines a second time"
    first = text.split("\n", 1)[0]
    if len(first) < 100 and any(first.count(w) > 3 for w in first.split() if len(w) > 3):
        yield "book-contents", repr(first)


# ---- Measures of what stays ----------------------------------------------------------------------


def script(text: str) -> str:
    """The script of most letters of a text's beginning: LATIN, CYRILLIC, …; Japanese is CJK."""
    return scripts(text[:20_000]).most_common(1)[0][0]


def measures(book: str, words: Sequence[str]) -> dict[str, int]:
    """Count what is odd in a book's text and a dictionary; accents and initials in percent.

    `capitalised` is the share of the dictionary's words that begin with a capital letter,
    `initials` is the share of the book's words that begin with a letter that some word of the
    dictionary begins with.
    """
    count = Counter(re.findall(r"[^\W\d_]+", book))
    own = Counter(words)
    initials = {word[0].casefold() for word in words if word}
    return {
        "words": count.total(),
        "spaced_letters": len(re.findall(r"(?<!\w)(?:[^\W\d_] ){3,}[^\W\d_](?!\w)", book)),
        "note_marks": len(re.findall(r"\[\d+\]", book)),
        "mixed_words": sum(n for word, n in count.items() if _is_mixed(word)),
        "accents_of_book": _percent(count, _is_accented),
        "accents_of_words": _percent(own, _is_accented),
        "capitalised": _percent(own, lambda word: word[:1].isupper()),
        "initials": _percent(count, lambda word: word[0].casefold() in initials),
        "long_numbers": len(re.findall(r"\d{7,}", book)),
        "not_nfc": int(book != unicodedata.normalize("NFC", book)),
    }


def _is_mixed(word: str) -> bool:
    """Whether a word has Cyrillic and Latin letters."""
    return bool(re.search("[а-яіїєґ]", word, re.I) and re.search("[a-z]", word, re.I))


def _is_accented(word: str) -> bool:
    """Whether a word has a letter beyond a to z; Spanish ñ, its own letter, does not count."""
    return not word.lower().replace("ñ", "").isascii()


def _percent(count: Counter[str], holds: Callable[[str], bool]) -> int:
    """How many of the counted words something holds for, in percent."""
    found = sum(n for word, n in count.items() if holds(word))
    return round(100 * (found / max(1, count.total())))


def kept(scripts: Mapping[str, str], measured: Mapping[str, int]) -> set[str]:
    """The names of the [[wording]] checks that find an error in a language."""
    share = measured["accents_of_book"]
    found = {
        "scripts": len(set(scripts.values())) > 1,
        "mixed_words": measured["mixed_words"] > measured["words"] / 100,
        "spaced_letters": measured["spaced_letters"] > _MANY,
        "note_marks": measured["note_marks"] > _MANY,
        "no_accents": share > 3 and measured["accents_of_words"] < share / 10,
        "capitals": 2 <= measured["capitalised"] < 50,  # German writes every noun so
        "few_initials": measured["initials"] < 50 and "words" in scripts,
    }
    return {check for check, holds in found.items() if holds}
