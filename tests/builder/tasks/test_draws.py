"""The random draws of a key are frozen, distinct and of the right form."""

from __future__ import annotations

import string
import uuid

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ruler_builder.tasks.base import all_but, distinct, letters, numbers, rng, uuids

LETTERS = st.characters(min_codepoint=32, exclude_categories=["Cs"])
PARTS = st.integers(-(10**6), 10**6) | st.text(LETTERS, max_size=8)
KEYS = st.lists(PARTS, min_size=1, max_size=5)
SEEDS = st.integers(0, 2**32)


def test_the_draws_of_a_key_are_frozen():
    assert rng("1.0.0", 0, "ruler", "vt", 17, "ask").integers(10**9, size=3).tolist() == [
        56146982,
        211251695,
        152646055,
    ]


@given(KEYS)
def test_equal_keys_give_equal_draws_whatever_was_drawn_before(key):
    expected = rng(*key).integers(2**62, size=4)
    np.random.default_rng(0).random(10)
    rng("another", *key).random(10)
    assert np.array_equal(rng(*key).integers(2**62, size=4), expected)


@given(KEYS, KEYS)
def test_different_keys_give_different_draws(a, b):
    if [str(part) for part in a] != [str(part) for part in b]:
        assert rng(*a).integers(2**62) != rng(*b).integers(2**62)


@given(SEEDS, st.integers(1, 10**7), st.data())
def test_distinct_integers_differ_and_lie_below_the_population(seed, population, data):
    count = data.draw(st.integers(0, min(population, 200)))
    drawn = distinct(rng(seed), population, count)
    assert len(set(drawn)) == len(drawn) == count
    assert all(0 <= n < population for n in drawn)


def test_distinct_integers_come_in_random_order():
    places = [distinct(rng(seed), 10, 10).index(0) for seed in range(400)]
    assert all(20 <= places.count(place) <= 65 for place in range(10))


@given(st.integers(1, 60), st.data())
def test_all_but_returns_the_remaining_integers_in_order(population, data):
    taken = data.draw(st.lists(st.integers(0, population - 1)))
    expected = [n for n in range(population) if n not in taken]
    assert all_but(population, taken).tolist() == expected
    assert all_but(population, np.array(taken, dtype=int)).tolist() == expected


@given(SEEDS, st.integers(1, 7), st.data())
def test_numbers_have_their_digits_differ_and_avoid_what_is_taken(seed, digits, data):
    low, high = 10 ** (digits - 1), 10**digits
    taken = set(
        map(str, data.draw(st.sets(st.integers(low, high - 1), max_size=(high - low) // 3)))
    )
    count = data.draw(st.integers(0, min(50, high - low - len(taken))))
    drawn = numbers(rng(seed), digits, count, taken)
    assert len(set(drawn)) == len(drawn) == count
    assert all(len(number) == digits and number.isdecimal() for number in drawn)
    assert all(number[0] != "0" for number in drawn)
    assert taken.isdisjoint(drawn)


def test_numbers_can_use_up_every_number_of_their_length():
    taken = {str(n) for n in range(10, 50)}
    assert sorted(numbers(rng(1), 2, 50, taken)) == [str(n) for n in range(50, 100)]


@given(SEEDS, st.integers(0, 40))
def test_uuids_are_of_version_4_and_differ(seed, count):
    drawn = uuids(rng(seed), count)
    assert len(set(drawn)) == len(drawn) == count
    for text in drawn:
        read = uuid.UUID(text)
        assert (read.version, read.variant, str(read)) == (4, uuid.RFC_4122, text)


@given(SEEDS, st.integers(1, 6), st.integers(0, 26))
def test_letters_have_their_length_and_alphabet_and_differ(seed, length, count):
    drawn = letters(rng(seed), length, count, string.ascii_uppercase)
    assert len(set(drawn)) == len(drawn) == count
    assert all(len(word) == length for word in drawn)
    assert set("".join(drawn)) <= set(string.ascii_uppercase)


def test_letters_can_give_every_string_there_is():
    assert sorted(letters(rng(2), 2, 9, "abc")) == [a + b for a in "abc" for b in "abc"]
