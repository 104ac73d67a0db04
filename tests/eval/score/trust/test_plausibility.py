"""Answers that are no answers to their rows: counted, and said."""

from __future__ import annotations

import random

import pytest

from ruler_eval.score.trust.plausibility import AnsweredRow, doubts, sentences
from tests.eval.scoring_helpers import right, ruler

ROWS = 40
NUMBERS = [[str(1_000_000 + 7919 * i)] for i in range(ROWS)]


def rows(texts, references=NUMBERS):
    return [
        AnsweredRow(row, text, float(all(reference in text for reference in row)))
        for row, text in zip(references, texts, strict=True)
    ]


RIGHT = [f"The number is {row[0]}." for row in NUMBERS]


def test_right_and_plainly_wrong_answers_are_not_doubted():
    assert doubts(rows(RIGHT), any_of=False) == {}
    assert doubts(rows([f"It is {i}." for i in range(ROWS)]), any_of=False) == {}
    half = [text if i % 2 else "I cannot find it." for i, text in enumerate(RIGHT)]
    assert doubts(rows(half), any_of=False) == {}


def test_answers_in_another_order_than_their_rows():
    shuffled = RIGHT[:]
    random.Random(1).shuffle(shuffled)
    found = doubts(rows(shuffled), any_of=False)
    assert found.keys() == {"of_other_rows"}
    assert found["of_other_rows"] >= ROWS - 4
    (said,) = sentences("vt_4k", found, ROWS)
    assert f"of {ROWS} answers hold what another row asks for and not what their own does" in said
    part = RIGHT[-4:] + RIGHT[4:-4] + RIGHT[:4]  # a tenth at each end
    assert doubts(rows(part), any_of=False) == {"of_other_rows": 8}


def test_lists_of_short_words_in_another_order():
    """Korean words have two or three characters: ten of them together are no chance."""
    rng = random.Random(0)
    words = [chr(0xAC00 + 37 * i) + chr(0xB098 + 11 * i) for i in range(200)]
    lists = [rng.sample(words, 10) for _ in range(ROWS)]
    texts = [", ".join(some) for some in lists]
    assert doubts(rows(texts, lists), any_of=False) == {}
    moved = texts[1:] + texts[:1]
    found = doubts(rows(moved, lists), any_of=False)
    assert found == {"of_other_rows": ROWS, "shift": 1}
    pairs = [["an", "to"], ["of", "it"], *lists[2:]]
    said = [f"it is of an answer to {i}" for i in range(ROWS)]
    assert doubts(rows(said, pairs), any_of=False) == {}


@pytest.mark.parametrize(("shift", "words"), [(1, "the row 1 later"), (-2, "the row 2 earlier")])
def test_answers_that_are_rotated_say_by_how_much(shift, words):
    found = doubts(rows(RIGHT[shift:] + RIGHT[:shift]), any_of=False)
    assert found == {"of_other_rows": ROWS, "shift": shift}
    assert words in next(sentences("vt_4k", found, ROWS))


def test_two_answers_that_name_another_rows_value_are_chance():
    assert doubts(rows([RIGHT[1], RIGHT[0], *RIGHT[2:]]), any_of=False) == {}


def test_rows_of_question_answering_share_names():
    """A wrong answer may well be another row's; the same share of numbers is no chance."""
    names = [[f"Person number {i + 100}", "P."] for i in range(ROWS)]
    some = [names[(i + 1) % ROWS if i % 4 == 0 else i][0] for i in range(ROWS)]
    assert doubts(rows(some, names), any_of=True) == {}
    assert doubts(rows(some, [row[:1] for row in names]), any_of=False)["of_other_rows"] == 10
    moved = [names[(i + 1) % ROWS][0] for i in range(ROWS)]
    assert doubts(rows(moved, names), any_of=True) == {"of_other_rows": ROWS, "shift": 1}


def test_rows_that_ask_for_the_same_cannot_be_told_apart():
    none = [["none"]] * ROWS
    assert doubts(rows(["none"] * ROWS, none), any_of=False) == {}


def test_empty_and_equal_answers_and_empty_references():
    assert doubts(rows([" "] * ROWS), any_of=False) == {"empty": ROWS}
    assert doubts(rows(["I cannot."] * ROWS), any_of=False) == {"equal": ROWS}
    blank = doubts(rows(RIGHT, [[""], *NUMBERS[1:]]), any_of=False)
    assert blank == {"blank_references": 1}
    for found, said in (
        ({"empty": 3}, "vt_4k: all 3 answers are empty"),
        ({"equal": 3}, "vt_4k: all 3 answers are the same"),
        (blank, "vt_4k: 1 of 40 rows have an empty reference, which any answer holds"),
    ):
        assert list(sentences("vt_4k", found, found.get("equal", found.get("empty", 40)))) == [said]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("<inner_monologue>so it is 1, or 2, or 3</inner_monologue>4", True),
        ("[PLAN]so it is 1, or 2, or 3[/PLAN]4", True),
        ("<|start_plan|>so it is 1, or 2, or 3<|end_plan|>4", True),
        ("<|plan_start|>so it is 1, or 2, or 3<|plan_end|>4", True),
        ("◁plan▷so it is 1, or 2, or 3◁/plan▷4", True),
        ("< think >so it is 1, or 2, or 3</ think >4", True),
        ('<plan kind="a">so it is 1, or 2, or 3</plan >4', True),
        ("<answer>it is 1, or 2, or 3</answer>", False),
        ("<Antwort>it is 1, or 2, or 3</Antwort>", False),
        ("<b>4</b> is the number, as the text says", False),
        ("<think>so it is 1, or 2, or 3</think>4", False),  # known, and taken out
        ("[1] and [2] and [3]", False),
        ("<p>it is 1, or 2, or 3</p>", False),
        ("<plan>so it is 1, or 2, or 3", False),
    ],
)
def test_unknown_marks_around_most_of_an_answer_are_counted(text, marked):
    found = doubts(rows([text, *RIGHT[1:]]), any_of=False)
    assert found == ({"marked": 1} if marked else {})


def test_the_first_line_and_the_notes_say_so(write_run):
    def answer(config, row):
        return "<plan>" + right(config, row) + " and so on</plan> it is." if row["index"] else "no"

    stdout, _, _ = ruler("score", write_run(answer, configs=["vt_4k", "cwe_4k"]))
    first, *rest = [" ".join(part.split()) for part in stdout.split("\n\n")]
    assert "DOUBTFUL answers in 2 of 2 configurations, see the notes" in first
    said = "Note: vt_4k: 4 of 5 answers begin with a mark of their own that holds most"
    assert said in " ".join(rest)
