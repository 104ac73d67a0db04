"""What the page shows of one row: question, references, answer, the text around its evidence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import NotRequired, TypedDict

from ruler_common.text import shortened
from ruler_eval.frozen_release import PartialRow
from ruler_eval.prediction import Prediction

MOST_ROWS = 20  # of a configuration that the page holds
LONGEST_ANSWER = 1200  # characters
_AROUND = 90  # characters shown before and after a piece of evidence
_LONGEST_EVIDENCE = 240
_MOST_EVIDENCE = 12
_LONGEST_QUESTION = 400
_LONGEST_REFERENCE = 120
_MOST_REFERENCES = 12
# Where no more than pieces of a prompt are known (Prediction.known_prompt).
_LEFT_OUT = re.compile(r"…?\.{8,}…?")


class ShownEvidence(TypedDict):
    """A needle, assignment or document of a row, and the text around it where it is at hand.

    `text` is what stands before, the evidence itself, and what stands after.
    """

    depth: float
    answer: bool
    text: NotRequired[list[str]]


class ShownRow(TypedDict):
    """One row behind a number, as text; `score` is 0 … 1, `kind` None for a right answer."""

    index: int
    score: float
    kind: str | None
    question: str
    references: list[str]
    answer: str | None
    state: str
    evidence: list[ShownEvidence]


class ShownRows(TypedDict):
    """The rows of a configuration that the page holds, wrong ones first; it has `n` rows."""

    n: int
    wrong: int
    rows: list[ShownRow]


def shown_row(
    index: int, score: float, kind: str | None, row: PartialRow | None, answer: Prediction | None
) -> ShownRow:
    """A row's place on the page; `row` and `answer` are None where they are not known."""
    known: Mapping[str, Any] = row or {}
    question = str(known.get("question") or (answer.question if answer else None) or "")
    references = list(known.get("outputs") or (answer.outputs if answer else None) or ())
    shown = [shortened(text, _LONGEST_REFERENCE) for text in references[:_MOST_REFERENCES]]
    if len(references) > _MOST_REFERENCES:
        shown.append(f"… and {len(references) - _MOST_REFERENCES} more")
    return {
        "index": index,
        "score": round(score, 4),
        "kind": kind,
        "question": shortened(question.strip(), _LONGEST_QUESTION),
        "references": shown,
        "answer": None if answer is None else shortened(answer.text.strip(), LONGEST_ANSWER),
        "state": _state(answer),
        "evidence": list(_evidence(known)),
    }


def _state(answer: Prediction | None) -> str:
    if answer is None:
        return "missing"
    if answer.finish_reason == "does_not_fit":
        return "does not fit"
    if answer.failed:
        return "failed: " + shortened(answer.error or "no reason given", _LONGEST_REFERENCE)
    return "ok"


def _evidence(row: Mapping[str, Any]) -> Iterator[ShownEvidence]:
    """The evidence that carries an answer, in text order; distractors while there is room."""
    gold_first = sorted(row.get("evidence") or [], key=lambda span: not span["answer"])
    for span in sorted(gold_first[:_MOST_EVIDENCE], key=lambda span: float(span["depth"])):
        shown: ShownEvidence = {
            "depth": round(min(1.0, max(0.0, float(span["depth"]))), 4),
            "answer": bool(span["answer"]),
        }
        if row.get("input", "")[span["start"] : span["end"]].strip("."):
            shown["text"] = _text_around(row["input"], span["start"], span["end"])
        yield shown


def _text_around(text: str, start: int, end: int) -> list[str]:
    """The text before, the evidence (shortened where it is a document), and the text after."""
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    found = [
        ("…" if start > _AROUND else "") + shortened(before, _AROUND),
        shortened(text[start:end], _LONGEST_EVIDENCE),
        shortened(after, _AROUND) + ("…" if end + _AROUND < len(text) else ""),
    ]
    return [_LEFT_OUT.sub(" … ", part) for part in found]
