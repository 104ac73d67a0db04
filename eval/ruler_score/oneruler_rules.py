"""Score ONERULER's answers (arXiv:2503.01996, section 3) by ten rules, the same in all languages.

1. Reasoning is removed first. The answer is the content of the last pair of the language's
   answer tags or `<answer>` tags; without tags it is the whole text.
2. Case, width, zero-width characters and the script of digits make no difference. Neither do
   letters that the language treats as equal, such as ß and ss or Arabic and Persian kaf and yeh.
3. Numbers: all numbers of two digits or more in the answer must be exactly the references. Their
   thousands may be separated as in any of the languages, or as in LaTeX. No sentence may say
   "none" (rules 4 and 5).
4. None (`niah_none`): a sentence of the answer must be the prompt's word for "none", or one of the
   sentences listed for the language that say the same and nothing else: "none of them",
   "nothing", "there are no such numbers in the text". Only the numbering of a list may have digits.
5. Sentences end at full stops, colons, dashes, brackets, numbers and line breaks. Commas and
   quotation marks, and "the answer is" or "no" before the word, make no difference. A word for "no"
   says "none" only as the whole answer. So "not found", "I do not know" and "none" in a longer
   statement are wrong.
6. Words (`cwe`): an introduction is skipped. It ends at the last colon that all ten words follow
   (a colon with only a number before or after it does not count) or before the first line of a
   numbered or bulleted list. The rest is split into items at commas of any script, semicolons,
   line breaks and tags, at "&" and at the language's word for "and".
7. The words are right if exactly ten items have a letter, and each has one of the ten
   words, a different one each. Anything else in an item, such as a number or a count, is ignored.
8. They are also right if the answer has no commas, semicolons or line breaks, has each of the
   ten words once, and has no other word but "and".
9. Only whole words count: no letter may touch a word, and no hyphen or following apostrophe may
   join it to a letter.
10. In a script without spaces, one of the ten words may touch "and" or a particle of the language.

    exact_numbers("<Odpowiedź>1234567</Odpowiedź>", ["1234567"], "pl")      # 1.0

`authors_numbers` and the functions after it reproduce the scores of the authors' script.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from html import unescape
from typing import NamedTuple

from .language_table import LANGUAGES
from .language_text import Language, is_letter, normalize, numbers, read_answer, rules_for

NONE_WORDS = {language: rules.none for language, rules in LANGUAGES.items()}
"""The word for "none" in each language's prompts, in each of its spellings."""
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
_SENTENCE_END = re.compile(  # or interrupts one: brackets, numbers, \boxed
    r"<\|\w{1,30}\|>|</\w{1,30}>|\[/\w{1,30}\]|<br\s?/?>"  # <|eot_id|>, </s>, [/INST]
    r"|[.!?:;।॥۔؟؛。։።།။។()\[\]{}【】〔〕\n\r\v\f\x1c-\x1e\x85\u2028\u2029<>|/=]"
    r"|\s[-–—]+\s|\d+|\\[a-z]+"
)
_NUMBERING = re.compile(r"(?m)^[^\w\n]*[1-9]\d?\s*[.):、]\s*(?=[^\d\s])")  # 1. none
_LATEX_COMMA = re.compile(  # 1{,}234, 1,\!234, 1\text{,}234
    r"(?<=\d)(?:\\!)*(?:\\?(?:(?:text|math)[a-z]{0,5}|mbox)?\{(?:\\!)*([.,'])(?:\\!)*\}|([.,']))"
    r"(?:\\!|\{\})*(?=\d)"
)
_LATEX_SPACE = re.compile(  # 1\,234, 1{\thinspace}234, 1~234, 1\text{ }234, 1\hspace{0.1em}234
    r"(?<=\d)(?:\{?\\(?:[,;:> ]|(?:(?:neg)?(?:thin|med|thick)space|enspace)(?![a-z])\s?"
    r"|hspace\*?\{[^{}]{1,12}\}|text\{ \})\}?|\{ \}|~)(?:\{\})?(?=\d)"
)
_HTML_MARK = re.compile(r"(?<=\d)&(?:#\d{2,5}|#x[0-9a-f]{2,4}|[a-z]{4,9});(?=\d)")  # 1&nbsp;234
_PERSIAN_COMMA = re.compile(r"(?<=\d)،(?=\d)")


@functools.lru_cache(maxsize=8)  # the rules of one row read the same answer
def answer_in(prediction: str, language: Language) -> str:
    """Return the answer in a prediction without reasoning, normalized."""
    return read_answer(normalize(prediction, language), language)


def exact_numbers(
    prediction: str, references: Sequence[str], language: Language, none_word: str | None = None
) -> float:
    """Return 1 if the answer's numbers are exactly the references and it does not say "none"."""
    answer = answer_in(prediction, language)
    expected = {normalize(reference, language) for reference in references}
    if answer_numbers(answer) != expected:
        return 0.0
    return float(not says_none(answer, language, none_word))


