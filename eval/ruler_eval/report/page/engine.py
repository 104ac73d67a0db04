"""The section about the engine: the verdict of `ruler doctor`, as a sentence and a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ruler_common.text import shortened
from ruler_eval.doctor.outcomes import OUTCOMES, STATES
from ruler_eval.figures.figure import Column, Figure
from ruler_eval.figures.runs import MAX_NOTE, short_fact


def engine_verdict(verdict: Mapping[str, Any]) -> tuple[str, Figure]:
    """Return the conclusion of `ruler doctor` (doctor/folder.py), and its conditions."""
    records = []
    for condition in verdict["conditions"]:
        records.append(
            {
                "condition": short_fact(condition["title"]),
                "result": STATES[condition["state"]],
                "words": shortened(condition["sentence"], MAX_NOTE),
            }
        )
    title = "Conditions that must not change an answer, by ruler doctor"
    figure = Figure(
        name="engine",
        title=title,
        columns=[
            Column("condition", "condition"),
            Column("result", "result"),
            Column("in words", "words"),
        ],
        records=records,
        fold=title,
        is_open=True,
    )
    headline = shortened(verdict["headline"], MAX_NOTE)
    return f"{OUTCOMES[verdict['outcome']]} {headline}".strip(), figure
