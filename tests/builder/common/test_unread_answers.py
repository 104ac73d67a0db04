"""Which answers of a corpus are right that were not found by reading."""

from __future__ import annotations

import pytest

from ruler_builder.common.unread_answers import counted, unread

GOLD = "The bridge was built by Ada Lin in 1931."


def row(question: str, outputs: list[str], other: str) -> dict[str, object]:
    context = f"Document 1:\n{other}\n\nDocument 2:\n{GOLD}"
    text = f"Read.\n{context}\nQuestion: {question}"
    start = text.index(GOLD)
    return {
        "input": text,
        "question": question,
        "outputs": outputs,
        "context_start": len("Read.\n"),
        "context_end": len("Read.\n") + len(context),
        "evidence": [{"start": start, "end": start + len(GOLD), "depth": 0.5, "answer": True}],
    }


@pytest.mark.parametrize(
    ("question", "outputs", "other", "found"),
    [
        ("Who built it?", ["Ada Lin"], "Rain fell.", {"gold_document"}),
        ("Ada Lin or Bo?", ["ada lin"], "Rain fell.", {"gold_document", "question"}),
        ("Is it old?", ["no"], "Rain fell.", {"unknown"}),
        ("Who built it?", ["Ada Lin"], "ADA LIN slept.", {"gold_document", "elsewhere"}),
        ("Who built it?", ["Ada Lin"], "Ada Lindt slept.", {"gold_document"}),
        ("Who built it?", ["Ada Lin"], "Ada Lindt met Ada Lin.", {"gold_document", "elsewhere"}),
        ("What is sung?", ["la la"], "Xla la la.", {"elsewhere"}),  # places that overlap
        ("What is sung?", ["la la"], "Xla la lay.", set()),
        ("Where?", ["Oslo", "the port"], "In the port.", {"elsewhere"}),
    ],
)
def test_an_answer_that_was_not_read_is_known_by_the_rule_of_the_score(
    question: str, outputs: list[str], other: str, found: set[str]
) -> None:
    assert unread(row(question, outputs, other)) == found


def test_the_rows_of_a_file_are_counted() -> None:
    rows = [frozenset({"question", "elsewhere"}), frozenset({"elsewhere"}), frozenset[str]()]
    assert counted(rows) == {"question": 1, "unknown": 0, "gold_document": 0, "elsewhere": 2}