@functools.lru_cache(maxsize=8)
def answer_numbers(answer: str) -> frozenset[str]:
    """Return the numbers of two digits or more in a normalized answer, also of LaTeX and HTML."""
    answer = _HTML_MARK.sub(lambda mark: unicodedata.normalize("NFKC", unescape(mark[0])), answer)
    answer = _LATEX_COMMA.sub(r"\1\2", _LATEX_SPACE.sub(" ", answer))
    return numbers(_PERSIAN_COMMA.sub(",", answer))


def exact_none(prediction: str, language: Language, none_word: str | None = None) -> float:
    """Return 1 if the answer says "none" and has no digit but the numbering of a list."""
    answer = _NUMBERING.sub("", answer_in(prediction, language))
    return float(says_none(answer, language, none_word) and not re.search(r"\d", answer))


def _is_inside_word(text: str, offset: int) -> bool:
    """Return whether the characters before and after an offset belong to the same word."""
    if not 0 < offset < len(text):
        return False
    before, after = text[offset - 1], text[offset]
    if before.isdigit() or after.isdigit():
        return before.isdigit() and after.isdigit()
    if is_letter(before):
        joins = after == "'" or after in _HYPHENS
        return is_letter(after) or (joins and text[offset + 1 : offset + 2].isalpha())
    follows_letter = text[max(0, offset - 2) : offset - 1].isalpha()
    return before in _HYPHENS and is_letter(after) and follows_letter


def _find_all(text: str, words: str) -> Iterator[int]:
    """Yield every offset at which `words` occur in the text, even inside a longer word."""
    offset = text.find(words)
    while offset >= 0:
        yield offset
        offset = text.find(words, offset + 1)


# ---- None ------------------------------------------------------------------------------------


def says_none(text: str, language: Language, none_word: str | None = None) -> bool:
    """Return whether an answer says "none".

    Args:
        text: the answer, normalized.
        language: the language of the instruction.
        none_word: a further word for "none" that this row's prompt asks for.
    """
    words = _none_words(language, none_word or "")
    spoken = []
    for sentence in _SENTENCE_END.split(text):
        letters = _letters(sentence)
        for statement in {letters.removeprefix(words_before) for words_before in words.before}:
            if statement in words.forms:
                return True
            for place in words.places:
                if place in statement and statement.replace(place, "", 1) in words.no_numbers:
                    return True
        if letters and letters not in words.introductions:
            spoken.append(letters)
    return bool(spoken) and words.negators.issuperset(spoken)


class _NoneWords(NamedTuple):
    """What says "none" in a language: normalized, without spaces and punctuation marks."""

    forms: frozenset[str]  # the prompt's word and its forms
    before: tuple[str, ...]  # what may come before: "the answer is", "and", "no", the empty text
    no_numbers: frozenset[str]  # all sentences that say "there are no such numbers"
    places: tuple[str, ...]  # what may be added to these, and the empty text
    negators: frozenset[str]  # the words for "no"
    introductions: frozenset[str]  # what says nothing by itself: "the answer is", "and"


@functools.cache
def _none_words(language: Language, none_word: str) -> _NoneWords:
    def read(words: Iterable[str]) -> tuple[str, ...]:
        return tuple(_letters(normalize(word, language)) for word in words)

    rules = rules_for(language)
    introductions = read((*rules.introductions, *rules.conjunctions))
    no_numbers = {
        sentence.replace("{}", number) for sentence in rules.no_numbers for number in rules.numbers
    }
    return _NoneWords(
        forms=frozenset(read((*rules.none, *rules.none_forms, none_word))) - {""},
        before=("", *introductions, *read(rules.negators)),
        no_numbers=frozenset(read(no_numbers)),
        places=("", *read(rules.places)),
        negators=frozenset(read(rules.negators)),
        introductions=frozenset(introductions),
    )


def _letters(text: str) -> str:
    """Return the letters and digits of a text, without what stands between them."""
    return "".join(character for character in text if is_letter(character))


@functools.cache
def _normalized(words: tuple[str, ...], language: Language) -> tuple[str, ...]:
    """Return the words normalized as answers are, without duplicates and empty ones."""
    folded = [" ".join(normalize(word, language).split()) for word in words]
    return tuple(dict.fromkeys(word for word in folded if word))


# ---- Words -----------------------------------------------------------------------------------


def _particle_precedes(text: str, offset: int, language: Language) -> bool:
    """Return whether a particle ends at the offset, and belongs to the word before it."""
    for particle in _normalized(rules_for(language).may_precede, language):
        if text.endswith(particle, 0, offset) and _is_inside_word(text, offset - len(particle)):
            return True
    return False


