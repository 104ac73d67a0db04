"""Compare the texts that rows share: an essay or a book from its beginning, without the needles.

odd = unlike_most(texts, tried=3)                     # those that are another text
for found in longer_texts(texts, count): ...          # rows with room for what another has more
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ruler_builder.proof.verify_report import Found
from ruler_builder.reading.breaches import Law
from ruler_builder.reading.running_text import UNIT_SLACK


class SharedText(NamedTuple):
    """A row's essay or book text without its needles, and the tokens that its window has free."""

    path: str
    row: int
    origin: str
    text: str
    spare: int


def unlike_most(texts: Sequence[SharedText], tried: int) -> list[SharedText]:
    """The texts that are not the one, of the first `tried`, that most have from its beginning."""

    def unlike(one: str) -> list[SharedText]:
        other = (shared for shared in texts if not shared.text.startswith(one))
        return [shared for shared in other if not one.startswith(shared.text)]

    return min((unlike(shared.text) for shared in texts[:tried]), key=len, default=[])


def longer_texts(rows: Sequence[SharedText], count: Callable[[str], int]) -> Iterator[Found]:
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
