"""Split a long text into sentences, with sentencex and further rules.

Builds split only the book of a custom language (extra `languages`): another version of sentencex or
of Unicode may find other sentences. Those of all other texts are data, which
builder/pin_texts.py made with these rules (borders.py).

sentencex keeps quoted text together, so one unbalanced quotation mark in a long text without line
breaks would make a sentence of many pages. The text is therefore read through a window that moves
on by whole sentences, and a window that is one sentence is read again without its quotation marks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import accumulate

from ruler_builder.text.borders import folded, sliced
from ruler_common.errors import missing_packages
from ruler_common.languages import SentenceFacts

_WINDOW = 1500  # characters; longer than nearly every sentence
_MAX_ABBREVIATION = 9  # characters, with those before it
_ABBREVIATION = re.compile(r"(?:^|[\s(«“„\"'‘’—–-])(?:[^\W\d_]|MM|Mme|Mlle|o\.a|т\.д)\.$")
# A dash and the first letter after it: in lower case the sentence goes on (`– said he`).
_DASHED_ON = re.compile(r"[-‒–—―−]+\s*[^\w\s]*\s*([^\W\d_])")
# Characters that belong to the sentence before, such as a closing bracket or quotation mark.
_CLOSING = re.compile(r"(?![-‒–—―−„‚«‹])[^\w\s(\[{¿¡]+(?:\s|$)|[)\]}]")
# A number with the end of a sentence after it, such as that of a chapter (`122.`).
_NUMBER_ALONE = re.compile(r"\d(?:\d|[^\w\s])*(?<=[.!?…।])(?:\s|$)|\d+$")
_QUOTES = str.maketrans(dict.fromkeys("\"'“”„«»‘’()[]", "-"))
_QUOTATION_ENDS = tuple("\"'”’»›")


def sentence_starts(text: str, language: str) -> Iterator[int]:
    """Yield the character offsets at which sentences start, ascending; the first is 0.

    A long text is read only as far as the offsets are used.
    """
    yield 0
    at = 0
    while at + _WINDOW < len(text):
        window = text[at : at + _WINDOW]
        inner = _inner_starts(window, language) or _inner_starts(
            window.translate(_QUOTES), language
        )
        if inner:
            yield from (at + offset for offset in inner)
            at += inner[-1]
        else:
            at += _WINDOW // 2
    yield from (at + offset for offset in _inner_starts(text[at:], language))


def _inner_starts(window: str, language: str) -> list[int]:
    try:
        from sentencex import get_sentence_boundaries
    except ImportError:
        raise missing_packages("languages", "The book of a custom language") from None
    sentences = get_sentence_boundaries(language, window)
    return [bound["start_index"] for bound in sentences if bound["start_index"] > 0]


def split(text: str, language: str, about: SentenceFacts | None = None) -> Iterator[str]:
    """Yield the sentences of a text, their white space folded (see `split_starts`)."""
    return sliced(folded(text), split_starts(text, language, about))


def split_starts(text: str, language: str, about: SentenceFacts | None = None) -> Iterator[int]:
    """Yield the offsets in the folded text at which the sentences of a text start.

    Joined by a space they are the folded text again; in a language without spaces, joined by
    nothing, they are that text without the spaces between sentences. A sentence starts after a
    space (`spaced`) or after a character that ends one, so never inside a word or a number;
    quotation marks stay with what they quote. In languages with spaces no sentence starts

    - with a dash and a word in lower case, a closing bracket or quotation mark, or a number alone;
    - in lower case, after an initial, or with words that report the speech before them
      (`_is_reported`), unless the sentence before would be longer than 1,500 characters.

    Args:
        text: The text.
        language: The language's code, for sentencex.
        about: What else is known about the language.
    """
    paragraphs = _paragraphs(text)
    text = folded(text)
    about = about or SentenceFacts()
    if not text:
        return
    start = 0
    yield start
    for offset in sentence_starts(text, language):
        at = _after_space(text, offset) if about.spaced else _after_closing(text, offset)
        if about.spaced:
            if _is_inside(text, at):
                continue
            if at - start < _WINDOW and (
                _goes_on(text, start, at) or _is_reported(text, at, about, at in paragraphs)
            ):
                continue
        if start < at < len(text) and text[start:at].strip(" "):
            yield at
            start = at


def essay_starts(text: str) -> Iterator[int]:
    """Yield the offsets in a folded English text of the words that begin a sentence.

    Of the borders that sentencex finds, these are the ones between two words.
    """
    text += " "
    for start in sentence_starts(text, "en"):
        at = start + (text[start] == " ")
        if at < len(text) and (at == 0 or text[at - 1] == " "):
            yield at


def _paragraphs(text: str) -> frozenset[int]:
    """Return the offsets in the folded text at which the lines of a text begin."""
    lines = [line for line in map(folded, text.split("\n")) if line]
    return frozenset(accumulate((len(line) + 1 for line in lines), initial=0))


def _is_inside(text: str, at: int) -> bool:
    """Whether the text at an offset belongs to the sentence before it, by its first characters."""
    if dashed := _DASHED_ON.match(text, at):
        return dashed[1].islower()
    return bool(_CLOSING.match(text, at) or _NUMBER_ALONE.match(text, at))


def _goes_on(text: str, start: int, at: int) -> bool:
    """Whether a sentence goes on at an offset where sentencex ended it.

    What follows begins in lower case (`kommer!» ropade`), or what ends is an initial or one of the
    abbreviations the books show (`M. Géborand`).
    """
    end = text[max(start, at - _MAX_ABBREVIATION) : at].rstrip()
    return text[at : at + 1].islower() or bool(_ABBREVIATION.search(end))


def _is_reported(text: str, at: int, about: SentenceFacts, new_paragraph: bool) -> bool:
    """Whether the words at an offset, in a script without capitals, report the speech before it.

    In a script with capitals a word of reporting is known by its lower case. In one without, a
    quotation ends a sentence only at the end of its paragraph, and never in Korean, in which the
    verb of saying begins the next paragraph. In Tamil such a word is known without a quotation too.
    """
    following = next((char for char in text[at : at + _WINDOW] if char.isalpha()), "")
    if following.lower() != following.upper():
        return False
    if about.reports(text, at):
        return True
    quoted = text[max(0, at - _MAX_ABBREVIATION) : at].rstrip().endswith(_QUOTATION_ENDS)
    return quoted and not (about.quotation_ends and new_paragraph)


def _after_space(text: str, at: int) -> int:
    """Return the offset after the nearest space that no letter or digit separates from `at`.

    It may be before or after `at`; 0 if neither is.
    """
    before = text.rfind(" ", 0, at) + 1
    if before and not _has_word(text[before:at]):
        return before
    after = text.find(" ", at)
    return 0 if after < 0 or _has_word(text[at:after]) else after + 1


def _after_closing(text: str, at: int) -> int:
    """Return the offset after closing and before opening marks; 0 inside a word or number."""
    while at < len(text) and unicodedata.category(text[at]) in ("Pe", "Pf", "Po"):
        at += 1
    while at and unicodedata.category(text[at - 1]) in ("Ps", "Pi"):
        at -= 1
    return 0 if at and text[at - 1].isalnum() else at


def _has_word(text: str) -> bool:
    return any(char.isalnum() for char in text)
