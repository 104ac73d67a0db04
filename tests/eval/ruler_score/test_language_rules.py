"""What scoring knows of each language: lead-ins, counts and ways to say that there is none."""

from __future__ import annotations

import json
import re

import pytest

from docs import embed_languages
from ruler_common.errors import RulerError
from ruler_common.languages import language_facts, read_facts
from ruler_common.names import LANGUAGES as CODES
from ruler_common.parsing import read_toml
from ruler_score import ruler_score as rules
from ruler_score.language_text import normalize, says_none
from ruler_score.oneruler_rules import _lead_in_end
from ruler_score.ruler_score import LANGUAGES, score_row
from tests.eval.ruler_score.test_oneruler_cases import table

EVERY = pytest.mark.parametrize("language", CODES)
LEAD_INS = {
    "cs": "10 nejčastějších slov je:", "da": "De 10 mest almindelige ord er:",
    "de": "Die 10 häufigsten Wörter sind:", "en": "The 10 most common words are:",
    "es": "Las 10 palabras más comunes son:", "fa": "۱۰ کلمه رایج عبارتند از:",
    "fi": "10 yleisintä sanaa ovat:", "fr": "Les 10 mots les plus courants sont :",
    "hi": "10 सबसे सामान्य शब्द हैं:", "hu": "A 10 leggyakoribb szó:",
    "it": "Le 10 parole più ricorrenti sono:", "ja": "最も出現頻度が高い単語10個は:",
    "ko": "가장 많이 등장한 단어 10개는 다음과 같습니다:",
    "nl": "De 10 meest voorkomende woorden zijn:", "no": "De 10 vanligste ordene er:",
    "pl": "10 słów, które najczęściej występują:", "pt": "As 10 palavras mais comuns são:",
    "ru": "10 слов, которые встречаются чаще всего:", "sr": "10 najčešćih reči su:",
    "st": "Mantsoe a leshome a atileng haholo ke:", "sv": "De 10 vanligaste orden är:",
    "sw": "Maneno 10 yanayoonekana mara nyingi zaidi ni:",
    "ta": "அதிகம் காணப்படும் 10 சொற்கள்:", "uk": "10 слів, які зустрічаються найчастіше:",
    "vi": "10 từ phổ biến nhất là:", "zh": "最常出现的十个词语是：",
}  # fmt: skip
TIMES = {
    "cs": "30krát", "da": "30 gange", "de": "30 Mal", "en": "appears 30 times", "es": "30 veces",
    "fa": "۳۰ بار", "fi": "30 kertaa", "fr": "30 fois", "hi": "30 बार", "hu": "30 alkalommal",
    "it": "30 volte", "ja": "30回", "ko": "30번", "nl": "30 keer", "no": "30 ganger",
    "pl": "30 razy", "pt": "30 vezes", "ru": "30 раз", "sr": "30 puta", "st": "makhetlo a 30",
    "sv": "30 gånger", "sw": "mara 30", "ta": "30 முறை", "uk": "30 разів", "vi": "30 lần",
    "zh": "出现30次",
}  # fmt: skip


def listings(language: str, words: list[str]) -> list[str]:
    """Ten words as models write them: behind a lead-in, and with the number of times."""
    tag, times = LANGUAGES[language].tags[0], TIMES[language]
    listed = ("、" if language in ("ja", "zh") else ", ").join(words)
    lead_in = LEAD_INS[language]
    in_front = [f"{lead_in} ", f"{lead_in}\n", f"{tag}: ", f"Answer: {lead_in} "]
    behind = [" x30", " (30x)", " ×30", ": 30", f" ({times})", f" - {times}", f": {times}"]
    numbered = [
        "\n".join(f"{i}. {word}{count}" for i, word in enumerate(words, 1)) for count in behind
    ]
    said = [*(front + listed for front in in_front), *numbered, f"{lead_in}\n\n{numbered[0]}"]
    return [*said, *(f"<{tag}>{one}</{tag}>" for one in said)]


@EVERY
def test_ten_words_behind_a_lead_in_or_with_counts_are_right(language):
    words = table(language)["words"]
    for said in listings(language, words):
        row = score_row(said, words, "cwe_easy", language)
        assert (row.score, row.found) == (1, 10), said
        assert all(rules.references_found(said, words, "cwe_easy", language)), said


@EVERY
def test_a_wrong_word_behind_a_lead_in_or_with_a_count_stays_wrong(language):
    words = table(language)["words"]
    for said in listings(language, [*words[:9], "grzyb"]):
        row = score_row(said, words, "cwe_easy", language)
        assert (row.score, row.found) == (0, 9), said
    for said in listings(language, [*words, "grzyb"]):
        assert score_row(said, words, "cwe_easy", language).score == 0, said