def _particle_follows(text: str, offset: int, language: Language) -> bool:
    """Return whether a particle begins at the offset, and a word ends with it."""
    for particle in _normalized(rules_for(language).may_follow, language):
        end = offset + len(particle)
        if text.startswith(particle, offset) and not _is_inside_word(text, end):
            return True
    return False


class WordList(NamedTuple):
    """An answer read as a list of words."""

    found: frozenset[str]
    """The references that the answer has, normalized."""
    exact: bool
    """Whether the answer is a list of exactly the references."""


class _Span(NamedTuple):
    """A span of the answer: one of the references, or a separator between two items."""

    start: int  # characters
    end: int
    word: str  # the normalized reference; for a separator its "and", or "" for a comma or break


def read_list(text: str, references: Sequence[str], language: Language) -> WordList:
    """Read a normalized answer as a list of words."""
    words = {normalize(reference, language).strip() for reference in references} - {""}
    spans = _find_words(text, words, language)
    words_in_text = frozenset(span.word for span in spans)
    if words_in_text != words:
        return WordList(words_in_text, False)
    separators = _find_separators(text, spans, language)
    exact = _is_item_list(text, words, spans, separators) or _is_only_words(
        text, words, spans, separators
    )
    return WordList(words_in_text, exact)


def _find_words(text: str, words: Collection[str], language: Language) -> list[_Span]:
    """Return the spans at which references are whole words, in the order of the text.

    If spans overlap, the one that begins first counts, then the longest.
    """
    all_words = tuple(words)
    candidates = []
    for word in all_words:
        for start in _find_all(text, word):
            if _is_whole_word(text, start, start + len(word), all_words, language):
                candidates.append(_Span(start, start + len(word), word))
    spans: list[_Span] = []
    for span in sorted(candidates, key=lambda span: (span.start, -span.end)):
        if not spans or span.start >= spans[-1].end:
            spans.append(span)
    return spans


def _is_whole_word(
    text: str, start: int, end: int, words: tuple[str, ...], language: Language
) -> bool:
    """Return whether the reference from `start` to `end` is a whole word (rules 9 and 10)."""
    begins, ends = not _is_inside_word(text, start), not _is_inside_word(text, end)
    rules = rules_for(language)
    if not rules.touching:
        return begins and ends
    conjunctions = _normalized(rules.conjunctions, language)
    may_begin = (
        begins
        or _particle_precedes(text, start, language)
        or _conjunction_precedes(text, start, words, conjunctions)
    )
    if not may_begin:
        return False
    return (
        ends
        or _particle_follows(text, end, language)
        or _conjunction_follows(text, end, words, conjunctions)
    )


def _conjunction_precedes(
    text: str, offset: int, words: tuple[str, ...], conjunctions: Sequence[str]
) -> bool:
    """Return whether an "and" ends at the offset that begins a word or follows a reference."""
    for conjunction in conjunctions:
        if text.endswith(conjunction, 0, offset):
            start = offset - len(conjunction)
            if not _is_inside_word(text, start) or text.endswith(words, 0, start):
                return True
    return False


def _conjunction_follows(
    text: str, offset: int, words: tuple[str, ...], conjunctions: Sequence[str]
) -> bool:
    """Return whether an "and" begins at the offset and a reference follows it."""
    for conjunction in conjunctions:
        if text.startswith(conjunction, offset):
            end = offset + len(conjunction)
            if text.startswith(" ", end):
                end += 1
            if text.startswith(words, end):
                return True
    return False


@functools.cache
def _separator_pattern(language: Language) -> re.Pattern[str]:
    rules = rules_for(language)
    conjunctions = sorted(_normalized(rules.conjunctions, language), key=len, reverse=True)
    either = "|".join(map(re.escape, conjunctions))
    if not rules.touching and either:
        either = rf"(?<!\w)(?:{either})(?!\w)"
    return re.compile(rf"{_BREAKS}|(?P<and>&{'|' if either else ''}{either})")


def _find_separators(text: str, spans: Sequence[_Span], language: Language) -> list[_Span]:
    """Return the separators between the items of a list, in the order of the text."""
    starts_in_order = [span.start for span in spans]
    word_starts = set(starts_in_order)
    word_ends = {span.end for span in spans}
    touching = rules_for(language).touching
    separators = []
    for match in _separator_pattern(language).finditer(text):
        start, end = match.span()
        previous = bisect_right(starts_in_order, start) - 1
        if previous >= 0 and start < spans[previous].end:
            continue  # inside a reference
        if match["and"] and match["and"] != "&":
            after_word = touching and start in word_ends
            before_word = touching and (end in word_starts or end + 1 in word_starts)
            if _is_inside_word(text, start) and not after_word:
                continue  # the end of another word
            if _is_inside_word(text, end) and not before_word:
                continue  # the beginning of another word
        separators.append(_Span(start, end, match["and"] or ""))
    return separators


