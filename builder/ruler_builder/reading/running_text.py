"""Read an essay or book haystack back: one running text, with needles between its sentences.

    running_text(reading, context, gaps, " ", template, source)
    reading.text                     # the context without its needles

Where the source is at hand the text must be the source's from its beginning, a needle may stand
only where a sentence begins, and the end is that of a whole word or sentence. Where it is not here,
no part of the text may look like a needle, and it must be that of the other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ruler_builder.common.text_digests import without_needles
from ruler_builder.reading.reading import Reading, difference, foreign, hidden
from ruler_builder.reading.sources_at_hand import RunningText

UNIT_SLACK = 4
"""Tokens that a unit may have more or less where it meets the text before and after it."""


def running_text(
    reading: Reading,
    context: str,
    gaps: Sequence[tuple[int, int]],
    separator: str,
    template: str,
    source: RunningText | None,
    count: Callable[[str], int],
) -> None:
    """Take the needles at `gaps` (offsets in the context, ascending) out and check what is left."""
    _joined(reading, context, gaps, separator)
    text, places = without_needles(context, gaps, separator)
    reading.text = text
    if source is None:
        reading.repeats = None
        _plain(reading, text, separator, template)
        return
    if not source.begins(text):
        whole = source.text * (len(text) // len(source.text) + 1)
        reading.fault(f"the text is not its source's: {difference(whole[: len(text)], text)}")
        _plain(reading, text, separator, template)
        return
    reading.repeats = source.repeats(len(text))
    if not source.may_end(len(text)):
        reading.fault(f"the text ends within a word or sentence: {text[-40:]!r}")
    tokens = count(separator + source.next_unit(len(text)))
    reading.unit, reading.unit_least = tokens + UNIT_SLACK, tokens - UNIT_SLACK
    for place in places:
        if place < len(text) and not source.may_start(place):
            around = text[max(0, place - 20) : place + 20]
            reading.misplaced(f"a needle stands inside a sentence: {around!r}")


def _joined(
    reading: Reading, context: str, gaps: Sequence[tuple[int, int]], separator: str
) -> None:
    """Needles and the texts between them are joined by one separator each; the ends have none."""
    starts, ends = [start for start, _ in gaps], [end for _, end in gaps]
    for start, end in zip([0, *ends], [*starts, len(context)], strict=True):
        between = context[start:end]
        before, after = separator * (start > 0), separator * (end < len(context))
        text = between.strip()
        right = f"{before}{text}{after}" if text else before and after
        if between != right:
            last = end == len(context)
            where = (
                f"behind the needle that ends at {start}" if last else f"before the needle at {end}"
            )
            what = "is more or less than one separator and the text"
            reading.misplaced(f"what stands {where} {what}: {difference(right, between)}")


def _plain(reading: Reading, text: str, separator: str, template: str) -> None:
    """No part looks like a needle; there is no foreign character, and no second space."""
    if piece := hidden(text, template):
        reading.fault(f"the text has a part of a needle in it: {piece!r}")
    if found := foreign(text.replace("\n", "\x00")):
        reading.fault(f"the text has {found} in it")
    if "  " in text or text != text.strip():
        reading.fault("the text is not joined by single spaces")
