"""The draws of a key follow docs/draws.md, and are fair, distinct and of the right form."""

from __future__ import annotations

import hashlib
import re
import string
import uuid
from collections import Counter
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_builder.tasks.draws import Draws, Stream, all_but, letters, numbers, uuids
from tests.project import ROOT

LETTERS = st.characters(min_codepoint=32, exclude_categories=["Cs"])
PARTS = st.integers(-(10**6), 10**6) | st.text(LETTERS, max_size=8)
KEYS = st.lists(PARTS, min_size=1, max_size=5)
SEEDS = st.integers(0, 2**32)
KEY = ("1.0.0", 0, "ruler", "vt", 17, "ask")


# ---- The draws as docs/draws.md defines them, word by word and without NumPy ---------------------


def words_of(*key):
    """Yield the 64-bit words of a stream."""
    text = "\x1f".join(map(str, key)).encode()
    for number in range(10**6):
        data = hashlib.shake_128(text).digest(8 * number + 8)[-8:]
        yield int.from_bytes(data, "little")


def fair_integers(below, words):
    for word in words:
        if word < 2**64 - 2**64 % below:
            yield word % below


def permutation_of(count, words):
    drawn = list(islice(words, count))
    return sorted(range(count), key=lambda place: drawn[place])


def distinct_of(below, count, words):
    if 2 * count > below:
        return permutation_of(below, words)[:count]
    drawn = {}
    integers = fair_integers(below, words)
    while len(drawn) < count:
        drawn[next(integers)] = True
    return list(drawn)


@given(KEYS, st.integers(0, 5), st.integers(1, 2**63), st.integers(0, 30))
def test_integers_are_the_fair_words_modulo_their_limit(key, calls, below, count):
    draws = Draws(*key)
    for _ in range(calls):
        draws.floats(1)
    expected = list(islice(fair_integers(below, words_of(*key, calls)), count))
    assert draws.integers(below, count).tolist() == expected


def test_unfair_words_are_left_out():
    below = 2**62 + 2**61  # a quarter of all words is unfair
    words = [*islice(words_of("unfair", 0), 200)]
    assert any(word >= 2 * below for word in words)
    fair = [word % below for word in words if word < 2 * below]
    assert Draws("unfair").integers(below, len(fair)).tolist() == fair


@given(KEYS, st.integers(0, 40))
def test_floats_are_the_upper_53_bits_of_the_words(key, count):
    expected = [(word >> 11) / 2**53 for word in islice(words_of(*key, 0), count)]
    assert Draws(*key).floats(count).tolist() == expected


@given(KEYS, st.integers(0, 60))
def test_a_permutation_sorts_places_by_their_words(key, count):
    assert Draws(*key).permutation(count).tolist() == permutation_of(count, words_of(*key, 0))


def test_equal_words_keep_the_order_of_their_places(monkeypatch):
    words = np.array([7, 3, 7, 3, 0], dtype=np.uint64)
    monkeypatch.setattr(Stream, "words", lambda self, count: words[:count])
    assert Draws("ties").permutation(5).tolist() == [4, 1, 3, 0, 2]
    many = np.arange(1000, dtype="<u8") % 7
    monkeypatch.setattr(Stream, "words", lambda self, count: many)
    assert Draws("ties").permutation(1000).tolist() == permutation_of(1000, many.tolist())


@given(KEYS, st.integers(1, 60), st.data())
def test_distinct_integers_are_a_permutation_or_the_first_different_ones(key, below, data):
    count = data.draw(st.integers(0, below))
    assert Draws(*key).distinct(below, count).tolist() == distinct_of(
        below, count, words_of(*key, 0)
    )


