"""Wrong answers whose kinds are easily taken for one another, in invented texts."""

from __future__ import annotations

import pytest

from ruler_eval.families.answer_text import loops
from ruler_eval.families.short_answers import near, same_words
from ruler_eval.families.word_lists import offered
from tests.eval.analysis.errors.test_error_kinds import (
    A_UUID,
    CHAIN,
    CODED,
    COMMON,
    HEAD,
    LISTED,
    QUESTION,
    SHOWN,
    UUID,
    VALUES,
    WORDS,
    kind,
    make,
    needle,
)

NAMED = {**QUESTION, "outputs": ["Tessamund Hill"], "question": "What is the capital of Velmarch?"}
YES = {**QUESTION, "outputs": ["yes"], "question": "Is Tessamund a capital?"}
SYLLABLES = "Ta" + "ral" * 20
SENTENCE = "The special magic number is the special magic number of the text and "


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ("near_miss", "Tesamund Hill"),  # a letter left out
        ("reworded", "Tessamund"),  # a word left out
        ("reworded", "It was known as Hill of Tessamund then."),  # a word put into a sentence
        ("same_document", "Settlers"),
        ("distractor", "Bellhaven"),
        ("unrelated", "Ouagadougou"),
        ("from_memory", "Ouagadougou by the lake"),
    ],
)
def test_what_was_called_other_in_questions_about_documents(expected, said):
    row = {**NAMED, "memory": "Ouagadougou, by the lake."} if expected == "from_memory" else NAMED
    assert kind(row, "qa_1", said) == expected


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("1,300,000", "1.3 million"),
        ("£1.3 billion", "£1.3bn"),
        ("five million", "5,000,000"),
        ("the us census bureau", "united states census bureau"),
        ("shortest player of the n.b.a.", "shortest player of the national basketball association"),
    ],
)
def test_large_numbers_and_initials_are_the_right_words_written_otherwise(said, right):
    assert same_words(said, [right])


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("1,300", "1.3 million"),
        ("£1.3 billion", "£1.3m"),
        ("13 million", "1.3 million"),
        ("let us go", "united kingdom"),
        ("9" * 5000 + " million", "9"),
    ],
)
def test_other_numbers_and_other_initials_are_not(said, right):
    assert not same_words(said, [right])


def test_words_of_one_stem_are_nearly_the_same():
    assert near("multiplication of two integers.", ["multiplying two integers"])
    assert not near("a computing machine", ["a computer"])


def test_of_a_sentence_the_names_and_numbers_tell_the_document():
    said = "The capital of Velmarch was built on a plain near to the town of Bellhaven in Orsk."
    assert kind(NAMED, "qa_1", said) == "distractor"


def test_a_bridging_gold_document_is_a_right_one_too():
    other = {**NAMED["evidence"][0], "answer": False}
    start = NAMED["input"].index("Orsk\nBellhaven")
    other |= {"start": start, "end": start + len("Orsk\nBellhaven is the capital of Orsk.")}
    row = {**NAMED, "evidence": [*NAMED["evidence"], other]}
    assert kind(row, "qa_2", "Bellhaven") == "same_document"


@pytest.mark.parametrize("said", ["No", "no.\n\nAnswer: it is none", "No, no such answer is given"])
def test_no_is_an_answer_where_yes_is_right(said):
    assert kind(YES, "qa_1", said) == "opposite"


def test_no_answer_is_said_by_the_first_line_alone():
    assert kind(NAMED, "qa_1", "Bellhaven\nNo other answer is mentioned.") == "distractor"
    assert kind(NAMED, "qa_1", "It cannot be determined.\nBellhaven") == "says_none"
    assert kind(NAMED, "qa_1", "It is not known if there were settlers") != "says_none"


