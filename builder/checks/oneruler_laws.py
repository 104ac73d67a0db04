"""Check the rows of ONERULER's two task families against the published prompts in the manifest.

Nouns are compared by their place in the parallel lists, so that rows of different languages can be
seen to ask the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from builder.checks.breaches import (
    Breach,
    FileRules,
    Law,
    context_of,
    leading,
    numbered_items,
    only_in_evidence,
    pattern_of,
    texts_of,
)
from builder.tasks.task_rules import list_counts
from ruler_dataset import LanguageEntry, Row

_TAG = re.compile(r"<(/?)([^<>/\n]{1,40})>")
_LONG_NUMBER = re.compile(r"\d\d{6,}")  # of digits in any script; found faster than by \d{7,}


_AHEAD = 60  # characters after a needle that show whether a sentence goes on
_OPENING = 30  # characters that show that the book begins here (again)
_DASHES = tuple("-‒–—―−")
_CLOSING = tuple(")]}")
"""Signs that always close; quotation marks do only where a space follows."""
_CLOSING_ALONE = frozenset(")]}»›”’\"'.,;:!?…")
_ENDS = frozenset(".!?…।")


class _Found(NamedTuple):
    key: str
    value: str


def _needles(text: str, language: LanguageEntry) -> list[_Found]:
    """The needles in a text, in order; a key is what stands between the template's quotes."""
    template = language["parts"]["needle"]
    place = template.index("{key}")
    quotes = re.escape(template[place - 1 : place] + template[place + 5])
    needle = pattern_of(template, key=rf"[^{quotes}\n]{{1,80}}", value=r"[\d,.]+?")
    return [_Found(match["key"], match["value"]) for match in needle.finditer(text)]


