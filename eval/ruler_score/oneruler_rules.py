"""ONERULER's rules (arXiv:2503.01996, section 3): ten sentences, the same in all languages.

1. The answer is what is in the last pair of the language's answer tags, or of `<answer>`,
   else the whole text; reasoning is taken out first.
2. Case, width, zero-width characters and the script of digits make no difference, nor do
   letters that are equal in the language, such as ß and ss or Arabic and Persian kaf and yeh.
3. Numbers are right if those of two digits or more, grouped or not, are exactly the
   references and the prompt's own word for "none" is not in the answer.
4. None is right if a form of that word is in the answer, and no digit.
5. For cwe a lead-in is left out: what comes before the last colon that all ten words follow,
   unless a number alone is on either side of it, or before the first line of a numbered or
   bulleted list; the rest is split at commas of any script, semicolons, line breaks and tags,
   at "&" and at the language's word for "and".
6. It is right if there are exactly ten items with a letter, each holds exactly one of the ten
   words, and all are different; what else is in an item, such as a number or a count, is
   ignored.
7. It is also right if there are no commas, semicolons and line breaks, and the answer has
   each of the ten words once and no other word but "and".
8. Only whole words count: no letter touches them, nor does a hyphen or a following apostrophe
   that joins them to one.
9. In a script without spaces one of the ten words may touch "and" or a particle of the
   language, and a form of "none" is at the beginning or the end of a stretch of letters, or
   touches a particle.
10. A word that merely contains a form of "none", such as 无法 or おはなし, is listed as an
   exception and does not count.

    exact_numbers("<Odpowiedź>1234567</Odpowiedź>", ["1234567"], "pl")      # 1.0

`authors_numbers` and the functions after it score as the authors' own script does.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from .language_rules import LANGUAGES
from .language_text import Language, is_letter, normalize, numbers, read_answer, rules_for

NONE_WORDS = {language: rules.none for language, rules in LANGUAGES.items()}
"""The word that each prompt asks for if there is no answer, in each of its spellings."""
AUTHORS_NONE_WORDS = {
    **{language: words[:1] for language, words in NONE_WORDS.items()},
    "cs": ("žádné", "žádná"),
    "ja": ("なし", "数字はありません"),
    "uk": ("немає", "Нема"),
}
"""The words that the authors' script accepts."""

_BREAKS = r"[,;،؛、՝፣፤᠂᠈߸꓾꘍꛵⸲⸴⹁⹌\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|<br\s?/?>"
_BREAK_OR_COLON = re.compile(rf"{_BREAKS}|:")
_COUNT = re.compile(rf"[^\w,;]{{0,20}}\d{{1,9}}[^\w,;،؛、\n]{{0,20}}(?:{_BREAKS}|\Z)")
_MARKED_LINE = re.compile(r"(?m)^(?:[ \t]*[-*•·] |[^\w\n]{0,20}[01](?!\d))")  # - water, 1. water
_BULLET = re.compile(r"(?:\A|[\s:])[-*•·] ")
_HYPHENS = "-\u2010\u2011"


@functools.lru_cache(maxsize=8)  # the rules of one row read the same answer
def answer_in(prediction: str, language: Language) -> str:
    """Return what a prediction without reasoning gives as its answer, normalized."""
    return read_answer(normalize(prediction, language), language)


def exact_numbers(
    prediction: str, references: Sequence[str], language: Language, none_word: str | None = None
) -> float:
    """Return 1 if the answer's numbers are exactly the references, and it does not say none."""
    answer = answer_in(prediction, language)
    wanted = {normalize(reference, language) for reference in references}
    if numbers(answer) != wanted:
        return 0.0
    return float(not says_none(answer, language, none_word, forms=False))


def exact_none(prediction: str, language: Language, none_word: str | None = None) -> float:
    """Return 1 if the answer says none and has no digit."""
    answer = answer_in(prediction, language)
    return float(says_none(answer, language, none_word) and not re.search(r"\d", answer))


def _joined(text: str, at: int) -> bool:
    """Return whether the characters before and after an offset belong to one word."""
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if left.isdigit() or right.isdigit():
        return left.isdigit() and right.isdigit()
    if is_letter(left):
        joins = right == "'" or right in _HYPHENS
        return is_letter(right) or (joins and text[at + 1 : at + 2].isalpha())
    return left in _HYPHENS and is_letter(right) and text[max(0, at - 2) : at - 1].isalpha()


def _places(text: str, words: str) -> Iterator[int]:
    """Yield every offset at which a text has these words, whole or not."""
    at = text.find(words)
    while at >= 0:
        yield at
        at = text.find(words, at + 1)


# ---- None ------------------------------------------------------------------------------------