@pytest.mark.parametrize(
    "said", [SYLLABLES, SENTENCE * 3, "1. pick 2. pick 3. pick 4. pick 5. pick"]
)
def test_one_piece_again_and_again_is_a_loop(said):
    assert loops(said)
    assert kind(CHAIN if "pick" in said else A_UUID, "niah_single_3", said) == "loop"
    assert kind(NAMED, "qa_1", said.lower()) == "loop"


def test_a_right_value_again_and_again_is_no_loop_and_lists_and_prose_are_none():
    assert kind(VALUES, "niah_multivalue", "1111111, " * 20) == "repeats"
    assert not loops("1. pear 2. plum 3. fig 4. nut 5. oak 6. elm")
    assert not loops("The sky is blue. The sun is yellow. The grass is green. The sky is blue.")


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ("garbled", "1. pear 2. abolish"),
        ("garbled", "1. pear 2. abolish ment"),
        ("incomplete", "1. pear 2. abo"),
        ("incomplete", "1. pear 2. stone"),
        ("repeats", "1. pear 2. abolishment 3. abolish 4. pear"),  # nothing of it is lacking
    ],
)
def test_a_common_word_broken_off_or_with_a_space_in_it_is_garbled(expected, said):
    row = make(SHOWN, LISTED, [*WORDS[:9], "abolishment"], "\nQuestion: …", separator=" ")
    assert kind(row, "cwe", said) == expected


@pytest.mark.parametrize(
    "count", [" (30 times)", ": 30", " - 30 times", " x3", " (appears 30 times)", " [9]"]
)
def test_a_count_behind_a_word_is_no_part_of_it(count):
    words = ["pear", "plum", "fig"]
    said = "\n".join(f"{i}. {word}{count}" for i, word in enumerate(words, 1))
    assert offered(said) == words
    assert kind(COMMON, "cwe", said) == "incomplete"


@pytest.mark.parametrize(
    "more",
    [
        "\nHowever: 1. pear 2. plum 3. fig",
        "\n\nWithout what is twice, the list is:\n\n1. pear\n2. plum",
    ],
)
def test_a_new_list_after_the_answer_repeats_nothing(more):
    assert kind(COMMON, "cwe", f"1. pear\n2. plum\n3. stone{more}") == "incomplete"
    assert kind(COMMON, "cwe", f"1. pear\n2. plum\n3. pear{more}") == "repeats"


@pytest.mark.parametrize("sorry", ["I'm sorry, I cannot find more.", "I was unable to find it."])
def test_a_garbled_value_followed_by_an_apology_is_garbled(sorry):
    assert kind(A_UUID, "niah_single_3", f"{UUID[:-3]}. {sorry}") == "garbled"
    assert kind(VALUES, "niah_multivalue", f"111111. {sorry}") == "garbled"
    assert kind(A_UUID, "niah_single_3", "I'm sorry, I can't help with that.") == "refused"


def test_a_coded_word_with_a_letter_lost_is_garbled():
    assert kind(CODED, "fwe", "qzjwkd, xwlpe, mnopqr") == "garbled"


def test_an_explanation_that_breaks_off_in_a_name_is_unfinished():
    begun = "To find the variables we need to track the chain of values. VAR AB"
    assert kind(CHAIN, "vt", begun) == "unfinished"
    assert kind(CHAIN, "vt", "ABCDE FGHI") == "garbled"


def test_none_for_the_asked_key_and_another_keys_value_says_none():
    text = needle("able-cat", "1111111")
    tail = "\nWhat is the special magic number for able-cat mentioned in the provided text?"
    row = make(HEAD, ["Here we go.", text], ["1111111"], tail, needles=[text], answers=[text])
    said = "It is not present. However, the number for bad-dog is 7654321."
    assert kind(row, "niah_single_1", said) == "says_none"
    assert kind(row, "niah_single_1", said.replace("bad-dog", "able-cat")) == "unrelated"
    again = said.replace("However", '"able-cat" is not one of the keys. However')
    assert kind(row, "niah_single_1", again) == "says_none"
