"""The parameters of RULER's fwe (Table 5), and the zeta function by which it shares out words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ruler_builder.suites.params import TaskParams

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
"""How a prompt writes the number of words that it asks for."""


@dataclass(frozen=True, kw_only=True)
class FrequentParams(TaskParams):
    """The distribution's exponent and how many words are asked for (Table 5); the words' letters.

    `vocabulary` is the number of different words, the noise word too; 0 is a fiftieth of the
    window's tokens.
    """

    optional = ("vocabulary", "word_letters")

    alpha: float = 2.0
    words: int = 3
    vocabulary: int = 0
    word_letters: int = 6

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need(1 < self.alpha <= 10, "alpha must be above 1 and at most 10")
        self.need(1 <= self.words <= 10, "words must be 1 to 10")
        self.need(4 <= self.word_letters <= 12, "word_letters must be 4 to 12")
        enough = self.words + 2 <= self.vocabulary <= 100_000
        self.need(
            enough or self.vocabulary == 0,
            f"vocabulary must be {self.words + 2} to 100000, or 0 for a fiftieth of the window",
        )


def zeta(alpha: float) -> float:
    """The sum of `rank ** -alpha` over all ranks; at 2, the usual alpha, without scipy.

    That takes a fifth of a second to import. Euler's value is the same number to the last bit.
    """
    if alpha == 2:
        return math.pi**2 / 6
    from scipy.special import zeta

    return float(zeta(alpha))
