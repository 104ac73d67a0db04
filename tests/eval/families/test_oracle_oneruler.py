"""The perfect reader in ONERULER's 26 languages: in one, across two, with and without the nouns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ruler_eval.families.multilingual_niah import language_of
from ruler_eval.families.table import solve
from ruler_score.oneruler_rules import NONE_WORDS
from ruler_score.ruler_score import ANSWER_TAGS, score_row
from tests.eval.run.published import NAMES, NEEDLES, Published
from tests.shares import share

LANGUAGES = sorted(ANSWER_TAGS)
NIAH = [*NEEDLES, "niah_none"]
POLISH = (
    "Przeczytaj.\n\n<tekst>\n{}\n</tekst>\n\n<pytanie> Jakie liczby są przy „{}”? Wymień. "
    "Jeśli takie liczby nie istnieją, odpowiedz „brak”.</pytanie>\n\n\nForma:\n<odpowiedź> "
    "liczby </odpowiedź>"
)
ENGLISH = (
    "Read the text, I will ask you about it.\n\n<text>\n{}\n</text>\n\n<Question> What numbers are "
    'with "{}" in the text? If there are none, answer "none".</Question>\n\n\nThis is the form:\n'
    "<Answer> numbers </Answer>"
)
BOOK = "Było lato. Liczba dla hasła „kot” to: 1234567. Padało. Liczba dla hasła „pies” to: 7654321."


def test_needles_are_found_by_their_quotation_marks() -> None:
    assert solve(POLISH.format(BOOK, "kot")) == "<odpowiedź> 1234567 </odpowiedź>"
    both = POLISH.format(BOOK, "kot” i „pies")
    assert solve(both) == "<odpowiedź> 1234567, 7654321 </odpowiedź>"


def test_an_absent_key_is_answered_with_the_none_word() -> None:
    assert solve(POLISH.format(BOOK, "dom")) == "<odpowiedź> brak </odpowiedź>"


def test_a_single_needle_is_no_answer_to_another_key_of_its_own_language() -> None:
    one = BOOK.partition(" Padało")[0] + " I był to dzień, a nie noc."
    assert solve(POLISH.format(one, "dom")) == "<odpowiedź> brak </odpowiedź>"


def test_the_needles_of_another_language_are_told_by_their_number() -> None:
    book = BOOK + " I był to dzień, a nie noc, ale nie dla psa i kota, jak to w książce."
    assert solve(ENGLISH.format(book, 'cat" and "dog')) == "<Answer> 1234567, 7654321 </Answer>"
    assert solve(ENGLISH.format(book, "dog")) == "<Answer> none </Answer>"


def test_a_number_away_from_quotation_marks_is_no_needle() -> None:
    book = BOOK + " „Dom” stał. Był rok 1934, a mieszkańców 5555555. „Dom” i 12345678."
    assert solve(POLISH.format(book, "dom")) == "<odpowiedź> brak </odpowiedź>"


@pytest.mark.parametrize("listed", ["{0}", "\r\n{0}\r\n", " {0}\n "])
def test_the_ten_commonest_words_of_a_list_are_counted(listed: str) -> None:
    words = [f"słowo{i}" for i in range(9)] + ["dwa słowa"]
    numbered = listed.format(
        " ".join(f"{i}. {word}" for i, word in enumerate([*words * 3, "rzadkie", "dwa"], 1))
    )
    text = (
        f"Lista.\n\n<lista> {numbered} </lista>\n\n<pytanie> Jakie jest 10 słów? </pytanie>\n\n"
        "Forma:\n<odpowiedź> słowa </odpowiedź>\n\n"
    )
    assert solve(text) == f"<odpowiedź> {', '.join(words)} </odpowiedź>"


def test_what_is_no_task_is_not_answered() -> None:
    assert solve("Good morning.") == solve("<a>1234567</a>") == ""


# ---- The published prompts, books and words --------------------------------------------------


@pytest.fixture(scope="module")
def published(mirror: Path) -> Published:
    """The published files of ONERULER."""
    return Published(mirror / "oneruler")


def score(row: dict[str, Any], task: str, language: str) -> float:
    """The metric's score of the perfect reader on a row, 0 or 1."""
    said = solve(row["input"])
    return score_row(said, row["outputs"], task, language, row["none_word"]).score


@pytest.mark.parametrize("language", share(5, LANGUAGES))
def test_everything_is_right_in_one_language(published: Published, language: str) -> None:
    scores = {
        (task, seed): score(published.niah(task, language, seed=seed), task, language)
        for task in NIAH
        for seed in range(3)
    }
    for task in ("cwe_easy", "cwe_hard"):
        for seed in range(3):
            scores[task, seed] = score(published.cwe(task, language, seed), task, language)
    assert set(scores.values()) == {1}, scores


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_row_that_offers_no_none_word_is_answered_too(
    published: Published, language: str
) -> None:
    row = published.niah("niah_single", language, offers_none=False)
    assert published.prompt(language)["if_no_numbers"] not in row["input"]
    assert score(row, "niah_single", language) == 1


@pytest.mark.parametrize("text", share(5, LANGUAGES))
def test_with_the_question_in_another_language_all_but_one_task_is_right(
    published: Published, text: str
) -> None:
    others = [language for language in LANGUAGES if language != text]
    tasks = [task for task in NIAH if task != "niah_multikey"]
    scores = {
        (task, asked): score(published.niah(task, text, asked), task, asked)
        for task in tasks
        for asked in others
    }
    assert len(scores) == 4 * 25
    assert [key for key, value in scores.items() if value < 1] == []


def test_one_of_four_translated_keys_cannot_be_known_without_the_nouns(
    published: Published,
) -> None:
    row = published.niah("niah_multikey", "en", "ko")
    assert solve(row["input"]) == f"<답변> {NONE_WORDS['ko'][0]} </답변>"


@pytest.mark.parametrize("text", share(5, LANGUAGES))
def test_with_the_nouns_of_both_languages_every_question_is_answered(
    published: Published, text: str
) -> None:
    nouns = {asked: {line[asked]: line[text] for line in published.nouns()} for asked in LANGUAGES}
    answers = {
        (task, asked): (solve(row["input"], nouns[asked]), row)
        for task in ("niah_multikey", "niah_none", "niah_multiquery")
        for asked in share(5, [language for language in LANGUAGES if language != text])
        for row in [published.niah(task, text, asked)]
    }
    wrong = [
        key
        for key, (said, row) in answers.items()
        if not score_row(said, row["outputs"], *key, row["none_word"]).score
    ]
    assert wrong == []
    assert len(answers) >= 3 * 5


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_wrong_key_in_the_question_is_no_answer(published: Published, language: str) -> None:
    row = published.niah("niah_single", language)
    faulty = row["tail"].replace(row["asked"], row["absent"], 1)
    said = solve(row["input"].removesuffix(row["tail"]) + faulty)
    assert (row["outputs"][0] in said) == (language in ("da", "no"))  # these two are read as two


def test_the_language_of_a_page_is_told_by_its_commonest_words(published: Published) -> None:
    for language in LANGUAGES:
        found = language_of(published.book(language)[5000:9000])
        assert found == language or {found, language} == {"da", "no"}
    assert set(LANGUAGES) == {"en", *NAMES}