def says_none(
    text: str, language: Language, none_word: str | None = None, forms: bool = True
) -> bool:
    """Return whether a normalized text says that there is none.

    Args:
        text: an answer, normalized.
        language: the language of the instruction.
        none_word: another word that the row's prompt asks for.
        forms: whether other forms of the prompt's word count too.
    """
    text = " ".join(text.split())
    for word in _none_words(language, none_word or "", forms):
        for start in _places(text, word):
            whole = _is_form(text, start, start + len(word), language)
            if whole and not _is_excepted(text, start, language):
                return True
    return False


@functools.cache
def _none_words(language: Language, none_word: str, forms: bool) -> tuple[str, ...]:
    rules = rules_for(language)
    words = (*rules.none, *rules.none_forms, none_word) if forms else (*rules.none, none_word)
    return _normalized(words, language)


@functools.cache
def _normalized(words: tuple[str, ...], language: Language) -> tuple[str, ...]:
    """Return words as a normalized text has them."""
    folded = [" ".join(normalize(word, language).split()) for word in words]
    return tuple(dict.fromkeys(word for word in folded if word))


def _is_form(text: str, start: int, end: int, language: Language) -> bool:
    """Return whether a form of none is a whole word."""
    rules = rules_for(language)
    begins, ends = not _joined(text, start), not _joined(text, end)
    if not rules.touching:
        return begins and ends
    return (
        begins
        or ends
        or _particle_precedes(text, start, language)
        or _particle_follows(text, end, language)
    )


def _is_excepted(text: str, start: int, language: Language) -> bool:
    """Return whether what is at an offset belongs to an exception."""
    for exception in _normalized(rules_for(language).none_exceptions, language):
        if exception in text[max(0, start - len(exception) + 1) : start + len(exception)]:
            return True
    return False


def _particle_precedes(text: str, at: int, language: Language) -> bool:
    """Return whether a particle that may touch the word after it, and ends a word, is before."""
    particles = _normalized(rules_for(language).may_precede, language)
    return any(text.endswith(one, 0, at) and _joined(text, at - len(one)) for one in particles)


def _particle_follows(text: str, at: int, language: Language) -> bool:
    """Return whether a particle that may touch the word before it is at an offset."""
    particles = _normalized(rules_for(language).may_follow, language)
    return any(text.startswith(one, at) and not _joined(text, at + len(one)) for one in particles)


# ---- Words -----------------------------------------------------------------------------------


class WordList(NamedTuple):
    """Which of the references an answer holds, and whether it is a list of exactly them."""

    found: frozenset[str]
    exact: bool


class _Span(NamedTuple):
    """A place of a text, in characters; `word` is the reference there, or what divides items."""

    start: int
    end: int
    word: str


def read_list(text: str, references: Sequence[str], language: Language) -> WordList:
    """Read a normalized answer as a list of words; `found` has them normalized."""
    words = {normalize(reference, language).strip() for reference in references} - {""}
    spans = _find_words(text, words, language)
    found = frozenset(span.word for span in spans)
    if found != words:
        return WordList(found, False)
    cuts = _find_cuts(text, spans, language)
    exact = _is_divided(text, words, spans, cuts) or _is_spaced(text, words, spans, cuts)
    return WordList(found, exact)


def _find_words(text: str, words: Collection[str], language: Language) -> list[_Span]:
    """Return where the references are whole words, in order; the longest of those that overlap."""
    either = tuple(words)
    found = [
        _Span(start, start + len(word), word)
        for word in words
        for start in _places(text, word)
        if _is_whole(text, start, start + len(word), either, language)
    ]
    spans: list[_Span] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if not spans or span.start >= spans[-1].end:
            spans.append(span)
    return spans


def _is_whole(text: str, start: int, end: int, words: tuple[str, ...], language: Language) -> bool:
    """Return whether a reference is a whole word."""
    begins, ends = not _joined(text, start), not _joined(text, end)
    rules = rules_for(language)
    if not rules.touching:
        return begins and ends
    conjunctions = _normalized(rules.conjunctions, language)
    if not begins and not _particle_precedes(text, start, language):
        before = [start - len(one) for one in conjunctions if text.endswith(one, 0, start)]
        if not any(not _joined(text, at) or text.endswith(words, 0, at) for at in before):
            return False
    if ends or _particle_follows(text, end, language):
        return True
    after = [end + len(one) for one in conjunctions if text.startswith(one, end)]
    return any(text.startswith(words, at + text.startswith(" ", at)) for at in after)


@functools.cache
def _cut_pattern(language: Language) -> re.Pattern[str]:
    rules = rules_for(language)
    conjunctions = sorted(_normalized(rules.conjunctions, language), key=len, reverse=True)
    either = "|".join(map(re.escape, conjunctions))
    if not rules.touching and either:
        either = rf"(?<!\w)(?:{either})(?!\w)"
    return re.compile(rf"{_BREAKS}|(?P<and>&{'|' if either else ''}{either})")


