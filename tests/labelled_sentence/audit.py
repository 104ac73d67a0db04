"""Audit a row of labelled sentences: every line is one, and one has the asked label."""

from __future__ import annotations

from collections.abc import Iterator

from ruler_builder.verify.audits.shared import (
    AuditInputs,
    check_no_stray_references,
    check_spans,
    context_of,
    longest_line,
    pattern_of,
)
from ruler_common.rows import Row


def audit(row: Row, inputs: AuditInputs) -> Iterator[str]:
    """Yield what is wrong with a row: every line is a sentence, one has the asked label."""
    words = " ".join(["[a-z]{6}"] * inputs.params.words)
    line = pattern_of(inputs.templates["line"], label="[a-z]{6}", text=words)
    asked = pattern_of(inputs.templates["question"], label="[a-z]{6}").fullmatch(row["question"])
    label = asked["label"] if asked else ""
    at, spans, right = row["context_start"], [], []
    lines = context_of(row).split("\n")
    for one in lines:
        match = line.fullmatch(one)
        if match is None:
            yield f"a line is not a sentence: {one[:80]!r}"
        elif match["label"] == label:
            spans.append((at, at + len(one), True))
            right.append(match["text"])
        at += len(one) + 1
    if right != row["outputs"]:
        yield "the reference is not the labelled sentence"
    yield from check_spans(row, spans)
    yield from check_no_stray_references(row)
    yield from inputs.check_full(row, longest_line(lines, inputs.count))
