"""Wrong answers that have something in common, which no single answer shows.

    notes_on_answers(lines)     # ["40 wrong answers are word for word the same, 'Sorry, …' (…"]

A gateway may answer in the model's place, a server may mix up requests, and a file may number its
rows from 1, or have the scores of answers in place of the answers.
"""

from __future__ import annotations

import re
from collections import Counter

from ruler_common.text import number_of, shortened
from ruler_eval.prediction import dataset_of
from ruler_eval.run.answer_counts import is_none
from ruler_eval.score.results import Lines

MIN_EQUAL, MIN_SHARE = 5, 0.05
"""How many rows, and which share of those answered, have the same wrong answer."""
MIN_CHARACTERS = 20
"""A shorter answer may be a guess that many rows share, unless half of the answers are this one."""
ERROR = re.compile(r"\W*(\w*(error|exception)\b|traceback|http \d{3})", re.IGNORECASE)
"""How an error begins that a program stored as the answer; its numbers and ids differ by row."""
MAX_SHOWN = 80
"""Characters of an answer that are shown."""
MIN_OTHERS, MIN_OTHERS_SHARE = 3, 0.02
"""How many answers of a configuration, and which share, hold a reference of another row."""
SCORE = re.compile(r"-?\d{1,3}(\.\d*)?|true|false", re.IGNORECASE)
"""An answer that may be a score; no task asks for numbers this short."""
MIN_NUMBER = 7
"""Characters of a number that two rows do not share by chance."""


def notes_on_answers(lines: Lines) -> list[str]:
    """Return a sentence for each thing that wrong answers have in common."""
    return [*_equal_answers(lines), *_answers_of_other_rows(lines), *_scores(lines)]


def _wrong(lines: Lines) -> list[tuple[int, str]]:
    """Return the place and the text of each answer that holds no reference."""
    places = enumerate(zip(lines["answer"], lines["found"], strict=True))
    return [(place, answer) for place, (answer, found) in places if answer and not found]


def _equal_answers(lines: Lines) -> list[str]:
    first: dict[str, int] = {}
    rows: dict[str, set[tuple[str, int]]] = {}
    for place, answer in _wrong(lines):
        text = answer.strip()
        if is_none(text) and dataset_of(lines["config"][place]) == "oneruler":
            continue
        if ERROR.match(text):
            text = re.sub(r"\w*\d\w*(-\w+)*", "…", text)
        if text:
            first.setdefault(text, place)
            rows.setdefault(text, set()).add((lines["config"][place], lines["index"][place]))
    answered = sum(answer is not None for answer in lines["answer"])
    notes = []
    for text, equal in rows.items():
        share = MIN_SHARE if len(text) >= MIN_CHARACTERS else 0.5
        if len(equal) >= max(MIN_EQUAL, share * answered):
            row = f"{lines['config'][first[text]]} row {lines['index'][first[text]]}"
            notes.append(
                f"{len(equal):,} wrong answers are word for word the same, "
                f"'{shortened(text, MAX_SHOWN)}' (the first to {row}): the model or a gateway says "
                "this in place of an answer"
            )
    return notes


def _answers_of_other_rows(lines: Lines) -> list[str]:
    """Return a note on each configuration with answers that hold the numbers of other rows."""
    numbers: set[tuple[str, str]] = set()
    answered: Counter[str] = Counter()
    for config, outputs, answer in zip(
        lines["config"], lines["outputs"], lines["answer"], strict=True
    ):
        answered[config] += answer is not None
        for reference in outputs:
            if len(reference) >= MIN_NUMBER and any(map(str.isdecimal, reference)):
                numbers.add((config, reference))
    others: dict[str, list[int]] = {}
    for place, answer in _wrong(lines):
        config = lines["config"][place]
        if any((config, word) in numbers for word in re.findall(r"[\w-]+", answer)):
            others.setdefault(config, []).append(lines["index"][place])
    notes = []
    for config, rows in others.items():
        if len(rows) >= max(MIN_OTHERS, MIN_OTHERS_SHARE * answered[config]):
            notes.append(
                f"{config}: {len(rows):,} of {number_of(answered[config], 'answer')} hold "
                f"references of other rows and none of their own (the first to row {rows[0]}): the "
                "rows are numbered in another way, such as from 1, or the server mixed up requests"
            )
    return notes


def _scores(lines: Lines) -> list[str]:
    """Return a note if all answers look like scores, and none is right."""
    answers = [answer.strip() for _, answer in _wrong(lines) if answer.strip()]
    is_wrong = not any(lines["found"])
    if len(answers) < MIN_EQUAL or not (is_wrong and all(map(SCORE.fullmatch, answers))):
        return []
    return [
        f"all {len(answers):,} answers are numbers of up to three digits, such as "
        f"'{shortened(answers[0], MAX_SHOWN)}': are they scores and not what the model wrote?"
    ]
