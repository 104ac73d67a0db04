from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import unicodedata
from importlib.resources import files

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ruler_builder.tasks.randomness import distinct, rng
from ruler_builder.text import word_lists


def test_the_word_lists_are_the_pinned_ones() -> None:
    assert word_lists.DIGESTS["nounlist.txt"].startswith("8d88b3eb")  # wonderwords 3.0, not 2.2
    for name, digest in word_lists.DIGESTS.items():
        data = (files("wonderwords") / "assets" / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest


def test_the_vocabulary_is_sorted_single_words_each_once_whatever_its_case() -> None:
    vocabulary = word_lists.vocabulary()
    assert len(vocabulary) > 8000
    assert vocabulary == sorted(vocabulary)
    assert len({word.casefold() for word in vocabulary}) == len(vocabulary)
    assert all(word and not any(c.isspace() for c in word) for word in vocabulary)


def test_maximal_words_are_part_of_no_other_word() -> None:
    vocabulary = word_lists.vocabulary()
    lower = [word.casefold() for word in vocabulary]
    places = word_lists.maximal_places()
    assert len(places) > 5000
    for place in places[::100]:
        assert [i for i, word in enumerate(lower) if lower[place] in word] == [place]


@given(st.lists(st.text("abBﬀ", min_size=1, max_size=4), max_size=9))
def test_places_alone_are_those_of_words_that_no_other_has_in_it(words: list[str]) -> None:
    folded = [unicodedata.normalize("NFKC", word).casefold() for word in words]
    expected = [place for place, word in enumerate(folded) if sum(word in x for x in folded) == 1]
    assert word_lists.places_alone(words).tolist() == expected


def test_the_words_of_keys_are_letters_and_part_of_no_other_word() -> None:
    adjectives, nouns = word_lists.key_words()
    assert len(adjectives) > 500
    assert len(nouns) > 4000
    for part in (adjectives, nouns):
        assert len({word.casefold() for word in part}) == len(part)
        assert all(word.isalpha() for word in part)
    maximal = {word_lists.vocabulary()[place] for place in word_lists.maximal_places()}
    assert maximal.issuperset(adjectives + nouns)


def test_no_key_is_part_of_another() -> None:
    adjectives, nouns = word_lists.key_words()
    draw = rng("test")
    picked = [divmod(n, len(nouns)) for n in distinct(draw, len(adjectives) * len(nouns), 300)]
    keys = [f"{adjectives[a]}-{nouns[n]}".casefold() for a, n in picked]
    assert [sum(key in other for other in keys) for key in keys] == [1] * 300


def test_the_extension_is_what_its_digest_says() -> None:
    extension = word_lists.extension()
    assert hashlib.sha256("\n".join(extension).encode()).hexdigest() == word_lists.EXTENSION_DIGEST
    assert len(extension) > 100_000
    assert len(set(extension)) == len(extension)
    assert {word.casefold() for word in word_lists.vocabulary()}.isdisjoint(extension)
    assert all(word.isalpha() and word.islower() and len(word) >= 3 for word in extension)


def test_without_wordfreq_the_extension_is_refused_with_the_remedy() -> None:
    program = (
        "import sys\nsys.modules['wordfreq'] = None\n"  # as if it were not installed
        "from ruler_builder.text import word_lists\nfrom ruler_dataset import RulerError\n"
        "try:\n    word_lists.extension()\nexcept RulerError as error:\n    print(error)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "needs packages that are not installed" in found.stdout
    assert "pip install wordfreq==3.1.1" in found.stdout


LISTS = st.lists(st.text("abAB-ñ", min_size=1, max_size=6), max_size=30)


@given(LISTS, LISTS)
def test_holding_says_which_words_have_a_part_in_them(listed: list[str], parts: list[str]) -> None:
    expected = [any(part.casefold() in word.casefold() for part in parts) for word in listed]
    assert np.array_equal(
        word_lists.WordParts(listed).holding(parts), np.array(expected, dtype=bool)
    )


def test_the_manifest_names_the_lists_that_are_used() -> None:
    short, long = word_lists.digests(), word_lists.digests(extended=True)
    assert list(short.values()) == list(word_lists.DIGESTS.values())
    assert set(long) - set(short) == {"wordfreq 3.1.1 (en)"}
    assert long["wordfreq 3.1.1 (en)"] == word_lists.EXTENSION_DIGEST
