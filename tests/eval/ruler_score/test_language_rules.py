"""What scoring knows of each language: tags, "and", and the forms of the prompt's word for none."""

from __future__ import annotations

import random
import time
from pathlib import Path

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


MEANINGS = read_toml(Path(__file__).with_name("one_meaning.toml"))
MEANING_SCORES = {"none": 1, "not_found": 0, "do_not_know": 0, "something_else": 0}


def written(answer: str, language: str) -> list[str]:
    """Return an answer in the ways in which models and prompts decorate it."""
    tag = LANGUAGES[language].tags[0]
    bare = answer.rstrip(".。।")
    full_width = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in bare)
    around = ("{}", "{}.", "{}!", "{}。", '"{}"', "“{}”", "„{}“", "«{}»", "「{}」", "'{}'", "‹{}›.")
    marked = ("**{}**", "*{}*.", "`{}`", "({})", "- {}", "1. {}\n2. {}", "{}\n", "\\boxed{{{}}}")
    tags = (
        "{}<|eot_id|>",
        "{}</s>",
        "{}[/INST]",
        "\u2714\ufe0f {}",
        "{}\u2757\ufe0f",
        "{}<br/>",
        f"<{tag}>{{}}</{tag}>",
        f"&lt;{tag}&gt;{{}}&lt;/{tag}&gt;",
        "<answer> **{}** </answer>",
        f"{tag}: {{}}",
        "> {}",
    )
    texts = []
    for form in (*around, *marked, *tags):
        texts.append(form.format(bare, bare))
    return [*texts, bare.upper(), full_width, f"{full_width}．", f"\u200b{answer}\ufeff"]


def test_one_meaning_has_wordings_in_every_language():
    assert set(MEANINGS) == set(CODES)
    for meanings in MEANINGS.values():
        assert set(meanings) == set(MEANING_SCORES)
        assert [len(wordings) for wordings in meanings.values()] == [19, 3, 4, 3]


@EVERY
@pytest.mark.parametrize("meaning", MEANING_SCORES)
def test_one_meaning_has_one_score_in_all_languages(language, meaning):
    none = LANGUAGES[language].none[0]
    for wording in MEANINGS[language][meaning]:
        for text in (wording, *written(wording, language)):
            row = score_row(text, [none], "niah_none", language)
            assert row.score == MEANING_SCORES[meaning], text


@EVERY
def test_none_may_be_explained_in_another_sentence(language):
    none, negators = LANGUAGES[language].none[0], LANGUAGES[language].negators
    for other in MEANINGS[language]["something_else"]:
        for text in (f"{none}. {other}", f"{other}\n{none}", f"{other.rstrip('.。।')}: {none}"):
            assert score_row(text, [none], "niah_none", language).score == 1, text
        assert score_row(f"{none} — {other}", [none], "niah_none", language).score == 1
        for negator in negators:
            assert score_row(f"{negator}, {none}", [none], "niah_none", language).score == 1
            text = f"{negator}. {other}"
            assert score_row(text, [none], "niah_none", language).score == 0, text


@EVERY
def test_a_language_names_forms_of_none_each_with_its_source_or_meaning(language):
    none = language_facts(language).none
    assert len(none.forms) >= 5
    assert all(none.forms.values())
    assert none.introductions
    assert none.no_numbers.sentences
    assert none.no_numbers.numbers
    assert none.no_numbers.places
    assert none.negators or language == "ru"  # the prompt's word is the word for "no"


@EVERY
def test_every_form_counts_as_none_in_an_answer_without_digits(language):
    of = LANGUAGES[language]
    for form in (*of.none, *of.none_forms):
        for text in (form, f"<{of.tags[0]}> {form.upper()}. </{of.tags[0]}>", f"„{form}”"):
            assert score_row(text, [of.none[0]], "niah_none", language).score == 1, text
            assert rules.references_found(text, [of.none[0]], "niah_none", language) == [True]
        for text in (f"{form} 1234567", f"{form} (1)", f"{form}, 1", f"x{form}x"):
            assert score_row(text, [of.none[0]], "niah_none", language).score == 0, text


