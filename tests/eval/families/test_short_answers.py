"""How near a short answer is to a right one, in invented words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruler_eval.families.short_answers import begins_in, content, near, same_words, stands_in

SOME = ["brovik", "tessam", "oldra", "quenn", "marvell", "1812", "17.5"]
WORDS = st.lists(st.sampled_from(SOME), min_size=1)


def test_content_words_drop_what_carries_no_meaning():
    assert content("the three hills of brovik's") == ("3", "hill", "brovik")
    assert content("on the 5th of may") == content("on the fifth of may") == ("5", "may")
    assert content("josé gómez") == ("jose", "gomez")
    assert content("17.5 million and 1,234") == ("17.5", "million", "1,234")


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("2", "two"),
        ("oldra and brovik", "oldra, brovik"),
        ("lord brovik", "lord brovik of oldra"),
        ("712 fifth street", "712 5th street"),
        ("they brought down the walls in numerous places by night", "numerous walls brought down"),
    ],
)
def test_the_words_of_a_reference_in_other_order_form_or_number(said, right):
    assert same_words(said, {right})


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("ann brovik", "ann brovic"),  # a letter changed
        ("brovikia", "brovik"),
        ("ibn oldra", "ibnoldra"),
        ("north oldra sea trading company", "north oldra trade company ltd"),
        ("it is known as the castle of the lake of oldra", "the castle of the lake of marvell"),
    ],
)
def test_most_words_or_letters_of_a_reference(said, right):
    assert near(said, {right})
    assert not same_words(said, {right})


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("1472 km", "2844 km"),
        ("1812", "1813"),
        ("1.87 m", "1.95 m"),
        ("old brovik", "new tessam"),
        ("marvell", "oldra"),
    ],
)
def test_another_number_or_half_of_the_words_is_not_near(said, right):
    assert not near(said, {right})


def test_words_of_the_question_do_not_make_an_answer_near():
    said, right = "tessam river valley", {"oldra river valley"}
    assert near(said, right)
    assert not near(said, right, "which river valley is the longest?")


@settings(max_examples=30)
@given(WORDS)
def test_every_answer_has_the_words_of_itself_and_is_near_itself(words):
    text = " ".join(words)
    assert same_words(text, {text})
    assert near(text, {text})


def test_a_word_stands_in_a_text_whole_and_a_long_one_with_another_ending():
    assert stands_in("the two broviks met", "brovik")
    assert stands_in("the two broviks met", "2")
    assert stands_in("in the 11th year", "11")
    assert not stands_in("the brovikian sea", "brovik")
    assert begins_in("they met mysteriously", "mysterious")
    assert not begins_in("they went by night", "mysterious")
