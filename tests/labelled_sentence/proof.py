"""Read the labelled sentences back."""

from __future__ import annotations

from ruler_builder.reading.breaches import FileRules, Law, context_of, pattern_of
from ruler_builder.reading.reading import Reading, framed, only_in_evidence, spans
from ruler_builder.suites.wording import filled
from ruler_common.rows import Row


def read_labelled_sentences(row: Row, about: FileRules) -> Reading:
    """Read a row back: every line is a sentence, one has the label that is asked for."""
    reading, wording = Reading(), about.wording
    words = " ".join(["[a-z]{6}"] * about.task["words"])
    line = pattern_of(wording["line"], label="[a-z]{6}", text=words)
    asked = pattern_of(wording["question"], label="[a-z]{6}").fullmatch(row["question"])
    label = asked["label"] if asked else ""
    framed(reading, row, filled(wording, label=label))
    at, found, right = row["context_start"], [], []
    lines = context_of(row).split("\n")
    for one in lines:
        match = line.fullmatch(one)
        if match is None:
            reading.fault(f"a line is no sentence: {one[:80]!r}")
        elif match["label"] == label:
            found.append((at, at + len(one), True))
            right.append(match["text"])
        at += len(one) + 1
    if right != row["outputs"]:
        reading.fault("the reference is not the labelled sentence", Law.UNAMBIGUOUS)
    spans(reading, row, found)
    only_in_evidence(reading, row)
    if about.alone and len(lines) > 1:
        reading.fault("there is more than the evidence")
    reading.unit = max(about.count("\n" + one) for one in lines) * 5 // 4 + 4
    return reading
