"""An answer's text, and a row's: normalized, searched for whole values, compared with a reference.

values("It is 1,234,567.", "it is 1,234,567.", {"7654321"})            # ["1234567"]
resembles("1324567", "1234567")                                         # True: a swap
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache

from ruler_score.language_text import normalize, numbers

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_BEYOND_ASCII = re.compile(r"([^\x00-\x7f]+)")
_ASCII = bytes(range(128))
_FEW = 600  # characters beyond ASCII that a text may hold, to be normalized one by one
_PLAIN = 0x10000  # beyond these some letters compose that are no marks
_UUID_LENGTH = 36
_ALIKE = 0.8  # of two long values' characters
_LONG_NUMBER = 6  # digits
_LEAST_UUID = 4  # characters that no other one of a context begins with, as good as surely
_LACKING = (
    "mentioned|provided|specified|given|stated|found|available|present|listed|included|known"
    "|associated|defined|shown|one of|in the (?:given |provided |above )?(?:text|documents?|list)"
)
_THING = "number|uuid|word|variable|value|information|answer|mention|record|data"
_NOTHING = re.compile(
    rf"\bnone\b|\bno such\b|\bthere (?:is|are) no\b|\bn/a\b|\bnot applicable\b|\bunknown\b"
    rf"|\b(?:not|isn't|aren't|wasn't|weren't) (?:\w+ )?(?:{_LACKING})\b(?! (?:if|whether|to)\b)"
    rf"|\bno (?:\w+ ){{0,3}}(?:{_THING})s?\b|\b(?:not enough|insufficient) (?:{_THING})"
    r"|\b(?:(?:does|do|did) not|(?:does|do|did)n't) (?:\w+ )?"
    r"(?:mention|contain|specify|provide|state|include|appear|exist|give|say|list|have)\b"
    r"|\b(?:unable to|cannot|can't|could not|couldn't|did not|didn't) (?:be )?"
    r"(?:find|found|located?|determined?|identif(?:y|ied)|answered)\b"
)
_NUMBERING = re.compile(r"(?:^|(?<=\s))\W?\d{1,3}(?:[.)\]](?=\s|$)|$)")
_LONGEST_END = 800  # characters that are searched for a repeated piece
_LEAST_LOOP = 20  # characters that it fills
_SENTENCE = 30  # characters of a piece that no one says twice by chance
_LEAST_PREFIX = 3  # digits of a number that was broken off


def values(raw: str, text: str, wanted: Collection[str]) -> list[str]:
    """The values that an answer offers, where all references are UUIDs, or all are numbers."""
    if wanted and all(map(UUID.fullmatch, wanted)):
        return [str(match[0]) for match in UUID.finditer(text)]
    return numbers_in(text) if all(reference.isdecimal() for reference in wanted) else []


def numbers_in(text: str) -> list[str]:
    """The numbers of a normalized text, in its order; one with separators in it comes last."""
    found = numbers(text)
    items = [item for item in re.findall(r"\d{2,}", text) if item in found]
    return items + sorted(found - set(items))


@lru_cache(maxsize=4)  # several runs answer one row
def words_of(text: str) -> frozenset[str]:
    """What stands between spaces, digits and punctuation of a normalized text."""
    for separator in "0123456789.,;:":
        text = text.replace(separator, " ")
    return frozenset(text.split())


@lru_cache(maxsize=4)
def normalize_long(text: str) -> str:
    """What `normalize` makes of a text, many times sooner where few characters are beyond ASCII.

    Each of these is normalized once and replaced wherever it stands, in UTF-8. Where some compose
    with others, every run of them is normalized with the ASCII character before it: nothing
    composes with one that follows it.
    """
    if text.isascii():
        return text.casefold()
    data = text.encode("utf-8", "surrogatepass")
    beyond = set(data.translate(None, _ASCII).decode("utf-8", "surrogatepass"))
    if len(beyond) > _FEW:
        return normalize(text)
    if not all(map(_stands_alone, beyond)):
        parts = _BEYOND_ASCII.split(text)
        pairs = zip(parts[::2], [*parts[1::2], ""], strict=True)
        return "".join(
            part for a, b in pairs for part in (a[:-1].casefold(), _normalize_few(a[-1:] + b))
        )
    data = data.lower()
    for character in beyond:
        if (normalized := normalize(character)) != character:
            data = data.replace(character.encode(), normalized.encode())
    return data.decode()


@lru_cache(maxsize=4096)
def _normalize_few(text: str) -> str:
    return normalize(text)


@lru_cache(maxsize=4096)
def _stands_alone(character: str) -> bool:
    """Whether a character is normalized alike wherever it stands: it composes with none before."""
    first = unicodedata.normalize("NFKD", character)[:1]
    return (
        ord(character) < _PLAIN
        and unicodedata.category(first) not in ("Cs", "Mc", "Me", "Mn")
        and not "\u1160" <= first <= "\u11ff"
        and all(normalize(c) == c for c in normalize(character))
    )


def find_whole(value: str, text: str) -> int:
    """Where a value stands in a text, not within a longer word or number; -1 if nowhere."""
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(value) : at + len(value) + 1]
        if not (_of_word(before) or _of_word(after)):
            return at
        at = text.find(value, at + 1)
    return -1


def _of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def resembles(text: str, value: str) -> bool:
    """Whether a text is a value with a few characters lost, added, changed or moved.

    A UUID: its first 8 characters stand there, but for two edits, or it begins with the first 4,
    has one of the five groups in its place, or most of the whole. A number or a name: two edits or
    less, most of a long number, or a number broken off after three digits or more.
    """
    if len(value) == _UUID_LENGTH:
        begins = text[:_LEAST_UUID] == value[:_LEAST_UUID]
        if begins or value[:8] in text or _edits(text[:8], value[:8]) <= 2:
            return True
        groups = zip(text.split("-"), value.split("-"), strict=False)
        return any(one == other for one, other in groups) or much_alike(text, value)
    if value.isdecimal() and len(text) >= _LEAST_PREFIX and value.startswith(text):
        return True
    if value.isdecimal() and len(value) >= _LONG_NUMBER and much_alike(text, value):
        return True
    return _edits(text, value) <= 2


def says_nothing(text: str) -> bool:
    """Whether a normalized text says in English that what is asked for is not there."""
    return bool(_NOTHING.search(text.replace("’", "'")))


def loops(text: str) -> bool:
    """Whether a text ends with one piece again and again: four times, a sentence three.

    Numbers of a list and hyphens (of UUIDs) are no part of it, and the last may be broken off.
    """
    end = " ".join(_NUMBERING.sub(" ", text.replace("-", "")).split())[-_LONGEST_END:]
    last = at = len(end) - 1
    while (
        end and (at := end.rfind(end[-1], last // 2, at)) >= 0
    ):  # where its last character stood before
        period = last - at
        size = max(_LEAST_LOOP, (2 if period >= _SENTENCE else 4) * period)
        if size <= len(end) and end[-size:-period] == end[period - size :]:
            return True
    return False


def much_alike(a: str, b: str, share: float = _ALIKE) -> bool:
    """Whether two texts have a share (0 … 1) of their characters in common, in their order."""
    common = min(len(a), len(b), sum(map(b.count, set(a))))  # no more than that, in any order
    if 2 * common / (len(a) + len(b)) < share:
        return False
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    return matcher.quick_ratio() >= share and matcher.ratio() >= share


def _edits(a: str, b: str) -> int:
    """Edits from a to b, or a number above two where it takes more than two.

    Edits are insertions, deletions, changes, and swaps of neighbours.
    """
    if abs(len(a) - len(b)) > 2 or len(set(a) ^ set(b)) > 4:  # two characters for each edit
        return 3
    before, row = [0] * (len(b) + 1), list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        new = [i]
        for j, y in enumerate(b, 1):
            cost = row[j - 1] if x == y else 1 + min(row[j], new[j - 1], row[j - 1])
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y and before[j - 2] < cost:
                cost = before[j - 2] + 1
            new.append(cost)
        before, row = row, new
        if min(before) > 2 and min(row) > 2:
            return 3
    return row[-1]
