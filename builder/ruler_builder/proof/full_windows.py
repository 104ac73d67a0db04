"""Judge whether a window is full, by the row itself, its sources and the file's other rows.

    yield from full(row, reading, rules)                  # by the row's own next unit
    for found in longer_texts(readings, count): ...       # where the source of a text is not here

What the manifest says of units is not believed: file_checks.py compares it with what is found here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ruler_builder.proof.verify_report import Found
from ruler_builder.reading.breaches import Breach, FileRules, Law
from ruler_builder.reading.reading import Reading
from ruler_builder.reading.running_text import UNIT_SLACK
from ruler_common.rows import Row


class RowText(NamedTuple):
    """A row's essay or book text without its needles, and the tokens that its window has free."""

    row: int
    spare: int
    text: str


def full(row: Row, reading: Reading, rules: FileRules) -> Iterator[Breach]:
    """The window is full by the row's own next unit, unless a finite text ran out."""
    if not rules.counted or rules.alone or reading.unit is None or reading.exhausted is not False:
        return  # at `0k` by design: there is no window, and the proof allows no haystack
    if (spare := rules.spare(row)) >= reading.unit:
        yield Breach(Law.FULL, f"{spare} tokens are free, a unit has at most {reading.unit}")


def longer_texts(rows: Sequence[RowText], count: Callable[[str], int]) -> Iterator[Found]:
    """The rows in whose window there is room for what the next longer text of another row has.

    All are one text from its beginning, of which a longer one has a unit more at the least.
    """
    texts = {len(row.text): row.text for row in rows}
    lengths = sorted(texts)
    for row in rows:
        place = bisect_right(lengths, len(row.text))
        if place == len(lengths) or row.spare <= UNIT_SLACK:
            continue
        more = texts[lengths[place]][len(row.text) :]
        if row.spare >= (most := count(more) + UNIT_SLACK):
            what = f"{row.spare} tokens are free, what follows in another row has at most {most}"
            yield Found(row.row, Law.FULL, what)
