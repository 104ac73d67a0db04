r"""ONERULER's needles in books of 26 languages (arXiv:2503.01996, Figure 9): tags, quotes, numbers.

    solve('…<text>\n… The special magic number for "apple" is: 1234567. …\n</text>\n\n'
           '<Question> What special magic numbers associated with "apple" are … "none".</Question>'
           '\n\n\n… <Answer> List all numbers here </Answer>')      # "<Answer> 1234567 </Answer>"

Where instruction and text are in one language the oracle misses nothing. Where they are not, the
question asks for a translation of the needle's key: with the release's nouns, which are parallel,
`solve_across` misses nothing either. `input` holds no dictionary; what can be done without one:

- niah_single, niah_multivalue, niah_multiquery: no more keys are in the text than are asked for, so
  every needle is an answer: right.
- niah_multikey, niah_none: four keys, one asked; nothing in `input` tells the two tasks apart. It
  says none unless the key is spelled alike in both languages: right on niah_none, nearly always
  wrong on niah_multikey. (A number at random would be right on a quarter of niah_multikey and on no
  row of niah_none.)

Which of the two cases a row is shows in its commonest words. Danish and Norwegian share theirs: one
over the other or over itself is read as two languages, so that there, and there alone, a question
for a key that is in no needle may still be answered with a number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cache
from typing import NamedTuple

from ruler_common.names import LANGUAGES
from ruler_eval.families.answer_text import numbers_in
from ruler_eval.families.family import Family
from ruler_eval.families.function_words import frequent
from ruler_eval.families.given_answer import GivenAnswer
from ruler_eval.families.niah import other_needle
from ruler_score.language_text import normalize
from ruler_score.oneruler_rules import NONE_WORDS
from ruler_score.ruler_score import ONERULER_TASKS

TAGGED = re.compile(r"<(?P<tag>[^<>/\n]+)>(?P<text>[^<>]*)</(?P=tag)>")
_OPEN, _CLOSE = '"“„«「', '"”“»」'
_QUOTED = re.compile(rf"[{_OPEN}](.+?)[{_CLOSE}]")
_VALUE = re.compile(r"(?<!\d)\d{7}(?!\d)")
_BEFORE_VALUE = re.compile(
    rf"[{_OPEN}](?P<key>[^{_OPEN}{_CLOSE}\n]{{1,60}})[{_CLOSE}][^{_OPEN}{_CLOSE}\d]{{1,80}}$"
)
_NEEDLE = 160  # characters: the longest beginning of a needle, up to its value
_SAMPLE = 20_000  # characters of a text that tell its language
_SYLLABLES = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")  # no space ends a word there
_TWINS = ("da", "no")
_NONE = {normalize(word) for words in NONE_WORDS.values() for word in words}


class Form(NamedTuple):
    """A row of ONERULER by its tags: what is quoted in the question, and the answer's own tag."""

    context: str
    instruction: str
    quoted: list[str]
    tag: str

    def filled(self, said: str) -> str:
        """An answer between the tags that are asked for."""
        return f"<{self.tag}> {said} </{self.tag}>"


def read_form(text: str) -> Form | None:
    """A row's parts; None where it does not end with a question and a form between tags."""
    tagged = list(TAGGED.finditer(text))
    if len(tagged) < 2:
        return None
    question, form = tagged[-2], tagged[-1]
    return Form(
        context=text[: question.start()],
        instruction=text[: text.index("<")] + text[question.start() :],
        quoted=_QUOTED.findall(question["text"]),
        tag=form["tag"],
    )


def solve(text: str) -> str | None:
    """The values of every key that is asked for, or the none word, in the form asked for."""
    return solve_across(text, {})


def solve_across(text: str, dictionary: Mapping[str, str]) -> str | None:
    """The same, where `dictionary` has the text's noun for nouns of the question."""
    form = read_form(text)
    if form is None or not form.quoted:
        return None
    asked = [_same(key) for key in form.quoted]
    needles, nouns = _needles(form.context), {_same(k): _same(v) for k, v in dictionary.items()}
    none = asked.pop() if _is_none(asked, {*needles, *nouns}) else ""
    if asked and nouns.keys() >= set(asked):
        values = [value for key in asked for value in needles.get(nouns[key], [])]
    else:
        values = _values(needles, asked, form.context, form.instruction)
    return form.filled(", ".join(values) or none)


def _is_none(quoted: list[str], keys: Collection[str]) -> bool:
    """Whether the last of what a question quotes is the none word: a known one, or no key."""
    return quoted[-1] in _NONE or (len(quoted) > 1 and quoted[-1] not in keys)


def language_of(text: str) -> str:
    """The ISO 639-1 code of the language whose commonest words fill most of the text."""
    start = max(0, (len(text) - _SAMPLE) // 2)
    sample = text[start : start + _SAMPLE].casefold()
    words = _SYLLABLES.findall(sample)
    words += [word.strip(".,;:!?\"'«»„“”()<>") for word in sample.split()]
    seen = Counter(words)

    def share(language: str) -> float:  # a word of many languages tells little
        return sum(seen[word] / _lists()[word] ** 2 for word in frequent(language))

    return max(sorted(LANGUAGES), key=share)


@cache
def _lists() -> Counter[str]:
    """How many languages' lists hold a word."""
    return Counter(word for language in LANGUAGES for word in frequent(language))


def _needles(context: str) -> dict[str, list[str]]:
    """The values of every key in quotation marks, in the order of the text."""
    needles: dict[str, list[str]] = {}
    for value in _VALUE.finditer(context):
        begun = _BEFORE_VALUE.search(context, max(0, value.start() - _NEEDLE), value.start())
        if begun:
            needles.setdefault(_same(begun["key"]), []).append(value[0])
    return needles


def _values(
    needles: dict[str, list[str]], asked: list[str], context: str, instruction: str
) -> list[str]:
    if not needles.keys() >= set(asked) and len(needles) <= len(asked):
        languages = {language_of(context), language_of(instruction)}
        if len(languages) > 1 or languages <= set(_TWINS):
            return [value for values in needles.values() for value in values]
    return [value for key in asked for value in needles.get(key, [])]


def _same(key: str) -> str:
    return normalize(" ".join(key.split()))


def none_and_more(answer: GivenAnswer) -> bool:
    """The none word, rightly, and a number beside it."""
    return answer.found > 0 and answer.task == "niah_none"


FAMILY = Family(
    dataset="oneruler",
    rule="niah_single",
    tasks=tuple(task for task in ONERULER_TASKS if task.startswith("niah")),
    absent_rule="niah_none",
    solve=solve,
    solve_across=solve_across,
    items=lambda raw, text, wanted: numbers_in(text),
    kinds={"extra": none_and_more},
    distance=other_needle,
    describe=None,
    after_context="",
    evidence=re.compile(r"(?<!\d)(\d{7})(?!\d)"),
)