def _is_item_list(
    text: str, words: Collection[str], spans: Sequence[_Span], separators: Sequence[_Span]
) -> bool:
    """Return whether the text is a list in which each item has a different reference (rule 7)."""
    last_starts = {span.word: span.start for span in spans}  # where each word occurs last
    begin = _find_list_start(text, min(last_starts.values(), default=0))
    separators = [separator for separator in separators if separator.start >= begin]
    starts = [begin, *(separator.end for separator in separators)]
    ends = [*(separator.start for separator in separators), len(text)]
    words_of_item: list[set[str]] = [set() for _ in starts]
    for span in spans:
        if span.start >= begin:
            words_of_item[bisect_right(starts, span.start) - 1].add(span.word)
    items = [
        item_words
        for item_words, start, end in zip(words_of_item, starts, ends, strict=True)
        if item_words or _has_letter(text[start:end])
    ]
    each_has_one = all(len(item_words) == 1 for item_words in items)
    return each_has_one and len(items) == len(words) == len(set().union(*items))


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)


def _find_list_start(text: str, latest: int) -> int:
    """Return the offset at which a list begins after its introduction (rule 6).

    Args:
        text: the answer.
        latest: an offset before which no list can begin, since all its words occur after it.
    """
    begin = previous_end = 0
    for match in _BREAK_OR_COLON.finditer(text, 0, latest):
        has_words = _has_letter(text[previous_end : match.start()])  # "1:" has none
        previous_end = match.end()
        if match[0] == ":" and has_words and not _COUNT.match(text, previous_end):
            begin = previous_end
    marked = _MARKED_LINE.search(text, 0, latest + 1)
    if marked and not _BULLET.search(text, 0, marked.start()):
        begin = max(begin, marked.start())
    return begin


def _is_only_words(
    text: str, words: Collection[str], spans: Sequence[_Span], separators: Sequence[_Span]
) -> bool:
    """Return whether the text has each reference once and no other word but "and" (rule 8)."""
    if len(spans) != len(words):
        return False
    conjunctions = []
    for separator in separators:
        if spans[0].end <= separator.start < spans[-1].start:
            if not separator.word:
                return False  # a comma or line break
            conjunctions.append(separator)
    position, rest = 0, ""
    for span in sorted((*spans, *conjunctions)):
        rest += text[position : span.start]
        position = span.end
    rest += text[position:]
    return not _has_letter(re.sub(r"x?\d+x?", "", rest))  # 30x is a count, not a word


# ---- The scores of the authors' script -------------------------------------------------------


def authors_answer(prediction: str, model: str = "") -> str:
    """Return the part of a prediction that the authors' script scores.

    It scores the whole text with its reasoning. If the model's name has "deepseek" in it, it
    scores the first `<Answer>…</Answer>` within one line, with the tags, if there is one.
    """
    match = re.search(r"<Answer>.*?</Answer>", prediction) if "deepseek" in model else None
    return match[0] if match else prediction


def authors_numbers(answer: str, references: Sequence[str], language: Language) -> float:
    """Return 1 if the numbers are the references and no word for "none" occurs, even in a word."""
    text = unicodedata.normalize("NFKC", answer)
    if any(word in text or _squeeze(word) in text for word in _authors_none_words(language)):
        return 0.0
    digit_strings = {digits for digits in re.findall(r"\d+", text) if len(digits) > 1}
    try:
        expected = [int(reference) for reference in references]
        values = {int(digits) for digits in digit_strings}
    except ValueError:  # a reference that is not a number, or a number of thousands of digits
        return 0.0
    return float(len(digit_strings) == len(expected) and values == set(expected))


def authors_none(answer: str, language: Language) -> float:
    """Return 1 if a word for "none" occurs anywhere, whatever numbers the text has."""
    text = _squeeze(unicodedata.normalize("NFKC", answer))
    return float(any(_squeeze(word) in text for word in _authors_none_words(language)))


def _authors_none_words(language: Language) -> tuple[str, ...]:
    """Return the words for "none" that the script accepts; for a custom language the prompt's."""
    return AUTHORS_NONE_WORDS[language] if isinstance(language, str) else language.none


def authors_words(answer: str, references: Sequence[str]) -> float:
    """Return 1 if the text contains every reference, whatever else it contains."""
    text = answer.strip().lower()
    return float(all(reference.strip().lower() in text for reference in references))


def authors_leave_out(prediction: str | None, finish_reason: str | None, model: str = "") -> bool:
    """Return whether the authors leave a row out: no prediction, or o3 reached its token limit."""
    return prediction is None or ("o3-" in model and finish_reason == "length")


def _squeeze(text: str) -> str:
    return text.strip().lower().replace("\u200c", "").replace(" ", "")