@EVERY
def test_a_numbered_none_is_none(language):
    none = LANGUAGES[language].none[0]
    numbered = (f"1. {none}", f"1. {none}\n2. {none}", f"1) {none}\n2) {none}", f"１．{none}")
    for text in (*numbered, f"① {none}\n②{none}", f"1\ufe0f\u20e3 {none}\n2\ufe0f\u20e3{none}"):
        assert score_row(text, [none], "niah_none", language).score == 1, text
    for text in (f"1. {none}\n2. 1234567", f"2 {none}", f"{none} 2."):
        assert score_row(text, [none], "niah_none", language).score == 0, text


@EVERY
def test_a_circled_number_is_not_part_of_the_number_or_word_beside_it(language):
    expected, words = ["1234567", "7654321"], table(language)["words"]
    keycaps = [f"{digit}\ufe0f\u20e3" for digit in range(1, 10)] + ["\U0001f51f"]
    for marks in ("①②③④⑤⑥⑦⑧⑨⑩", keycaps):
        answer = "\n".join(f"{mark}{number}" for mark, number in zip(marks, expected, strict=False))
        assert score_row(answer, expected, "niah_multivalue", language).score == 1, answer
        answer = " ".join(f"{mark}{word}" for mark, word in zip(marks, words, strict=True))
        assert score_row(answer, words, "cwe_easy", language).score == 1, answer
    for answer in ("1234567①, 7654321②", "1234567, ①7654322"):
        is_right = "22" not in answer
        assert score_row(answer, expected, "niah_multivalue", language).score == is_right, answer


@EVERY
def test_emoji_beside_words_are_not_part_of_them(language):
    words = table(language)["words"]
    for emoji in ("\u2714\ufe0f", "\u2764\ufe0f", "\U0001f600"):
        for answer in (", ".join(emoji + word for word in words), f"{emoji}\n".join(words)):
            assert score_row(answer, words, "cwe_easy", language).score == 1, answer


@EVERY
def test_none_beside_a_number_makes_the_number_wrong(language):
    for wording in (*LANGUAGES[language].none, *MEANINGS[language]["none"]):
        for text in (f"1234567 ({wording})", f"1234567, {wording}", f"{wording} 1234567"):
            assert score_row(text, ["1234567"], "niah_single", language).score == 0, text
    assert score_row("1234567", ["1234567"], "niah_single", language).score == 1


@EVERY
def test_a_statement_beside_the_numbers_does_not_say_none(language):
    for statement in MEANINGS[language]["something_else"]:
        answer = f"1234567. {statement}"
        assert score_row(answer, ["1234567"], "niah_single", language).score == 1, answer


def test_other_forms_of_none_do_not_make_an_answer_of_numbers_wrong():
    for language, text in (
        *(("en", "no others"), ("de", "keine weiteren"), ("hi", "और नहीं")),
        *(("ru", "других нет"), ("nl", "geen andere"), ("pl", "innych brak"), ("hu", "más nincs")),
    ):
        answer = f"1234567, {text}"
        assert score_row(answer, ["1234567"], "niah_single", language).score == 1


NO_BREAK, NARROW, THIN = "\u00a0", "\u202f", "\u2009"
SEPARATORS = {  # between thousands, by CLDR and by custom; the space between is a no-break one
    "cs": (NO_BREAK,),
    "da": (".",),
    "de": (".", "’", NO_BREAK),
    "en": (",",),
    "es": (".", ",", NO_BREAK),
    "fa": ("٬", "،", ","),
    "fi": (NO_BREAK,),
    "fr": (NARROW, NO_BREAK, "’"),
    "hi": (",",),
    "hu": (NO_BREAK, "."),
    "it": (".", "’"),
    "ja": (",", "，"),
    "ko": (",", "，"),
    "nl": (".",),
    "no": (NO_BREAK, "."),
    "pl": (NO_BREAK,),
    "pt": (".", NO_BREAK),
    "ru": (NO_BREAK,),
    "sr": (".",),
    "st": (NO_BREAK, ","),
    "sv": (NO_BREAK,),
    "sw": (",",),
    "ta": (",",),
    "uk": (NO_BREAK,),
    "vi": (".",),
    "zh": (",", "，"),
}
INDIAN = ("hi", "ta")  # also 12,34,567
NATIVE_DIGITS = {"fa": "۰۱۲۳۴۵۶۷۸۹", "hi": "०१२३४५६७८९", "ta": "௦௧௨௩௪௫௬௭௮௯"}