def _find_cuts(text: str, spans: Sequence[_Span], language: Language) -> list[_Span]:
    """Return what divides the items of a list, in order; `word` is empty but for an "and"."""
    starts, ends = {span.start for span in spans}, {span.end for span in spans}
    touching = rules_for(language).touching
    first = [span.start for span in spans]
    cuts = []
    for match in _cut_pattern(language).finditer(text):
        start, end = match.span()
        place = bisect_right(first, start) - 1
        if place >= 0 and start < spans[place].end:
            continue  # inside a reference
        if match["and"] and match["and"] != "&":
            left = touching and start in ends
            right = touching and (end in starts or end + 1 in starts)
            if (_joined(text, start) and not left) or (_joined(text, end) and not right):
                continue  # inside another word
        cuts.append(_Span(start, end, match["and"] or ""))
    return cuts


def _is_divided(
    text: str, words: Collection[str], spans: Sequence[_Span], cuts: Sequence[_Span]
) -> bool:
    """Return whether cuts divide the text into items that each hold another reference."""
    begin = _list_begins(text, min({span.word: span.start for span in spans}.values(), default=0))
    cuts = [cut for cut in cuts if cut.start >= begin]
    starts, ends = [begin, *(cut.end for cut in cuts)], [*(cut.start for cut in cuts), len(text)]
    held: list[set[str]] = [set() for _ in starts]
    for span in spans:
        if span.start >= begin:
            held[bisect_right(starts, span.start) - 1].add(span.word)
    items = [
        item
        for item, start, end in zip(held, starts, ends, strict=True)
        if item or any(map(str.isalpha, text[start:end]))
    ]
    each_has_one = all(len(item) == 1 for item in items)
    return each_has_one and len(items) == len(words) == len(set().union(*items))


def _list_begins(text: str, last: int) -> int:
    """Return where a list begins after its lead-in; all its words are at `last` or later."""
    begin = stretch = 0
    for match in _BREAK_OR_COLON.finditer(text, 0, last):
        has_words = any(map(str.isalpha, text[stretch : match.start()]))  # not a number, as in 1:
        stretch = match.end()
        if match[0] == ":" and has_words and not _COUNT.match(text, stretch):
            begin = stretch
    marked = _MARKED_LINE.search(text, 0, last + 1)
    if marked and not _BULLET.search(text, 0, marked.start()):
        begin = max(begin, marked.start())
    return begin


def _is_spaced(
    text: str, words: Collection[str], spans: Sequence[_Span], cuts: Sequence[_Span]
) -> bool:
    """Return whether the text has each reference once, and no other word and nothing between."""
    if len(spans) != len(words):
        return False
    between = [cut for cut in cuts if spans[0].end <= cut.start < spans[-1].start]
    if not all(cut.word for cut in between):
        return False
    begin, rest = 0, ""
    for span in sorted((*spans, *between)):
        rest += text[begin : span.start]
        begin = span.end
    rest = re.sub(r"x?\d+x?", "", rest + text[begin:])  # 30x is a number
    return not any(map(str.isalpha, rest))


# ---- As its authors scored it ----------------------------------------------------------------


def authors_answer(prediction: str, model: str = "") -> str:
    """Return the text that their script reads: all of it, reasoning included.

    Of a model named deepseek it reads the first `<Answer>…</Answer>` on one line, tags included, if
    there is one.
    """
    match = re.search(r"<Answer>.*?</Answer>", prediction) if "deepseek" in model else None
    return match[0] if match else prediction


def authors_numbers(answer: str, references: Sequence[str], language: Language) -> float:
    """Return 1 if the numbers are the references and no none word is anywhere, even in a word."""
    text = unicodedata.normalize("NFKC", answer)
    if any(word in text or _squeeze(word) in text for word in _authors_none_words(language)):
        return 0.0
    in_text = dict.fromkeys(number for number in re.findall(r"\d+", text) if len(number) > 1)
    try:
        wanted = [int(reference) for reference in references]
        values = {int(number) for number in in_text}
    except ValueError:  # a reference that is not a number, or a number of thousands of digits
        return 0.0
    return float(len(in_text) == len(wanted) and values == set(wanted))


def authors_none(answer: str, language: Language) -> float:
    """Return 1 if a none word is anywhere in the text, whatever numbers it has."""
    text = _squeeze(unicodedata.normalize("NFKC", answer))
    return float(any(_squeeze(word) in text for word in _authors_none_words(language)))


def _authors_none_words(language: Language) -> tuple[str, ...]:
    """Return what their script accepts; of a custom language, what the prompt asks for."""
    return AUTHORS_NONE_WORDS[language] if isinstance(language, str) else language.none


def authors_words(answer: str, references: Sequence[str]) -> float:
    """Return 1 if the text contains every word, whatever else it lists."""
    text = answer.strip().lower()
    return float(all(reference.strip().lower() in text for reference in references))


def authors_leave_out(prediction: str | None, finish_reason: str | None, model: str = "") -> bool:
    """Return whether they leave a row out: nothing came back, or o3 used up its tokens."""
    return prediction is None or ("o3-" in model and finish_reason == "length")


def _squeeze(text: str) -> str:
    return text.strip().lower().replace("\u200c", "").replace(" ", "")
