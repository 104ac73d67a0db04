"""Read ONERULER's niah back: a book's sentences with the task's needles between them.

    The special magic number for "apple" is: 1234567.

Section 2 and Figure 9: the published prompt in the instruction's language around a text in the
other or the same one; keys are nouns of the parallel lists, values seven digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from functools import partial
from itertools import product
from typing import Any

from ruler_builder.common.text_digests import without_needles
from ruler_builder.families.multilingual_niah.params import needle_frame
from ruler_builder.reading.breaches import FileRules, Law, context_of, pattern_of
from ruler_builder.reading.reading import Reading, fold_width, framed, only_in_evidence, spans
from ruler_builder.reading.running_text import running_text
from ruler_common.languages import SentenceFacts, facts_in
from ruler_common.names import LANGUAGES
from ruler_common.rows import Row

_LONG_NUMBER = re.compile(r"\d\d{6,}")  # of digits in any script; found faster than by \d{7,}
_AHEAD = 60  # characters after a needle that show whether a sentence goes on
_OPENING = 30  # characters that show that the book begins here (again)
_DASHES = tuple("-‒–—―−")
# Signs that always close; quotation marks do only where a space follows.
_CLOSING = tuple(")]}")
_CLOSING_ALONE = frozenset(")]}»›”’\"'.,;:!?…")
_ENDS = frozenset(".!?…।")
_CLOSING_QUOTES = tuple("\"'”’»›")


def read_book(row: Row, about: FileRules) -> Reading:
    """Read a multilingual niah row back."""
    languages = {about.entry["language"], about.entry["instruction_language"]}
    # a language that is none of the 26 may need other nouns, of which none is part of another
    reading, task = Reading(scope="-".join(sorted(languages.difference(LANGUAGES)))), about.task
    text = about.languages[about.entry["language"]]
    instruction = about.languages[about.entry["instruction_language"]]
    template = text["parts"]["needle"]
    needle = pattern_of(template, key=_one_of(text["nouns"]), value=r"[1-9][0-9]{6}")
    context, start = context_of(row), row["context_start"]
    found = list(needle.finditer(context))
    asked = _frame(reading, row, about, instruction)
    nouns_asked = [text["nouns"][instruction["nouns"].index(noun)] for noun in asked]
    values: dict[str, list[str]] = {}
    for match in found:
        values.setdefault(match["key"], []).append(match["value"])
    if len(values) != task["keys"] or any(len(v) != task["values"] for v in values.values()):
        reading.ambiguous(f"the context has {len(found)} needles of {len(values)} keys")
    expected = [sorted(values.get(noun, [])) for noun in nouns_asked]
    if task["absent"]:
        expected = [[instruction["none_word"]]]
        _absent(reading, nouns_asked, values)
    else:
        only_in_evidence(reading, row)
    size = len(expected[0]) if expected else 1
    outputs = row["outputs"]
    given = [sorted(outputs[i : i + size]) for i in range(0, len(outputs), size or 1)]
    if given != expected:
        right = "the none word" if task["absent"] else f"the values of {asked}, in this order"
        reading.ambiguous(f"the references {outputs} are not {right}")
    carrying = set() if task["absent"] else set(nouns_asked)
    spans(reading, row, ((start + m.start(), start + m.end(), m["key"] in carrying) for m in found))
    separator = text["separator"]
    _intact(reading, row, separator)
    _only_in_needles(reading, context, [match["value"] for match in found])
    source = about.sources.book(about.entry["language"], len(context))
    gaps = [(match.start(), match.end()) for match in found]
    running_text(reading, context, gaps, separator, template, source, about.count)
    sentences = facts_in(about.languages, about.entry["language"]).sentences
    rest, places = without_needles(context, gaps, separator)
    for place in places if separator else ():
        before, after = rest[:place].removesuffix(separator), rest[place : place + _AHEAD]
        paragraph = source.begins_paragraph(place) if source else None
        if parts_speech(before, after, sentences, paragraph):
            around = f"{before[-20:]}{separator}{after[:20]}"
            reading.misplaced(f"a needle parts speech from what reports it: {around!r}")
    reading.origin = f"book-{about.entry['language']}"
    by_place = [[text["nouns"].index(match["key"]), match["value"]] for match in found]
    reading.asked = [[instruction["nouns"].index(noun) for noun in asked], by_place]
    reading.depths = [span["depth"] for span in row["evidence"]]
    return reading


def _absent(reading: Reading, asked: list[str], found: Collection[str]) -> None:
    """No needle has the absent key, in any inflection: no key has the other in it."""
    for noun, key in product(map(fold_width, asked), found):
        if noun in fold_width(key) or fold_width(key) in noun:
            reading.ambiguous(f"the absent key '{noun}' stands in a needle as '{key}'")


def _only_in_needles(reading: Reading, context: str, values: list[str]) -> None:
    """A value stands in one needle and nowhere else, in digits of any script or width."""
    runs = " ".join(unicodedata.normalize("NFKC", run) for run in _LONG_NUMBER.findall(context))
    for value in values:
        if runs.count(value) != 1:
            reading.ambiguous(f"value '{value}' stands elsewhere in the context too")


def _intact(reading: Reading, row: Row, separator: str) -> None:
    """No needle stands in a word, a number or a sentence, as far as the text after it shows.

    This needs no source; where the book is at hand its sentences are known (running_text.py).
    """
    text, opening = context_of(row), 0
    for span in sorted(row["evidence"], key=lambda span: span["start"]):
        start, end = (span[edge] - row["context_start"] for edge in ("start", "end"))
        if start == opening:  # before the book's first sentence, whatever it begins with
            opening = end + len(separator)
        after = text[end + len(separator) : end + _AHEAD]
        if separator and _goes_on(after) and not after.startswith(text[opening:][:_OPENING]):
            reading.misplaced(f"the needle at {span['start']} stands inside a sentence")
        elif not separator and re.match(r"[0-9A-Za-z]", text[:start][-1:]):
            reading.misplaced(f"the needle at {span['start']} stands in a word or number")


def parts_speech(before: str, after: str, about: SentenceFacts, paragraph: bool | None) -> bool:
    """Whether a needle between two texts parts speech from what reports it; no white space between.

    It can where the letter after it belongs to a script without capitals. Known by the words that
    report, as in Tamil; and a closing quotation mark ends a sentence only where the paragraph ends
    (`paragraph` says whether, None if that is not known), in Korean nowhere: there the verb of
    saying begins the next one.
    """
    letter = next(filter(str.isalpha, after), "")
    if not before or letter.upper() != letter.lower():
        return False
    if about.reports(after):
        return True
    return before.endswith(_CLOSING_QUOTES) and (not about.quotation_ends or paragraph is False)


def _goes_on(after: str) -> bool:
    """Whether a text's beginning belongs to the sentence before it, in a language with spaces.

    It does if it begins with a dash and a lower-case letter (`– said he`), with a closing bracket
    or quotation mark, or with a number alone (`122.`).
    """
    first = after.split(" ")[0]
    if after[:1] in _DASHES:
        letters = (char for char in after if char.isalnum())
        return next(letters, "").islower()
    if after[:1] in _CLOSING or (first and all(char in _CLOSING_ALONE for char in first)):
        return True
    return first[:1].isdigit() and first[-1] in _ENDS and not any(map(str.isalpha, first))


def _frame(reading: Reading, row: Row, about: FileRules, language: Mapping[str, Any]) -> list[str]:
    """Hold the prompt to the published one; returns the nouns asked for, in their order."""
    task, parts = about.task, language["parts"]
    frame = partial(needle_frame, parts, language["separator"], task["none_sentence"])
    names = {f"query{i + 1}": _one_of(language["nouns"]) for i in range(task["queries"])}
    question = frame([f"{{{name}}}" for name in names]).question
    match = pattern_of(question, **names).fullmatch(row["question"])
    if match is None:
        reading.ambiguous(f"the question is not the prompt's: {row['question'][:80]!r}")
        return []
    asked = [match[name] for name in names]
    none_word = language["none_word"] if task["none_sentence"] else ""
    framed(reading, row, frame(asked), none_word, Law.POSITIONS)
    return asked


def _one_of(nouns: Collection[str]) -> str:
    """A regular expression for any of these nouns, a longer one before what it begins with."""
    return "|".join(re.escape(noun) for noun in sorted(nouns, key=len, reverse=True))
