"""The kinds of error in each of ONERULER's 26 languages, on rows and answers in their own words."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruler_common.files import read_toml
from ruler_eval.analysis.errors import Error, error_of
from ruler_eval.prediction import Prediction
from ruler_eval.score.rows import ScoringRules, row_score
from ruler_score.ruler_score import ANSWER_TAGS

FOLDER = Path(__file__).parents[1] / "ruler_score/oneruler_cases"
LANGUAGES = pytest.mark.parametrize("language", sorted(ANSWER_TAGS))
TABLES = {language: read_toml(FOLDER / f"{language}.toml") for language in ANSWER_TAGS}
VALUES = ["1234567", "2222222", "3333333", "4444444"]
FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")
RARE = "xq{}"  # no word of any language


def tagged(language, text):
    return f"<{ANSWER_TAGS[language]}> {text} </{ANSWER_TAGS[language]}>"


def niah(language, outputs, gold):
    """A row with four needles, the first `gold` of which carry a reference."""
    words, none = TABLES[language]["words"], TABLES[language]["none"]
    filler = " ".join(words) + "."
    needles = [f'"{word}": {value}.' for word, value in zip(words, VALUES, strict=False)]
    head, units = f"{filler}\n", [filler]
    for needle in needles:
        units += [needle, filler]
    context = " ".join(units)
    evidence = []
    for place, needle in enumerate(needles):
        start = context.index(needle)
        span = {"start": len(head) + start, "end": len(head) + start + len(needle)}
        evidence.append({**span, "depth": start / len(context), "answer": place < gold})
    return {
        "input": f"{head}{context}\n?",
        "outputs": outputs or [none],
        "context_start": len(head),
        "context_end": len(head) + len(context),
        "evidence": evidence,
        "none_word": none,
    }


def cwe(language):
    """A row with the ten words of the language twice among rare ones."""
    words = TABLES[language]["words"]
    listed = [RARE.format(letter) for letter in "abcdef"] + words * 2
    context = " ".join(f"{i}. {word}" for i, word in enumerate(listed, 1))
    place = {"context_start": 2, "context_end": 2 + len(context)}
    return {"input": f". {context}", "outputs": words, "evidence": [], "none_word": "", **place}


def error(row, task, language, text):
    scored = row_score(row, Prediction("c", 0, text), task, language, ScoringRules())
    return error_of(scored, task, language)


@LANGUAGES
def test_answers_to_one_needle(language):
    row, none = niah(language, VALUES[:1], gold=1), TABLES[language]["none"]

    def kind(text, inside=True):
        row_error = error(row, "niah_single", language, tagged(language, text) if inside else text)
        return row_error and row_error.kind

    assert kind(VALUES[0]) is None
    assert kind(none) == "refused"
    assert kind(none, inside=False) == "refused"
    assert kind(TABLES[language]["niah_none"]["right_in_a_sentence"][0], False) == "refused"
    assert kind(VALUES[1]) == kind(VALUES[1].translate(FULL_WIDTH)) == "distractor"
    assert kind(f"{VALUES[0]}, {VALUES[1]}") == "wrong count"
    assert kind(f"{VALUES[0]}, {none}") == "wrong count"
    assert kind("9999999") == "wrong words"
    assert kind("") == kind(".") == "empty"
    assert kind(f"{VALUES[0]}\n{tagged(language, '?!a')}", inside=False) == "other"
    assert kind(TABLES[language]["niah_none"]["inside_a_word"][0], False) != "refused"


@LANGUAGES
def test_a_part_of_several_needles(language):
    row, none = niah(language, VALUES, gold=4), TABLES[language]["none"]

    def error_for(text):
        return error(row, "niah_multivalue", language, tagged(language, text))

    assert error_for(", ".join(VALUES[:3])) == Error("incomplete", 3, 4)
    assert error_for(f"{VALUES[0]}, {VALUES[0]}, {VALUES[1]}") == Error("incomplete", 2, 4)
    assert error_for(f"{VALUES[0]}, {none}") == Error("incomplete", 1, 4)
    assert error_for(none) == Error("refused", 0, 4)
    assert error_for(" ".join([*VALUES, "55"])) == Error("wrong count", 4, 4)


@LANGUAGES
def test_a_number_in_place_of_none(language):
    row, none = niah(language, None, gold=0), TABLES[language]["none"]

    def kind(text):
        row_error = error(row, "niah_none", language, tagged(language, text))
        return row_error and row_error.kind

    assert kind(none) is None
    assert kind(VALUES[1]) == kind(f"{none}, {VALUES[1]}") == "distractor"
    assert kind("9999999") == "wrong words"
    assert kind(f"{none} 9999999") == kind(f"{none}: 9999999, 9999999") == "wrong count"
    assert kind("none" if language != "en" else "Keine vorhanden") == "another language"
    assert kind("") == "empty"


@LANGUAGES
def test_lists_of_words(language):
    row, words = cwe(language), TABLES[language]["words"]

    def error_for(items):
        return error(row, "cwe_hard", language, tagged(language, ", ".join(items)))

    assert error_for(words) is None
    assert error_for([*words[:8], RARE.format("a"), RARE.format("c")]) == Error("incomplete", 8, 10)
    assert error_for(words[:7]) == Error("incomplete", 7, 10)
    assert error_for([*words[:3], *words[:3]]) == Error("incomplete", 3, 10)
    assert error_for([*words, RARE.format("a")]) == Error("wrong count", 10, 10)
    assert error_for([*(RARE.format(letter) for letter in "abcdef"), *words[:3]]) == Error(
        "incomplete", 3, 10
    )
    assert error_for([]).kind == "empty"


@pytest.mark.parametrize("language", ["fa", "hi", "ja", "ko", "ru", "sr", "ta", "uk", "zh"])
def test_words_of_another_script_are_in_another_language(language):
    latin = ["voda", "vatra", "planina", "kuća", "ptica", "kamen", "noć", "hleb", "more", "ruka"]
    row_error = error(cwe(language), "cwe_easy", language, tagged(language, ", ".join(latin)))
    assert row_error == Error("another language", 0, 10)


@pytest.mark.parametrize(
    ("language", "listed"),
    [
        ("ja", "①{} ②{} ③{}と{}"),
        ("zh", "1、{}\n2、{}\n3、{}和{}。"),
        ("ko", "① {} ② {} ③ {}와 {}"),
        ("fa", "۱. {} ۲. {} ۳. {} و {}"),
        ("hi", "१. {}\n२. {}\n३. {} और {}।"),
        ("ta", "௧. {} ௨. {} ௩. {} மற்றும் {}"),
    ],
)
def test_right_words_in_the_languages_own_list_are_counted(language, listed):
    words = TABLES[language]["words"]
    chosen = [word for word in words if word in ("바다", "손")] or words[:2]
    text = listed.format(*words[2:4], *chosen)
    row_error = error(cwe(language), "cwe_easy", language, tagged(language, text))
    assert row_error == Error("incomplete", 4, 10)
