"""Read a numbered list of words back, RULER's and ONERULER's: `1. word 2. word …`.

Section 3.3: the common words appear so often, every other word so often, and the numbers run from 1
without a gap; nothing stands between two items but a space.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

from ruler_builder.oneruler.errata import is_word
from ruler_builder.reading.breaches import FileRules, context_of
from ruler_builder.reading.reading import Reading, fold_width, foreign
from ruler_common.rows import Row

_NUMBER = re.compile(r"(?:^| )\d+\. (?=\S)")
_LONGEST = 32  # words counted


def read_list(
    reading: Reading, row: Row, about: FileRules, short: bool, known: Collection[str] | None
) -> Counter[str]:
    """Read a row's list back; returns how often each word is there.

    The words must be of those `known`, None where their source is not at hand; `short`
    says whether the window has the short counts.
    """
    words, common = items(reading, context_of(row)), row["outputs"]
    kind = "short_" if short else ""
    times = about.task[f"{kind}freq_cw"], about.task[f"{kind}freq_ucw"]
    tally = counted(reading, words, times, common, known)
    _clear(reading, tally, common)
    if len(common) != about.task["num_cw"]:
        reading.ambiguous(f"there are {len(common)} references, not {about.task['num_cw']}")
    if row["evidence"]:
        reading.ambiguous("a list has no needles, but there is evidence")
    if not about.alone:
        _unit(reading, about, tally, len(words), times[1])
    return tally


def items(reading: Reading, text: str) -> list[str]:
    """The words of a numbered list; a fault unless the text is that list to the character."""
    words = _NUMBER.split(text)[1:]
    again = " ".join(f"{number}. {word}" for number, word in enumerate(words, 1))
    if again != text:
        at = next((i for i, (a, b) in enumerate(zip(again, text, strict=False)) if a != b), 0)
        reading.fault(f"the list is not `1. word 2. word …` at {text[at : at + 40]!r}")
    return words


def counted(
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
            what = f"the common word '{word}' appears {tally[word]} times, not {times[0]}"
            reading.ambiguous(what)
    odd = [word for word, found in tally.items() if word not in asked and found != times[1]]
    if odd:
        word = max(odd, key=tally.__getitem__)
        tie = "a tie: " if tally[word] >= times[0] else ""
        reading.ambiguous(f"{tie}the word '{word}' appears {tally[word]} times, not {times[1]}")
    strange = (w for w in tally if (w not in known if known is not None else _is_strange(w)))
    if (first := next(strange, None)) is not None:
        reading.fault(f"'{first}' is not of the word lists")
    return tally


def _is_strange(word: str) -> bool:
    return not is_word(word) or foreign(word) is not None


def _clear(reading: Reading, words: Collection[str], common: list[str]) -> None:
    """No two words differ in case or width alone, and no common word is part of another word."""
    folded = set(map(fold_width, words))
    if len(folded) < len(words):
        reading.ambiguous("two words differ in case or width alone")
    joined = "\n".join(folded)
    for word in common:
        if joined.count(fold_width(word)) > 1:
            reading.ambiguous(f"reference '{word}' is part of another word of the list")


def _unit(reading: Reading, about: FileRules, tally: Counter[str], size: int, times: int) -> None:
    """The largest unit that could follow: the longest of the words, as often as it would appear."""
    longest = sorted(tally, key=len)[-_LONGEST:]
    most = max((about.count(f" {size + 1}. {word}") for word in longest), default=0)
    reading.unit = most * times * 5 // 4