def test_the_examples_of_the_documentation_are_right(capsys):
    text = (ROOT / "docs" / "draws.md").read_text(encoding="utf-8")
    draws = Draws(*KEY)
    calls = [
        ("integers(1000, 4)", draws.integers(1000, 4)),
        ("distinct(90000, 3)", draws.distinct(90_000, 3)),
        ("permutation(8)", draws.permutation(8)),
        ("floats(1)", draws.floats(1)),
    ]
    for number, (name, drawn) in enumerate(calls):
        (stream, result) = re.search(
            rf"^\| `{re.escape(name)}` \|(.*)\|(.*)\|$", text, re.M
        ).groups()
        assert result.strip() == ", ".join(map(str, drawn.tolist()))
        words = [int(word) for word in re.findall(r"\d{10,}", stream)]
        assert words == list(islice(words_of(*KEY, number), len(words)))
    (program,) = re.findall(r"```python\n(.*?)```", text, re.S)
    exec(program, {})
    printed, comment = capsys.readouterr().out.strip(), program.strip().rpartition("# ")[2]
    assert printed == comment


# ---- What the draws are used for -----------------------------------------------------------------


@given(KEYS, KEYS)
def test_different_keys_and_calls_give_different_draws(a, b):
    first, second = Draws(*a), Draws(*b)
    if [str(part) for part in a] != [str(part) for part in b]:
        assert first.integers(2**62, 1) != second.integers(2**62, 1)
    assert first.integers(2**62, 1) != first.integers(2**62, 1)


@given(SEEDS, st.integers(1, 10**7), st.data())
def test_distinct_integers_differ_and_lie_below_the_limit(seed, below, data):
    count = data.draw(st.integers(0, min(below, 200)))
    drawn = Draws(seed).distinct(below, count).tolist()
    assert len(set(drawn)) == len(drawn) == count
    assert all(0 <= n < below for n in drawn)


@pytest.mark.parametrize("count", [3, 5, 6, 10])
def test_every_integer_and_every_place_is_equally_likely(count):
    samples = [Draws(seed).distinct(10, count).tolist() for seed in range(2000)]
    for place in range(count):
        times = Counter(sample[place] for sample in samples)
        assert all(140 <= times[number] <= 260 for number in range(10))  # 200 ± 4.5 sigma


def test_more_integers_than_there_are_is_refused():
    with pytest.raises(ValueError, match="only 5 integers"):
        Draws("few").distinct(5, 6)


def test_integers_below_nothing_are_refused():
    with pytest.raises(ValueError, match="below 1 to"):
        Draws("none").integers(0, 1)


@given(KEYS, st.lists(st.integers(), max_size=20))
def test_shuffled_items_are_the_same_items(key, items):
    assert sorted(Draws(*key).shuffled(np.array(items, dtype=object)).tolist()) == sorted(items)


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
    drawn = numbers(Draws(seed), digits, count, taken)
    assert len(set(drawn)) == len(drawn) == count
    assert all(len(number) == digits and number.isdecimal() for number in drawn)
    assert all(number[0] != "0" for number in drawn)
    assert taken.isdisjoint(drawn)


def test_numbers_can_use_up_every_number_of_their_length():
    taken = {str(n) for n in range(10, 50)}
    assert sorted(numbers(Draws(1), 2, 50, taken)) == [str(n) for n in range(50, 100)]


@given(SEEDS, st.integers(0, 40))
def test_uuids_are_of_version_4_and_differ(seed, count):
    drawn = uuids(Draws(seed), count)
    assert len(set(drawn)) == len(drawn) == count
    for text in drawn:
        read = uuid.UUID(text)
        assert (read.version, read.variant, str(read)) == (4, uuid.RFC_4122, text)


@given(SEEDS, st.integers(1, 6), st.integers(0, 26))
def test_letters_have_their_length_and_alphabet_and_differ(seed, length, count):
    drawn = letters(Draws(seed), length, count, string.ascii_uppercase)
    assert len(set(drawn)) == len(drawn) == count
    assert all(len(word) == length for word in drawn)
    assert set("".join(drawn)) <= set(string.ascii_uppercase)


def test_letters_can_give_every_string_there_is():
    assert sorted(letters(Draws(2), 2, 9, "abc")) == [a + b for a in "abc" for b in "abc"]