@lru_cache(maxsize=1 << 17)  # the words of a dictionary stand in every row
def _fold(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def _languages(rules: FileRules) -> tuple[LanguageEntry, LanguageEntry]:
    """The prompts of the file's languages: of the text and of the instruction."""
    entry = rules.entry
    return rules.languages[entry["language"]], rules.languages[entry["instruction_language"]]


def _template(rules: FileRules) -> str:
    """The name of the question's template in the published prompt."""
    return "question_one" if rules.task["queries"] == 1 else "question_many"


def _asked_keys(row: Row, rules: FileRules) -> list[str] | None:
    """The keys that the question asks for; None if it is not the prompt's question."""
    template = _languages(rules)[1]["parts"][_template(rules)]
    names = {f"query{i + 1}": r".+?" for i in range(rules.task["queries"])}
    match = pattern_of(template[template.index(">") + 1 :].strip(), **names).fullmatch(
        row["question"]
    )
    return list(match.groups()) if match else None


def _niah(row: Row, rules: FileRules) -> Iterator[Breach]:
    yield from _tags(row, rules)
    task, context = rules.task, context_of(row)
    text, instruction = _languages(rules)
    yield from _intact(row, text["separator"])
    found = _needles(context, text)
    for value in (value for value, times in Counter(n.value for n in found).items() if times > 1):
        yield Breach(Law.UNAMBIGUOUS, f"value '{value}' stands in more than one needle")
    runs = " ".join(unicodedata.normalize("NFKC", run) for run in _LONG_NUMBER.findall(context))
    for needle in found:
        if runs.count(needle.value) != 1:
            yield Breach(
                Law.UNAMBIGUOUS, f"value '{needle.value}' stands elsewhere in the context too"
            )
    for key, times in Counter(needle.key for needle in found).items():
        if times != task["values"]:
            yield Breach(
                Law.UNAMBIGUOUS, f"key '{key}' stands in {times} needles, not {task['values']}"
            )
    expected = task["keys"] * task["values"]
    if len(found) != expected or len(row["evidence"]) != expected:
        yield Breach(
            Law.UNAMBIGUOUS,
            f"{len(found)} needles, {len(row['evidence'])} in evidence, not {expected}",
        )
    asked = _asked_keys(row, rules)
    if asked is None:
        yield Breach(Law.UNAMBIGUOUS, "the question is not the prompt's")
        return
    unknown = {*asked} - {*instruction["nouns"]} | {n.key for n in found} - {*text["nouns"]}
    if unknown:
        yield Breach(Law.UNAMBIGUOUS, f"'{min(unknown)}' is not of the noun list")
        return
    keys = [text["nouns"][instruction["nouns"].index(key)] for key in asked]
    yield from _references(row, rules, keys, found)
    for answer in (True, False):
        for shown in texts_of(row, answer):
            if [n for n in _needles(shown, text) if n in found and shown == _whole(n, text)] == []:
                yield Breach(Law.POSITIONS, f"evidence holds no needle: '{shown[:80]}'")
            elif (_needles(shown, text)[0].key in keys) is not answer:
                yield Breach(Law.POSITIONS, f"evidence '{shown[:80]}' is marked answer={answer}")


def _intact(row: Row, separator: str) -> Iterator[Breach]:
    """Breaches where a needle stands in a word, a number or a sentence, not between sentences."""
    text, opening = context_of(row), 0
    for span in sorted(row["evidence"], key=lambda span: span["start"]):
        start, end = (span[edge] - row["context_start"] for edge in ("start", "end"))
        if start == opening:  # before the book's first sentence, whatever it begins with
            opening = end + len(separator)
        after = text[end + len(separator) : end + _AHEAD]
        around = (text[:start][-1:], text[end : end + 1])
        if separator and set(around) - {separator, ""}:
            yield Breach(Law.POSITIONS, f"no space around the needle at {span['start']}")
        elif separator and _goes_on(after) and not after.startswith(text[opening:][:_OPENING]):
            yield Breach(Law.POSITIONS, f"the needle at {span['start']} stands inside a sentence")
        elif not separator and re.match(r"[0-9A-Za-z]", around[0]):
            yield Breach(Law.POSITIONS, f"the needle at {span['start']} stands in a word or number")


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


def _whole(needle: _Found, language: LanguageEntry) -> str:
    return language["parts"]["needle"].format(key=needle.key, value=needle.value)


def _references(
    row: Row, rules: FileRules, keys: list[str], found: list[_Found]
) -> Iterator[Breach]:
    """Breaches of the references: the asked keys' values, or the none word if the key is absent."""
    task, none_word = rules.task, _languages(rules)[1]["none_word"]
    if row["none_word"] != (none_word if task["none_sentence"] else ""):
        yield Breach(
            Law.UNAMBIGUOUS, f"none_word is '{row['none_word']}', the prompt's is '{none_word}'"
        )
    if_no = _languages(rules)[1]["parts"]["if_no"]  # a none word alone may be part of a key
    sentence = if_no[: if_no.rindex("</")].strip()
    if task["none_sentence"] is not (sentence in row["input"][row["context_end"] :]):
        yield Breach(
            Law.UNAMBIGUOUS, f"the prompt says what to answer for none: {not task['none_sentence']}"
        )
    if not task["absent"]:
        if Counter(n.value for n in found if n.key in keys) != Counter(row["outputs"]):
            yield Breach(
                Law.UNAMBIGUOUS, f"the asked keys' values are not the references {row['outputs']}"
            )
        yield from only_in_evidence(row, context_of(row))
        return
    if row["outputs"] != [none_word]:
        yield Breach(Law.UNAMBIGUOUS, f"the references are {row['outputs']}, not the none word")
    asked = _fold(keys[0])
    for needle in found:  # in any inflection: no key has the other in it
        if asked in _fold(needle.key) or _fold(needle.key) in asked:
            yield Breach(
                Law.UNAMBIGUOUS, f"the absent key '{keys[0]}' stands in a needle as '{needle.key}'"
            )


def _tags(row: Row, rules: FileRules) -> Iterator[Breach]:
    """Breaches of the prompt around the context: unbalanced tags, another text than published."""
    start, end, text = row["context_start"], row["context_end"], row["input"]
    opened: list[str] = []
    for closing, name in _TAG.findall(text[:start] + text[end:]):
        if not closing:
            opened.append(name)
        elif not opened or opened.pop() != name:
            yield Breach(Law.POSITIONS, f"the tag </{name}> closes nothing")
    if opened:
        yield Breach(Law.POSITIONS, f"the tag <{opened[-1]}> is not closed")
    head, tail = _frame(row, rules)
    if text[:start] != head or text[end:] != tail or row["answer_prefix"]:
        yield Breach(Law.POSITIONS, "the prompt around the context is not the published one")
    if text.count(text[start:end]) != 1:
        yield Breach(Law.POSITIONS, "the context occurs more than once")


def _frame(row: Row, rules: FileRules) -> tuple[str, str]:
    """The published prompt's texts before and after the context, with this row's question."""
    language = _languages(rules)[1]
    if rules.task["family"] == "multilingual_words":
        head, tail = language["cwe"].split("{context}")
        return head, tail
    parts, separator = language["parts"], language["separator"]
    head, tail = parts["task"].split("{context}")
    opening = re.match(r"<[^>]+>\s*", parts[_template(rules)])
    tag = opening[0] if opening else ""
    if_no = parts["if_no"]
    if not rules.task["none_sentence"]:
        if_no = if_no[if_no.rindex("</") :]
    tail += separator.join([tag + row["question"], parts["please_list"], if_no])
    return head, tail + parts["answer_prefix"] + separator + parts["answer"]


def _words(row: Row, rules: FileRules) -> Iterator[Breach]:
    yield from _tags(row, rules)
    if row["evidence"] or row["none_word"] or row["question"] != _first_tagged(rules):
        yield Breach(
            Law.UNAMBIGUOUS, "a list has no needles and no none word, and the prompt's question"
        )
    numbers, words = numbered_items(context_of(row))
    if list(map(int, numbers)) != list(range(1, len(numbers) + 1)):
        yield Breach(Law.UNAMBIGUOUS, "the list is not numbered from 1 in order")
    tally = Counter(words)
    common, uncommon = list_counts("multilingual_words", rules.task, row["max_length"])
    folded = {_fold(word): times for word, times in tally.items()}
    if len(folded) != len(tally):
        yield Breach(Law.UNAMBIGUOUS, "two words differ in case or width alone")
    references = [_fold(output) for output in row["outputs"]]
    yield from leading(references, folded, [common] * rules.task["num_cw"])
    if odd := [word for word, times in tally.items() if times not in (common, uncommon)]:
        yield Breach(Law.UNAMBIGUOUS, f"word '{odd[0]}' appears {tally[odd[0]]} times")


def _first_tagged(rules: FileRules) -> str:
    """The question of the word list's prompt: what its first tags after the list enclose."""
    tail = _languages(rules)[1]["cwe"].split("{context}")[1]
    tagged = re.search(r"<([^<>/]+)>(.*?)</\1>", tail, re.DOTALL)
    return tagged[2].strip() if tagged else ""


def _asked_by_place(row: Row, rules: FileRules) -> tuple[str, Any]:
    """Asked nouns and needles, nouns by their place in the list: the same in every language."""
    text, instruction = _languages(rules)
    found = [
        [text["nouns"].index(n.key) if n.key in text["nouns"] else n.key, n.value]
        for shown in sorted(row["evidence"], key=lambda span: span["start"])
        for n in _needles(row["input"][shown["start"] : shown["end"]], text)
    ]
    asked = [
        instruction["nouns"].index(key) if key in instruction["nouns"] else key
        for key in _asked_keys(row, rules) or []
    ]
    return "", [asked, found]


FAMILIES: dict[str, Callable[[Row, FileRules], Iterator[Breach]]] = {
    "multilingual_niah": _niah,
    "multilingual_words": _words,
}
ASKED: dict[str, Callable[[Row, FileRules], tuple[str, Any]]] = {
    "multilingual_niah": _asked_by_place,
    "multilingual_words": lambda row, _: (row["language"], row["outputs"]),
}