def grouped(separator: str, language: str) -> list[str]:
    """Return 1234567 and 7654321 in one answer, as the language may write them."""
    numbers = ["1234567", "7654321"]
    first, second = (separator.join((n[0], n[1:4], n[4:])) for n in numbers)
    answers = [f"{first}; {second}", f"{first}\n{second}", f"**{first}**, **{second}**"]
    answers += [f"1. {first}\n2. {second}", f"({first}) ({second})", f"“{first}”, “{second}”."]
    if language in INDIAN and separator in (",", "{,}"):
        answers.append(f"12{separator}34{separator}567; 76{separator}54{separator}321")
    if language in NATIVE_DIGITS:
        native = str.maketrans("0123456789", NATIVE_DIGITS[language])
        answers += [answer.translate(native) for answer in answers]
    return answers


@EVERY
def test_a_number_may_have_the_separators_of_the_language(language):
    for separator in (*SEPARATORS[language], " ", THIN, NARROW, "{,}", r"\,", "'"):
        for answer in grouped(separator, language):
            row = score_row(answer, ["1234567", "7654321"], "niah_multivalue", language)
            assert (row.score, row.found) == (1, 2), answer


@EVERY
@pytest.mark.parametrize("sign", ["№", "№ ", "nº ", "N.º ", "n° ", "#", "Nr. "])
def test_a_sign_for_number_is_not_the_word_no(language, sign):
    row = score_row(f"{sign}1234567", ["1234567"], "niah_single", language)
    assert row.score == 1
    none = LANGUAGES[language].none[0]
    assert score_row(f"{sign}1234567", [none], "niah_none", language).score == 0


@pytest.mark.parametrize(
    "separator",
    [
        *(r"{,}", r"\,", r"{\,}", r"\;", r"\:", r"\ ", "~", r"{ }", r"\thinspace ", r"\thinspace"),
        *(r",\!", r"\!,", r"{,}\!", r"{,\!}", r"\text{,}", r"\mathord{,}", r"\mathpunct{,}"),
        *(r"\text{ }", r"\enspace ", r"\hspace{0.1em}", "{.}", r".\!"),
        *("&nbsp;", "&thinsp;", "&#8239;", "&#x202f;", "&comma;", "&#44;"),
    ],
)
def test_a_number_may_have_the_separators_of_latex_and_html(separator):
    first, second = f"1{separator}234{separator}567", f"7{separator}654{separator}321"
    for answer in (f"${first}$, ${second}$", rf"\boxed{{{first}}} and \boxed{{{second}}}"):
        row = score_row(answer, ["1234567", "7654321"], "niah_multivalue", "en")
        assert row.score == 1, answer


@EVERY
def test_a_list_of_numbers_is_not_one_number(language):
    for separator in SEPARATORS[language]:
        for between in (", ", "; ", "، ", "、", "\n", f"{separator} "):
            answer = between.join(("1234567", "7654321"))
            expected = ["1234567", "7654321"]
            assert score_row(answer, expected, "niah_multivalue", language).score == 1, answer
    for text in (
        "1234567 7654321",
        "1234567,7654321",
        "1234567،7654321",
        "1234567~7654321",
        r"1234567,\!7654321",
    ):
        row = score_row(text, ["1234567", "7654321"], "niah_multivalue", language)
        assert row.score == 1, text


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
    pieces = [*words, *of.none, *of.none_forms, *of.conjunctions, *of.introductions]
    pieces += [f"<{of.tags[0]}>", f"</{of.tags[0]}>", "<", "<a>", "</a>", ",", ":", "1", " ", "\n"]
    rng = random.Random(language)
    texts = ["".join(rng.choices(pieces, k=2000)), *(piece * 2000 for piece in pieces)]
    begun = time.process_time()
    for text in texts:
        score_row(text, words, "cwe_easy", language)
        score_row(text, [of.none[0]], "niah_none", language)
    assert (time.process_time() - begun) / len(texts) < 0.2
