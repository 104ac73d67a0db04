"""Read RULER's fwe back: coded words and the noise word, joined by single spaces.

Section 3.3, footnote 4: the word of rank k appears floor(N k^-alpha / zeta(alpha)) times for one N;
rank 1 is the noise word `...`, the next ones are asked for, in this order.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import numpy as np
import numpy.typing as npt

from ruler_builder.families.frequent_words.params import NUMBERS, zeta
from ruler_builder.reading.breaches import FileRules, context_of
from ruler_builder.reading.reading import Reading, framed
from ruler_builder.suites.wording import filled
from ruler_common.rows import Row

_WORD = re.compile(r"[a-z]+")
_NOISE_WORD = "..."
_COUNTED, _SLACK = 64, 2  # words counted; tokens where texts meet
_TOKENS_A_WORD = 50  # of the window, for each word of the vocabulary


def read_coded_text(row: Row, about: FileRules) -> Reading:
    """Read a fwe row back."""
    reading, asked = Reading(), about.task["words"]
    tally = Counter(context_of(row).split(" "))
    letters = about.task["word_letters"]
    for word in tally:
        coded = _WORD.fullmatch(word) and len(word) == letters
        if word != _NOISE_WORD and not coded:
            reading.fault(f"a word is neither {letters} letters nor the noise word: {word[:40]!r}")
    ranked = sorted(tally, key=lambda word: -tally[word])
    if ranked[0] != _NOISE_WORD or ranked[1 : asked + 1] != row["outputs"]:
        what = f"the references {row['outputs']} are not ranks 2 to {asked + 1}, in order"
        reading.ambiguous(what)
    counts = sorted(tally.values(), reverse=True)
    if len(counts) > asked + 1 and counts[asked] == counts[asked + 1]:
        what = f"a tie: another word appears {counts[asked]} times, as the last reference does"
        reading.ambiguous(what)
    alpha, vocabulary = float(about.task["alpha"]), _vocabulary(about)
    total = _total(counts, alpha, vocabulary)
    if total is None:
        reading.fault(f"the words' counts {counts[:8]} … are no Zeta distribution")
    framed(reading, row, filled(about.wording, n=NUMBERS[asked]))
    if row["evidence"]:
        reading.fault("a coded text has no needles, but there is evidence")
    if about.alone:
        if total is not None and _smaller(alpha, vocabulary, asked, total):
            reading.fault("the text is longer than its least size")
        return reading
    if total is not None:
        weights = _weights(alpha, vocabulary)
        more = int(np.sum(np.floor((total + 1) * weights) - np.floor(total * weights)))
        most = max(about.count(f" {word}") for word in ranked[:_COUNTED])
        reading.unit = more * most + _SLACK
    return reading


@cache
def _weights(alpha: float, vocabulary: int) -> npt.NDArray[np.float64]:
    ranks = np.arange(1, vocabulary + 1, dtype=float)
    return np.asarray(ranks**-alpha / zeta(alpha))


def _vocabulary(about: FileRules) -> int:
    """How many words are drawn, the noise word too."""
    usual = max(about.entry["max_length"] // _TOKENS_A_WORD, about.task["words"] + 2)
    return int(about.task["vocabulary"]) or usual


def _total(counts: list[int], alpha: float, vocabulary: int) -> int | None:
    """The greatest N that gives these counts, largest first; None if there is none."""
    weights = _weights(alpha, vocabulary)
    found = np.array(counts)
    for total in range(int((counts[0] + 1) / weights[0]) + 1, int(counts[0] / weights[0]) - 1, -1):
        right = np.floor(total * weights).astype(int)
        if np.array_equal(right[right > 0], found):
            return total
    return None


def _smaller(alpha: float, vocabulary: int, asked: int, total: int) -> bool:
    """Whether the next smaller text would do: each asked word leads the next one there, too."""
    weights = _weights(alpha, vocabulary)
    counts = np.floor(total * weights)
    while np.array_equal(np.floor(total * weights), counts):
        total -= 1
    leads = -np.diff(np.floor(total * weights[1 : asked + 2]), append=0)
    return bool(np.all(leads > 0))
