"""What scoring knows of each language: tags, "and", and the forms of the prompt's word for none."""

from __future__ import annotations

import random
import time

import pytest

from docs import embed_languages
from ruler_common.errors import RulerError
from ruler_common.files import read_toml
from ruler_common.languages import BUILDER_FIELDS, language_facts, read_facts
from ruler_common.names import LANGUAGES as CODES
from ruler_score import ruler_score as rules
from ruler_score.language_text import normalize
from ruler_score.ruler_score import LANGUAGES, score_row
from tests.eval.ruler_score.test_oneruler_cases import table

EVERY = pytest.mark.parametrize("language", CODES)


def listings(language: str, words: list[str]) -> list[str]:
    """Return ten words as models write them: after a lead-in, and with the number of times."""
    tag = LANGUAGES[language].tags[0]
    lead_in, times = table(language)["lead_in"], table(language)["times"]
    listed = ("、" if language in ("ja", "zh") else ", ").join(words)
    in_front = [f"{lead_in} ", f"{lead_in}\n", f"{tag}: ", f"Answer: {lead_in} "]
    behind = [" x30", " (30x)", " ×30", ": 30", f" ({times})", f" - {times}", f": {times}"]
    numbered = [
        "\n".join(f"{i}. {word}{count}" for i, word in enumerate(words, 1)) for count in behind
    ]
    answers = [*(front + listed for front in in_front), *numbered, f"{lead_in}\n\n{numbered[0]}"]
    return [*answers, *(f"<{tag}>{answer}</{tag}>" for answer in answers)]


@EVERY
def test_ten_words_behind_a_lead_in_or_with_counts_are_right(language):
    words = table(language)["words"]
    for text in listings(language, words):
        row = score_row(text, words, "cwe_easy", language)
        assert (row.score, row.found) == (1, 10), text
        assert all(rules.references_found(text, words, "cwe_easy", language)), text


@EVERY
def test_a_wrong_word_behind_a_lead_in_or_with_a_count_stays_wrong(language):
    words = table(language)["words"]
    for text in listings(language, [*words[:9], "grzyb"]):
        row = score_row(text, words, "cwe_easy", language)
        assert (row.score, row.found) == (0, 9), text
    for text in (*listings(language, [*words, "grzyb"]), *listings(language, ["grzyb", *words])):
        assert score_row(text, words, "cwe_easy", language).score == 0, text


@EVERY
def test_a_language_has_two_to_eight_forms_of_none_each_with_a_source(language):
    none = language_facts(language).none
    assert 2 <= len({*none.prompt, *none.forms}) <= 8
    assert all(none.forms.values())
    forms = [normalize(form, language) for form in (*none.prompt, *none.forms)]
    for exception in none.exceptions:
        letters = normalize(exception, language)
        assert any(form[0] in letters for form in forms), exception


@EVERY
def test_every_form_counts_as_none_in_an_answer_without_digits(language):
    of = LANGUAGES[language]
    for form in (*of.none, *of.none_forms):
        for text in (form, f"<{of.tags[0]}> {form.upper()}. </{of.tags[0]}>", f"„{form}”"):
            assert score_row(text, [of.none[0]], "niah_none", language).score == 1, text
            assert rules.references_found(text, [of.none[0]], "niah_none", language) == [True]
        for text in (f"{form} 1234567", f"{form} (1)", f"1. {form}", f"x{form}x"):
            assert score_row(text, [of.none[0]], "niah_none", language).score == 0, text


@EVERY
def test_an_exception_does_not_say_none(language):
    for exception in LANGUAGES[language].none_exceptions:
        assert score_row(exception, ["none"], "niah_none", language).score == 0, exception


@EVERY
def test_only_the_prompts_word_for_none_makes_an_answer_of_numbers_wrong(language):
    of = LANGUAGES[language]
    for word in of.none:
        assert score_row(f"1234567 ({word})", ["1234567"], "niah_single", language).score == 0
    assert score_row("1234567", ["1234567"], "niah_single", language).score == 1


def test_other_forms_of_none_do_not_make_an_answer_of_numbers_wrong():
    for language, text in (("en", "no others"), ("de", "keine weiteren"), ("hi", "और नहीं")):
        answer = f"1234567, {text}"
        assert score_row(answer, ["1234567"], "niah_single", language).score == 1


def test_serbian_tags_in_cyrillic_and_in_other_brackets_are_tags():
    for text in ("‹Одговор> 1234567 ‹/Одговор>", "77 <Одговор>1234567</Одговор> 88"):
        assert score_row(text, ["1234567"], "niah_single", "sr").score == 1


def test_the_metric_holds_the_facts_of_today():
    """If this fails: python -m docs.embed_languages."""
    assert embed_languages.MODULE.read_text(encoding="utf-8") == embed_languages.module()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"nonsense": 1}, "nonsense is unknown"),
        ({"answer_tags": [1]}, "answer_tags.0 should be a valid string"),
        ({"answer_tags": []}, "answer_tags, none.prompt or .* is empty"),
        ({"none": {}}, "none.prompt the field is required"),
    ],
)
def test_facts_of_another_form_are_refused_in_one_sentence(change, why):
    path = embed_languages.FOLDER / "pl.toml"
    table = read_toml(path)
    facts = {name: value for name, value in table.items() if name not in BUILDER_FIELDS}
    with pytest.raises(RulerError, match=why):
        read_facts({**facts, **change}, path)


def test_equal_letters_apply_only_in_their_language():
    assert normalize("ЁЛКА ёлка", "ru") == "елка елка"
    assert normalize("ёлка", "uk") == normalize("ёлка") == "ёлка"
    assert normalize("HİÇBİRİ IŞIK", "en") == "hi\u0307çbi\u0307ri\u0307 işik"
    assert normalize("Straße", "de") == normalize("STRASSE", "de")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_answer_takes_long(language):
    """Long answers of the pieces that the rules look for, in time linear in them."""
    of, words = LANGUAGES[language], table(language)["words"]
    pieces = [*words, *of.none, *of.none_forms, *of.conjunctions, *of.none_exceptions]
    pieces += [f"<{of.tags[0]}>", f"</{of.tags[0]}>", "<", "<a>", "</a>", ",", ":", "1", " ", "\n"]
    rng = random.Random(language)
    texts = ["".join(rng.choices(pieces, k=2000)), *(piece * 2000 for piece in pieces)]
    begun = time.process_time()
    for text in texts:
        score_row(text, words, "cwe_easy", language)
        score_row(text, [of.none[0]], "niah_none", language)
    assert (time.process_time() - begun) / len(texts) < 0.2
