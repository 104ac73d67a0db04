"""Read cwe back, RULER's and ONERULER's: `1. word 2. word …`, after a solved example in RULER.

Section 3.3: the common words appear so often, every other word so often, and the numbers run from 1
without a gap; nothing stands between two items but a space.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping

from builder.checks.breaches import FileRules, context_of, numbered_items
from builder.checks.grammar.reading import Reading, foreign, framed
from builder.checks.sources_at_hand import vocabulary
from builder.oneruler.errata import is_word
from builder.tasks.task_rules import example_words
from ruler_dataset import Row

_SHORT, _LONG = 4096, 131072  # tokens; RULER's counts are short below, its words extended above
_ONERULER_SHORT = 8000  # tokens; up to it the counts are the short ones
_EXAMPLE, _SHORT_EXAMPLE = (10, 3), (3, 1)  # times of a common and another word
_LONGEST = 32  # words counted


def read_common_words(row: Row, about: FileRules) -> Reading:
    """Read RULER's cwe row back."""
    reading, task, count = Reading(), about.task, about.task["num_cw"]
    known = vocabulary(row["max_length"] > _LONG)
    words = _items(reading, context_of(row))
    short = row["max_length"] < _SHORT
    tally = _counted(reading, words, _times(task, short), row["outputs"], known)
    question = about.wording["question"].format(n=count)
    head, tail = about.wording["input"].split("{context}")
    tail, prefix = tail.format(question=question), about.wording["prefix"].format(n=count)
    before = row["input"][: row["context_start"]]
    examples = before.removesuffix(head)
    framed(reading, row, examples + head, tail, prefix=prefix, question=question)
    used = _examples(reading, examples, head, tail + prefix, about, short, known)
    if shared := used & set(tally):
        reading.fault(f"the example shares the word '{min(shared)}' with the list")
    if row["evidence"]:
        reading.fault("a list has no needles, but there is evidence")
    if about.alone:
        if len(tally) != 2 * count:
            reading.fault(f"the list has {len(tally)} words, its least size is {2 * count}")
        return reading
    reading.exhausted = _all_hold(known - {*tally, *used}, row["outputs"])
    _unit(reading, about, tally, len(words), _times(task, short)[1])
    return reading


def read_multilingual_words(row: Row, about: FileRules) -> Reading:
    """Read ONERULER's cwe row back."""
    reading = Reading()
    words = _items(reading, context_of(row))
    known = about.sources.words(about.entry["language"])
    times = _times(about.task, row["max_length"] <= _ONERULER_SHORT)
    tally = _counted(reading, words, times, row["outputs"], known)
    head, tail = about.languages[about.entry["instruction_language"]]["cwe"].split("{context}")
    tagged = re.search(r"<([^<>/]+)>(.*?)</\1>", tail, re.DOTALL)
    framed(reading, row, head, tail, question=tagged[2].strip() if tagged else "")
    if row["evidence"]:
        reading.fault("a list has no needles, but there is evidence")
    reading.exhausted = None if known is None else known == set(tally)
    _unit(reading, about, tally, len(words), times[1])
    return reading


def _times(task: Mapping[str, int], short: bool) -> tuple[int, int]:
    """How often a common and another word appear."""
    kind = "short_" if short else ""
    return task[f"{kind}freq_cw"], task[f"{kind}freq_ucw"]


def _items(reading: Reading, text: str) -> list[str]:
    """The words of a numbered list; a fault unless the text is that list to the character."""
    _, words = numbered_items(text)
    if (again := numbered(words)) != text:
        at = next((i for i, (a, b) in enumerate(zip(again, text, strict=False)) if a != b), 0)
        reading.fault(f"the list is not `1. word 2. word …` at {text[at : at + 40]!r}")
    return words


def numbered(words: list[str]) -> str:
    """A numbered list of words."""
    return " ".join(f"{number}. {word}" for number, word in enumerate(words, 1))


def _counted(
    reading: Reading,
    words: list[str],
    times: tuple[int, int],
    common: list[str],
    known: Collection[str] | None,
) -> Counter[str]:
    """Each common word appears so often, each other word so often; all are of the word lists."""
    tally = Counter(words)
    asked = set(common)
    for word in dict.fromkeys(common):
        if tally[word] != times[0]:
            reading.fault(f"the common word '{word}' appears {tally[word]} times, not {times[0]}")
    for word, found in tally.items():
        if word not in asked and found != times[1]:
            reading.fault(f"the word '{word}' appears {found} times, not {times[1]}")
            break
    strange = (w for w in tally if (w not in known if known is not None else _is_strange(w)))
    if (first := next(strange, None)) is not None:
        reading.fault(f"'{first}' is not of the word lists")
    return tally


def _is_strange(word: str) -> bool:
    return not is_word(word) or foreign(word) is not None


def _examples(
    reading: Reading,
    text: str,
    head: str,
    tail: str,
    about: FileRules,
    short: bool,
    known: Collection[str],
) -> set[str]:
    """Hold the solved examples to the same template; returns their words."""
    count, lead = about.task["num_cw"], "" if about.task["layout"] == "2024" else " "
    size = example_words(count, about.entry["max_length"])
    times = _SHORT_EXAMPLE if short else _EXAMPLE
    used: set[str] = set()
    for _ in range(about.task["examples"]):
        at = text.find(tail)
        end = text.find("\n", at + len(tail))
        if not text.startswith(head) or at < 0 or end < 0:
            reading.fault("the text does not begin with a solved example")
            return used
        words = _items(reading, text[len(head) : at])
        solved, text = text[at + len(tail) : end], text[end + 1 :]
        answers = _items(reading, solved.removeprefix(lead))
        right = solved.startswith(lead) and len(answers) == len({*answers}) == count
        if not right:
            reading.fault(f"the example's answer is not {count} words: {solved[:80]!r}")
        tally = _counted(reading, words, times, answers, known)
        if len(tally) != size:
            reading.fault(f"the example has {len(tally)} words, not {size}")
        if shared := used & set(tally):
            reading.fault(f"two examples share the word '{min(shared)}'")
        used |= set(tally)
    if text:
        reading.fault(f"something else stands before the instruction: {text[:80]!r}")
    return used


def _all_hold(words: Collection[str], common: list[str]) -> bool:
    """Whether each of the words has a common word in it: such a word never stands beside it."""
    folded = [word.casefold() for word in common]
    return all(any(part in word.casefold() for part in folded) for word in words)


def _unit(reading: Reading, about: FileRules, tally: Counter[str], items: int, times: int) -> None:
    """The largest unit that could follow: the longest of the words, as often as it would appear."""
    longest = sorted(tally, key=len)[-_LONGEST:]
    most = max((about.count(f" {items + 1}. {word}") for word in longest), default=0)
    reading.unit = most * times * 5 // 4
