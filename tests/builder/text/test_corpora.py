"""Corpora are read as documents and questions, in the order of their files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ruler_builder.text import corpora
from ruler_builder.text.corpora import Corpus, Question


def qa(question: str, *answers: str, impossible: bool = False) -> dict[str, Any]:
    return {
        "question": question,
        "id": question,
        "answers": [{"text": text, "answer_start": 0} for text in answers],
        "is_impossible": impossible,
    }


SQUAD = {
    "version": "v2.0",
    "data": [
        {
            "title": "Rivers",
            "paragraphs": [
                {
                    "context": "The Ilvane is long.",
                    "qas": [qa("How long?", "long", "long", "L")],
                },
                {
                    "context": "It floods.",
                    "qas": [
                        qa("Dry?", "no", impossible=True),
                        qa("What?", "floods"),
                    ],
                },
                {"context": "The Ilvane is long.", "qas": [qa("Again?", "Ilvane")]},
            ],
        },
        {"title": "Empty", "paragraphs": []},
        {
            "title": "Hills",
            "paragraphs": [
                {
                    "context": "Hills are high.",
                    "qas": [qa("No answer?"), qa("High?", "high")],
                },
                {"context": "It floods.", "qas": []},
            ],
        },
    ],
}
HOTPOT = [
    {
        "question": "Which came first?",
        "answer": "Ada",
        "supporting_facts": [["Tom", 0], ["Ada", 1], ["Tom", 1]],
        "context": [
            ["Ada", ["Ada was.", " First."]],
            ["Hill", ["High."]],
            ["Tom", ["Tom.", " 2."]],
        ],
    },
    {
        "question": "Same?",
        "answer": "yes",
        "supporting_facts": [["Hill", 0], ["River", 0]],
        "context": [["River", ["Long."]], ["Hill", ["High."]]],
    },
]


def squad() -> Corpus:
    return corpora.questions("squad", json.dumps(SQUAD).encode())


def hotpotqa() -> Corpus:
    return corpora.questions("hotpotqa", json.dumps(HOTPOT).encode())


def test_squad_is_read_as_distinct_paragraphs_and_answerable_questions_in_file_order():
    corpus = squad()
    assert corpus.documents == ["The Ilvane is long.", "It floods.", "Hills are high."]
    assert corpus.questions == [
        Question("How long?", ("long", "L"), (0,), (1,)),  # every annotator's answer, each once
        Question("What?", ("floods",), (1,), (0,)),
        Question("Again?", ("Ilvane",), (0,), (1,)),
        Question("High?", ("high",), (2,), (1,)),
    ]
    assert not corpus.related_required


def test_hotpotqa_is_read_as_titled_documents_and_questions_with_their_supporting_facts():
    corpus = hotpotqa()
    assert corpus.documents == [
        "Ada\nAda was. First.",
        "Hill\nHigh.",
        "Tom\nTom. 2.",
        "River\nLong.",
    ]
    assert corpus.questions == [
        Question("Which came first?", ("Ada",), (2, 0), (1,)),
        Question("Same?", ("yes",), (1, 3), ()),
    ]
    assert corpus.related_required


def test_only_the_last_corpora_are_kept_in_memory():
    first = hotpotqa()
    assert hotpotqa() is first
    for question in "abcd":
        data = json.dumps([HOTPOT[0] | {"question": question}]).encode()
        assert corpora.questions("hotpotqa", data).questions[0].text == question
    assert hotpotqa() is not first
    assert hotpotqa() == first


@pytest.mark.parametrize("data", [b"An essay.", b'{"text": "An essay."}'])
def test_essays_are_text_or_json_with_a_text(data):
    assert corpora.essays(data) == "An essay."
