"""Texts are split into sentences in every language."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_builder.text.sentences import sentence_starts, split
from ruler_common.languages import language_facts

# White space is folded as in EssayHaystack: sentencex 1.0.32 panics on a bare U+0085
SENTENCES = st.lists(
    st.sampled_from(
        [
            "The grass is green.",
            "Is it?",
            'She said "no."',
            "An unbalanced “quotation here.",
            "Dr. Smith (of St. Ives) paid $3.50 on Jan. 5.",
            "¿Qué? 日本語のテキスト。",
            "e.g. this... and that!",
            "…" * 30,
            "word " * 400,
        ]
    )
    | st.text(max_size=30),
    max_size=60,
).map(lambda parts: " ".join(" ".join(parts).split()))


def sentences(text: str) -> list[str]:
    starts = sentence_starts(text, "en")
    return [text[a:b] for a, b in pairwise([*starts, len(text)])]


@given(SENTENCES)
def test_starts_ascend_from_zero_are_unique_and_in_range(text):
    starts = list(sentence_starts(text, "en"))
    assert starts[0] == 0
    assert all(a < b for a, b in pairwise(starts))
    assert starts[-1] < max(1, len(text))


@given(SENTENCES)
def test_the_sentences_joined_give_the_text_back(text):
    assert "".join(sentences(text)) == text


def test_english_sentences_are_split():
    parts = sentences("The grass is green. Is the sky blue? Dr. Smith says so! Here we go.")
    assert [part.strip() for part in parts] == [
        "The grass is green.",
        "Is the sky blue?",
        "Dr. Smith says so!",
        "Here we go.",
    ]


@pytest.mark.parametrize("quote", ['"', "“", "‘", "(", "«"])
def test_a_quotation_that_never_ends_does_not_swallow_a_long_text(quote):
    line = "The grass is green and the sky above it is blue. "
    text = line + quote + line * 400
    result = sentences(text)
    assert len(result) > 395
    assert max(map(len, result)) < 150


@pytest.mark.parametrize(("opening", "closing"), [('"', '"'), ("“", "”"), ("(", ")")])
def test_a_quotation_that_fills_the_window_is_split(opening, closing):
    line = "The grass is green and the sky above it is blue. "
    quoted = f"{opening}{line * 30}{'x' * 27}{closing}"  # 1499 characters
    result = sentences(f"{quoted} {line * 40}")
    assert len(result) >= 70
    assert max(map(len, result)) < 150


def test_a_text_longer_than_the_window_splits_as_short_texts_do():
    line = "The grass is green. The sky is blue. "
    assert {part.strip() for part in sentences(line * 500)} == set(
        line.strip().replace(". ", ".|").split("|")
    )


# ---- Sentences of languages ----------------------------------------------------------------------


@given(SENTENCES)
def test_split_sentences_joined_by_a_space_give_the_text_back(text):
    result = list(split(text, "en"))
    assert " ".join(result) == text.strip()
    assert all(part == part.strip() != "" for part in result)


@given(SENTENCES)
def test_split_sentences_joined_by_nothing_give_all_but_spaces_back(text):
    result = list(split(text, "ja", language_facts("ja").sentences))
    assert "".join(result).replace(" ", "") == text.replace(" ", "")
    for before, _ in pairwise(result):
        assert not before[-1].isalnum() or before + " " in text


@pytest.mark.parametrize(
    ("code", "text"),
    [
        # a sentence starts after a space, with its quotation mark
        ("de", "Er ging.| »Nun komm.«| Sie kam."),
        ("nl", "Half tien.| 's Avonds kwam hij."),
        ("hu", "Ach!…| Nem tudom.| Jó."),
        ("en", "One.Two is 3.14 here.| Three."),
        ("hi", "यह एक है।| वह दो है।| बस।"),
        # in scripts without capitals a verb that reports speech stays with it
        ("hi", "वह आई।| ‘चलो।’ कह कर वह गई।"),
        ("hi", "‘चलो।’|\nवह गई।"),
        ("ta", "“வா!” என்றார்.| அவன் வந்தான்."),
        ("ta", "வா! என்றார் ஒருவர்."),
        ("ta", "அவன் வந்தான்.| என்றாலும் போனான்."),
        ("ko", '그가, " 가자. " 하고 갔다.| 비가 왔다.'),
        ("de", "Er rief: »Komm!«| Sie kam."),
        # without spaces a sentence starts after its stop
        ("zh", "他说：“好。”|她走了。|第3.5章。"),
        ("ja", "「行。」|「好。」|完。"),
        ("zh", "走了。| 一 又来了！"),
        # no sentence starts after an initial or in lower case
        ("fr", "Il vit M. Géborand venir.| Il rit."),
        ("sv", "»Nu kommer!» ropade flickan.| Mannen gick."),
        ("es", "Lo dijo B. Pérez ayer.| Calló."),
        ("sr", "Рекао је и т.д. појам.| Оде."),
        # nor with what belongs to the one before
        ("ru", "«Ах!»| — Как понимать? — сердито крикнул отец.| Он встал."),
        ("pl", "Jest! – rozległo się z dołu.| – Idę.| Tak."),
        ("es", "-¡Claro está! -respondió Trifaldín-.| Calló."),
        ("ru", "Вы говорите. ] Ну, здравствуйте.| Она молчала."),
        ("fr", "Il dit : « Va ! »| Il part."),
        ("da", "Staalskiven vendte. ...| Gutten kom."),
        ("pt", "É a minha dor. 122.| Tudo é nada.| Durmo."),
        ("hi", "वह नहीं जानता। 2.| फौज होनी चाहिए।| बस।"),
        ("fr", "Il jardine.| « La société » le dit.| 1812 commence."),
        ("de", "Er ging.| – Nun komm.| »Ja.«| Sie kam."),
    ],
)
def test_sentences_end_by_the_rules_of_their_language(code, text):
    parts = [part.strip() for part in text.split("|")]
    assert list(split(text.replace("|", ""), code, language_facts(code).sentences)) == parts


def test_a_text_without_sentence_ends_is_split():
    text = " ".join(f"a{n} is the letter of the {n}th word. it goes on." for n in range(200))
    result = list(split(text, "en"))
    assert " ".join(result) == text
    assert max(map(len, result)) < 3200
