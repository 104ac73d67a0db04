"""Read RULER's cwe back: a numbered list of words, after a solved example of the same form.

Section 3.3: above 128k the words are wonderwords' and the most frequent others.
"""

from __future__ import annotations

from collections.abc import Collection

from ruler_builder.families.common_words.params import CommonParams, example_words
from ruler_builder.reading.breaches import FileRules
from ruler_builder.reading.numbered_lists import counted, items, read_list
from ruler_builder.reading.reading import Reading, framed
from ruler_builder.reading.sources_at_hand import vocabulary
from ruler_builder.suites.wording import Frame, filled
from ruler_common.rows import Row

_LONG = 131072  # tokens; above it RULER's words are extended
_EXAMPLE, _SHORT_EXAMPLE = (10, 3), (3, 1)  # times of a common and another word


def read_common_words(row: Row, about: FileRules) -> Reading:
    """Read RULER's cwe row back."""
    reading, count = Reading(), about.task["num_cw"]
    known = vocabulary(row["max_length"] > _LONG)
    short = CommonParams.is_short(row["max_length"])
    tally = read_list(reading, row, about, short, known)
    frame = filled(about.wording, n=count)
    examples = row["input"][: row["context_start"]].removesuffix(frame.head)
    framed(reading, row, frame._replace(head=examples + frame.head))
    used = _examples(reading, examples, frame, about, known)
    if shared := used & set(tally):
        reading.fault(f"the example shares the word '{min(shared)}' with the list")
    wording = f"{frame.head}{frame.tail}{frame.prefix}".casefold()
    for word in row["outputs"]:
        if word.casefold() in wording:
            reading.ambiguous(f"the reference '{word}' stands in the wording around the list")
    if not about.alone:
        reading.exhausted = _all_hold(known - {*tally, *used}, row["outputs"])
    elif len(tally) != 2 * count:
        reading.fault(f"the list has {len(tally)} words, its least size is {2 * count}")
    return reading


def _examples(
    reading: Reading, text: str, frame: Frame, about: FileRules, known: Collection[str]
) -> set[str]:
    """Hold the solved examples to the same template; returns their words."""
    head, tail = frame.head, frame.tail + frame.prefix
    count, lead = about.task["num_cw"], "" if about.task["layout"] == "2024" else " "
    length = about.entry["max_length"]
    size = example_words(count, length)
    times = _SHORT_EXAMPLE if CommonParams.is_short(length) else _EXAMPLE
    used: set[str] = set()
    for _ in range(about.task["examples"]):
        at = text.find(tail)
        end = text.find("\n", at + len(tail))
        if not text.startswith(head) or at < 0 or end < 0:
            reading.fault("the text does not begin with a solved example")
            return used
        words = items(reading, text[len(head) : at])
        solved, text = text[at + len(tail) : end], text[end + 1 :]
        answers = items(reading, solved.removeprefix(lead))
        right = solved.startswith(lead) and len(answers) == len({*answers}) == count
        if not right:
            reading.fault(f"the example's answer is not {count} words: {solved[:80]!r}")
        tally = counted(reading, words, times, answers, known)
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