def test_a_word_of_the_list_that_looks_like_a_lead_in_or_a_count_counts():
    words = ["list", "word", "time", "answer"]
    for said in ("Answer: list, word, time, answer", "list: 30\nword: 30\ntime: 30\nanswer: 30"):
        assert score_row(said, words, "cwe_easy", "en").score == 1
    said = "1. time (30 times)\n2. list (x30)\n3. word - 30 times\n4. answer"
    assert score_row(said, words, "cwe_easy", "en").score == 1
    assert score_row("most, common, list, word, time, answer", words, "cwe_easy", "en").score == 0


@EVERY
def test_every_way_to_say_none_passes_where_there_is_none_and_no_number_beside_it(language):
    of = LANGUAGES[language]
    phrases = [phrase.replace("… ", "") for phrase in of.none_phrases]
    for said in (*of.none, *of.none_alone, *phrases):
        tagged = f"<{of.tags[0]}> {said.upper()}. </{of.tags[0]}>"
        assert score_row(tagged, [of.none[0]], "niah_none", language).score == 1, said
        assert rules.references_found(tagged, [of.none[0]], "niah_none", language) == [True]
        assert score_row(f"{said} 1234567", [of.none[0]], "niah_none", language).score == 0


@pytest.mark.parametrize(
    ("language", "said"),
    [
        *(("hu", "Nincsenek ilyen számok."), ("fr", "Aucune"), ("pt", "nenhuma"), ("ru", "нету")),
        *(("ko", "없습니다"), ("it", "Nessun numero"), ("de", "Keine"), ("zh", "没有")),
        *(("ta", "அத்தகைய எண்கள் எதுவும் இல்லை"), ("en", "There are no such magic numbers.")),
        ("de", "Es gibt keine besonderen magischen Zahlen, die mit «Haus» verbunden sind."),
    ],
)
def test_inflected_forms_and_the_prompts_own_words_say_none(language, said):
    assert score_row(said, ["none"], "niah_none", language).score == 1


@pytest.mark.parametrize(
    ("language", "said"),
    [("de", "Keine Ahnung"), ("en", "No idea"), ("fr", "Aucune idée"), ("ru", "планета")],
)
def test_a_short_form_says_none_only_as_the_whole_answer(language, said):
    assert score_row(said, ["none"], "niah_none", language).score == 0


@EVERY
def test_what_says_none_in_other_words_fails_no_answer_of_numbers(language):
    for form in LANGUAGES[language].none_alone:
        if not says_none(normalize(form), language):
            said = f"1234567 ({form})"
            assert score_row(said, ["1234567"], "niah_single", language).score == 1, form


def test_serbian_tags_in_cyrillic_and_in_other_brackets_are_tags():
    for said in ("‹Одговор> 1234567 ‹/Одговор>", "77 <Одговор>1234567</Одговор> 88"):
        assert score_row(said, ["1234567"], "niah_single", "sr").score == 1


def test_the_metric_holds_the_facts_of_today():
    """Where this fails: python -m docs.embed_languages."""
    assert embed_languages.MODULE.read_text(encoding="utf-8") == embed_languages.module()


def test_a_file_of_another_form_is_one_sentence(tmp_path):
    path = tmp_path / "pl.toml"
    path.write_text('script = "Latin"\n')
    with pytest.raises(RulerError, match="does not describe a language"):
        read_facts(read_toml(path), path)
    with pytest.raises(RulerError, match="Unknown language 'pq'"):
        language_facts("pq")


@EVERY
def test_the_words_of_the_published_question_and_form_may_stand_before_a_list(mirror, language):
    of = LANGUAGES[language]
    text = (mirror / f"oneruler/prompt/{language}/cwe.txt").read_text(encoding="utf-8-sig")
    form = text.split(f"<{of.tags[0]}>")[1].split("</")[0]
    question = re.split(r"<[^>]*>", text.rpartition("{context}")[2])[2]
    for said in (form, question):
        words = " ".join(re.findall(r"\w[\w\u0300-\u036f\u0900-\u0963\u0b80-\u0bcf]*", said))
        after = _lead_in_end(normalize(f"{words}: woda"), language)
        assert normalize(f"{words}: woda")[after:] == "woda", said


@EVERY
def test_the_published_none_word_and_tag_are_the_first(mirror, language):
    path = mirror / f"oneruler/prompt/{language}/niah.txt"
    parts = json.loads(path.read_text(encoding="utf-8-sig"))
    of = language_facts(language)
    assert of.none.published[0] == parts["none"]
    assert parts["answer_numbers"].startswith(f"<{of.answer_tags[0]}>")


def test_none_of_the_26_folds_letters_in_a_way_of_its_own():
    """`normalize` does not look: it is called many times a row."""
    assert not any(rules.fold for rules in LANGUAGES.values())
    for language in (None, *CODES):
        assert normalize("HİÇBİRİ IŞIK", language) == "hi\u0307çbi\u0307ri\u0307 işik"
