"""Read ONERULER's cwe back: the published prompt around a numbered list (Figure 10)."""

from __future__ import annotations

from ruler_builder.families.multilingual_words.params import MultilingualWordsParams, list_frame
from ruler_builder.reading.breaches import FileRules, Law
from ruler_builder.reading.numbered_lists import read_list
from ruler_builder.reading.reading import Reading, framed
from ruler_common.rows import Row


def read_multilingual_words(row: Row, about: FileRules) -> Reading:
    """Read ONERULER's cwe row back; the lists, and so what is asked, are each language's own."""
    reading = Reading(scope=row["language"], asked=row["outputs"])
    known = about.sources.words(about.entry["language"])
    short = MultilingualWordsParams.is_short(row["max_length"])
    tally = read_list(reading, row, about, short, known)
    frame = list_frame(about.languages[about.entry["instruction_language"]]["cwe"])
    framed(reading, row, frame, law=Law.POSITIONS)
    reading.exhausted = None if known is None else known == set(tally)
    return reading
