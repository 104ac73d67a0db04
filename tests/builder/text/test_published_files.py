"""ONERULER's published files have the faults that the errata list, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from ruler_builder.text.errata import ALL, applied, errata, wording
from ruler_common.names import LANGUAGES
from tests.builder.text import published_faults as faults
from tests.builder.text.published_audit import disagreements

PROMPT = {
    "task": "Read.\n<text>\n{context}\n</text>",
    "needle_numbers": "{key}: {value}",
    "question_single_numbers": "{query1}?",
    "question_multi_numbers": "{query1} and {query2}?",
    "please_list": "List all.",
    "if_no_numbers": 'If none, say "no".',
    "answer_prefix": "So:",
    "answer_numbers": "<answer> </answer>",
    "none": "no",
}


def prompt(**parts: str) -> str:
    return json.dumps(PROMPT | parts)


def dictionary(*rows: str) -> str:
    return "\n".join(["words,pos", *rows, ""])


def scanned(*pages: str) -> str:
    return "\f".join(f" A Life\nFirst line.\n{page}\n {n}\n" for n, page in enumerate(pages))


CHAPTERS = "book-chapters-twice"
FAULTY: list[tuple[Callable[[str], faults.Found], str, str]] = [
    (faults.niah, prompt(needle_numbers="{key}: {value} "), "niah-needle-space"),
    (faults.niah, prompt(question_multi_numbers="{query1}  and {query2}?"), "niah-inner-spaces"),
    (faults.niah, prompt(none="nothing"), "niah-none-word"),
    (faults.niah, prompt(task="{context} {context}"), "niah-placeholders"),
    (faults.niah, prompt(please_list="{query1}"), "niah-placeholders"),
    (faults.cwe, "<List> {context} </List> {context}", "cwe-context-twice"),
    (faults.cwe, "<List> </List>", "cwe-context-twice"),
    (faults.cwe, "Read. \n{context}.", "cwe-spaces"),
    (faults.cwe, "{context}\n", "cwe-last-lines"),
    (faults.book, '" 가자. "\n하고 갔다.', "book-reported-speech"),
    (faults.words, dictionary("a,noun").replace("\n", "\r\n"), "words-newlines"),
    (faults.words, dictionary("nan,noun"), "words-read-as-missing"),
    (faults.words, dictionary('"a\n",noun'), "words-line-breaks"),
    (faults.words, dictionary("\u0958,noun"), "words-not-composed"),
    (faults.words, dictionary("\u200da,noun"), "words-joiners"),
    (faults.words, dictionary("a-1-b,noun"), "words-digits"),
    (faults.words, dictionary("a01,noun"), "words-digits"),
    (faults.words, dictionary("a; b,noun"), "words-two-spellings"),
    (faults.words, dictionary("a/b,noun"), "words-signs"),
    (faults.words, dictionary("паpень,noun"), "words-mixed-scripts"),
    (faults.words, dictionary("\u0132s,noun"), "words-ligature-ij"),
    (faults.words, dictionary("a,noun", "b,verb", "A,noun"), "words-twice"),
    (faults.book, "One.\r\nTwo.", "book-newlines"),
    (faults.book, "One.\fTwo.", "book-form-feeds"),
    (faults.book, scanned(*["Text."] * 30), "book-running-titles"),
    (faults.book, scanned(*["Text."] * 30), "book-page-numbers"),
    (faults.book, "One.\nISBN 1-2", "book-publisher"),
    (faults.book, "o\u00adne", "book-soft-hyphens"),
    (faults.book, "<B>One</B>", "book-tags"),
    (faults.book, "\n".join(f"Line {n} {'of words ' * 9}" for n in [*range(30)] * 2), CHAPTERS),
    (faults.book, "Plaid{12}rolle", "book-page-marks"),
    (faults.book, "minha alma1! " * 30, "book-note-digits"),
    (faults.book, "A\u07d1", "book-stray-letters"),
    (faults.book, "私に［＃「私に」は誤植］", "book-editors-notes"),
    (faults.book, "One&#8217;s", "book-entities"),
    (faults.book, "One.\n-----*****-----\nTwo.", "book-rules"),
    (faults.book, "Part onePart twoPart threePart\nOne.", "book-contents"),
]
"""A finder, an invented file with a fault, and the erratum it must find."""


# ---- The published files -----------------------------------------------------------------------


@pytest.mark.nightly
def test_the_files_have_the_faults_that_are_corrected_and_no_others(
    audited: dict[str, Any],
) -> None:
    there = {(fault["erratum"], fault["language"]) for fault in audited["faults"]}
    listed = {
        (erratum.id, code)
        for erratum in errata()
        for code in (LANGUAGES if erratum.languages == ALL else erratum.languages)
        if erratum.file != "script" and (code, erratum.file) != ("en", "words")
    }
    assert there == listed
    assert audited["disagreements"] == []


@pytest.mark.nightly
def test_what_the_card_says_of_a_language_is_what_was_found(audited: dict[str, Any]) -> None:
    for code in LANGUAGES:
        corrected = {
            erratum.id
            for erratum in applied(code)
            if code in erratum.languages and erratum.file != "script"
        }
        there = {fault["erratum"] for fault in audited["faults"] if fault["language"] == code}
        assert corrected <= there
        kept = {one["what"] for one in audited["wording"] if one["language"] == code}
        assert kept == {one.what for one in wording(code)}
    assert all(one["found"] for one in audited["wording"])


@pytest.mark.nightly
def test_the_audit_measures_books_and_dictionaries(audited: dict[str, Any]) -> None:
    books = {book["language"]: book for book in audited["books"]}
    assert list(books) == list(LANGUAGES)
    assert books["ko"]["characters"] == 12504
    assert books["ko"]["begun_at_128k"] == -(-128_000 // books["ko"]["tokens"]) > 10
    assert books["fr"]["begun_at_128k"] == 1
    assert books["sw"]["measures"]["spaced_letters"] > 700
    assert not any(
        book["measures"]["long_numbers"] or book["measures"]["not_nfc"] for book in books.values()
    )
    words = {row["language"]: row for row in audited["dictionaries"]}
    assert words["st"]["words"] < 2500 < words["de"]["words"] <= words["de"]["entries"]
    assert words["sr"]["scripts"] == {
        "prompts": "LATIN",
        "nouns": "LATIN",
        "book": "CYRILLIC",
        "words": "CYRILLIC",
    }
    assert audited["kept_nouns"] == 79


@pytest.mark.nightly
def test_a_finding_without_an_erratum_and_an_erratum_without_a_finding_are_reported(
    audited: dict[str, Any],
) -> None:
    changed = deepcopy(audited)
    changed["faults"].remove(next(f for f in audited["faults"] if f["erratum"] == "niah-none-word"))
    changed["faults"].append({"erratum": "book-tags", "language": "pl", "found": "<B>"})
    next(one for one in changed["wording"] if one["language"] == "da")["found"] = False
    changed["books"][0]["measures"]["long_numbers"] = 1
    reported = sorted(disagreements(changed))
    assert [line.split(" (")[0] for line in reported] == [
        "cs: numbers of seven digits",
        "da: cwe: misspelt: should be `Husk`",
        "fa: niah-none-word",
        "pl: book-tags",
    ]
    assert reported[2].endswith("(in the errata, not found in the files)")
    assert reported[3].endswith("(found in the files, missing in the errata)")


# ---- Each finder -------------------------------------------------------------------------------


@pytest.mark.parametrize(("finder", "text", "fault"), FAULTY, ids=[fault for _, _, fault in FAULTY])
def test_a_fault_is_found(finder: Callable[[str], faults.Found], text: str, fault: str) -> None:
    assert fault in dict(finder(text))


@pytest.mark.parametrize(
    ("finder", "text"),
    [
        (faults.niah, prompt()),
        (faults.cwe, "<List> {context} </List>"),
        (faults.words, dictionary("a,noun", "b-c,verb", "d e,adjective", "a01,other")),
        (faults.words, dictionary('a01,"verb, noun"', "a/b,动词", 'a,"noun,verb"', "a,noun")),
        (faults.words, dictionary("見出し,noun", "スーパー,noun", "消しゴム,noun")),
        (faults.book, "One.\n\nTwo 1.\n2\nThree: <사씨남정기>.\n* * *\nOmi1. {a} R&B\n"),
    ],
)
def test_a_clean_file_has_no_fault(finder: Callable[[str], faults.Found], text: str) -> None:
    assert dict(finder(text)) == {}


def test_every_erratum_of_a_file_is_found_by_some_finder() -> None:
    of_files = {erratum.id for erratum in errata() if erratum.file not in ("script", "nouns")}
    assert of_files <= {fault for _, _, fault in FAULTY}


def test_faults_of_the_nouns_are_found_by_language() -> None:
    text = "en\tdefinition\tpl\r\na \tone\tx\r\nb\ttwo\tX\r\nc\tthree\ty\r\n"
    assert faults.nouns(text) == {
        "en": {"nouns-newlines": "carriage return at line ends", "nouns-spaces": "1 nouns"},
        "pl": {
            "nouns-newlines": "carriage return at line ends",
            "nouns-not-unique": "a = x, b = X",
        },
    }


@pytest.mark.parametrize(
    ("book", "words", "check"),
    [
        ("m a r a kwa m a r a " * 20, ["mara"], "spaced_letters"),
        ("Text[1] and text[22]. " * 20, ["text"], "note_marks"),
        ("надiйсь бiди " * 20, ["надійсь"], "mixed_words"),
        ("árvíztűrő tükörfúrógép " * 20, ["arvizturo", "tukor"], "no_accents"),
        ("perché il fu e la di un che non si è " * 20, ["perche", "eta"], "no_accents"),
        ("ваза гуска дрво књига " * 20, ["вода"], "few_initials"),
        ("вода " * 20, ["Вода", *["вода"] * 9], "capitals"),
    ],
)
def test_a_measure_finds_what_stays(book: str, words: list[str], check: str) -> None:
    measured = faults.measures(book, words)
    assert check in faults.kept({"book": "X", "words": "X"}, measured)
    plain = faults.measures("Words in a book, each on its own. " * 20, ["word", "in", "a", "book"])
    assert check not in faults.kept({"book": "X", "words": "X"}, plain | {"initials": 100})


def test_words_without_accents_are_no_fault_where_books_have_few_or_words_have_them() -> None:
    for book, words in [
        ("een idee \u00e9\u00e9n " + "van ons " * 40, ["idee"]),
        ("perché la " * 20, ["perché", "età", "la"]),
        ("niño año la " * 20, ["la"]),
    ]:
        measured = faults.measures(book, words)
        assert "no_accents" not in faults.kept({"book": "X", "words": "X"}, measured)
    assert faults.measures("niño mañana", ["niño"])["accents_of_words"] == 0


def test_capital_letters_are_no_fault_where_every_noun_has_one() -> None:
    measured = faults.measures("Wort Buch lesen " * 20, ["Wort", "Buch", "lesen"])
    assert "capitals" not in faults.kept({"book": "X", "words": "X"}, measured)


def test_scripts_are_told_apart() -> None:
    texts = {"LATIN": "Posebni", "CYRILLIC": "Посебни", "CJK": "魔法の数字", "HANGUL": "마법"}
    assert {name: faults.script(text) for name, text in texts.items()} == dict(
        zip(texts, texts, strict=True)
    )
    mixed = {"prompts": "LATIN", "book": "CYRILLIC"}
    assert "scripts" in faults.kept(mixed, faults.measures("a b", []))
