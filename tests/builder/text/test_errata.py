"""Each erratum corrects its fault in the published files, and nothing else."""

from __future__ import annotations

import unicodedata
from hashlib import sha256

import pytest

from ruler_builder.pinned import Store
from ruler_builder.text import errata as errata_module
from ruler_builder.text import languages
from ruler_builder.text.errata import (
    applied,
    check_corrected,
    errata,
    fix,
    identity,
    is_word,
    kept_rows,
    unique_rows,
)
from ruler_builder.text.languages import read_language
from ruler_builder.text.sources import Sources
from ruler_common.errors import RulerError
from ruler_common.files import read_toml
from tests.project import ROOT

CHAPTER = "बयान – 1\n" + 600 * "क " + "\n(पहला समाप्त)"
# By erratum: a language, an invented text or words with the fault, and the correction
CORRECTED: dict[str, tuple[str, list[str], list[str]]] = {
    "niah-needle-space": ("en", ["of {key}: {value} "], ["of {key}: {value}"]),
    "niah-inner-spaces": ("sw", ["nambari   gani"], ["nambari gani"]),
    "niah-none-word": ("fa", ["a b"], ["a\u200cb"]),
    "cwe-context-twice": (
        "vi",
        ["Read.\\n{context}\\nWhich?\n\n<List> {context} </List>"],
        ["Read.\n\n<List> {context} </List>"],
    ),
    "cwe-spaces": ("ko", ["One. \n\ntwo  three"], ["One.\n\ntwo three"]),
    "cwe-last-lines": (
        "pl",
        ["<Answer> the words </Answer>\n\n"],
        ["<Answer> the words </Answer>"],
    ),
    "nouns-spaces": ("en", ["apple ", "green apple"], ["apple", "green apple"]),
    "words-line-breaks": ("ta", ["அகல்\n", "வில்"], ["அகல்", "வில்"]),
    "words-not-composed": ("hi", ["\u0958"], ["\u0915\u093c"]),
    "words-joiners": ("fa", ["\u200d\u200dپدر", "زفا\u200dف"], ["پدر", "زفاف"]),
    "words-two-spellings": ("ja", ["堅; 硬; 固い", "机"], ["堅", "机"]),
    "words-digits": ("ko", ["가다01", "길"], ["길"]),
    "words-signs": (
        "ru",
        ["-дом", "дом-", "дом.", "юго-запад", "а  б", "", "під'їзд", "'mapa"],
        ["юго-запад", "під'їзд", "'mapa"],
    ),
    "words-mixed-scripts": ("ru", ["паpень", "парень", "жар-птица"], ["парень", "жар-птица"]),
    "words-ligature-ij": ("nl", ["\u0133s", "blijven", "bl\u0133ven"], ["ijs", "blijven"]),
    "words-twice": ("uk", ["Дім", "дім", "сад", "са\u200dд"], ["Дім", "сад"]),
    "book-publisher": ("sw", ["Mwisho.\n 12\n\fKumbukumbu\n\f LIBRARY\n\fISBN 1\n"], ["Mwisho.\n"]),
    "book-running-titles": (
        "sw",
        ["Moja\n\f  Maisha Yangu na Baada ya Miaka Hamsini\nmbili"],
        ["Moja\n\n\nmbili"],
    ),
    "book-page-numbers": (
        "sw",
        ["Moja\n\n  22\n\fmbili\n Ill\n\ftatu 3"],
        ["Moja\n\nmbili\ntatu 3"],
    ),
    "book-form-feeds": ("sw", ["Moja\fmbili"], ["Moja\nmbili"]),
    "book-soft-hyphens": ("pl", ["dobro\u00adczynna"], ["dobroczynna"]),
    "book-tags": ("it", ["un <B>nome</B>", "1 < 2"], ["un nome", "1 < 2"]),
    "book-chapters-twice": (
        "hi",
        [f"अनुक्रम\n{CHAPTER}\nशीर्षक\n{CHAPTER}\nबयान – 2"],
        [f"{CHAPTER}\nबयान – 2"],
    ),
    "book-page-marks": ("de", ["Schnee{14}resten, »{7}so {sehr}«"], ["Schneeresten, »so {sehr}«"]),
    "book-note-digits": ("pt", ["alma1! sou11 eu, 1982, n.º 3"], ["alma! sou eu, 1982, n.º 3"]),
    "book-stray-letters": ("fr", ["rosses,\n\u07d1\u07d1L’espace"], ["rosses,\nL’espace"]),
    "book-editors-notes": ("ja", ["私に［＃「私に」は誤植］固より"], ["私に固より"]),
    "book-entities": ("ta", ["மூடமதே!&#8217; என்று"], ["மூடமதே!’ என்று"]),
    "book-rules": ("ta", ["முதல்\n-----*****-----\nஇரண்டு - * _"], ["முதல்\n\nஇரண்டு - * _"]),
    "book-contents": ("hi", ["अनुक्रम\nबयान\n"], ["बयान\n"]),
}
# Errata that reading a language corrects; tests below show them on the published files
CORRECTED_BY_READING = {
    "book-reported-speech",
    *("niah-urdu-stop", "niah-hindi-stop", "nouns-newlines", "nouns-not-unique"),
    *("nouns-ambiguous", "words-newlines", "words-read-as-missing", "book-newlines"),
}


@pytest.fixture(scope="module")
def published(mirror: object, store: Store) -> Sources:
    """Return the published files."""
    return Sources(store)


def test_every_erratum_has_a_test():
    ids = [erratum.id for erratum in errata()]
    assert len(ids) == len(set(ids))
    assert set(ids) == set(CORRECTED) | CORRECTED_BY_READING
    assert not set(CORRECTED) & CORRECTED_BY_READING


@pytest.mark.parametrize("name", CORRECTED)
def test_an_erratum_corrects_its_fault(name):
    code, faulty, corrected = CORRECTED[name]
    erratum = next(erratum for erratum in errata() if erratum.id == name)
    assert fix(erratum.file, code, faulty, erratum.part) == corrected
    assert faulty != corrected


def test_an_erratum_changes_only_its_language_file_and_part():
    assert fix("words", "de", ["-a", "a1", "b; c", "Art", "art"]) == [
        "-a",
        "a1",
        "b; c",
        "Art",
        "art",
    ]
    assert fix("book", "en", ["a\u00adb\f<B>"]) == ["a\u00adb\f<B>"]
    assert fix("niah", "en", ["{value} "], "please_list") == ["{value} "]
    assert fix("script", "fa", ["{value} "]) == ["{value} "]


def test_a_language_has_its_errata_and_those_of_the_nouns():
    ids = [erratum.id for erratum in applied("fa")]
    assert {"niah-none-word", "niah-urdu-stop", "words-joiners", "nouns-not-unique"} <= set(ids)
    assert "cwe-context-twice" not in ids
    assert not any(erratum.file == "words" for erratum in applied("en"))


def test_a_corrected_text_that_is_not_the_recorded_one_is_refused_with_both_digests():
    recorded = read_toml(ROOT / "builder/ruler_builder/text/corrected.toml")["words-ko"]
    with pytest.raises(RulerError) as refused:
        check_corrected("words-ko", ["사과"])
    found = sha256("사과\0".encode()).hexdigest()
    assert f"has sha256 {found}, expected {recorded}: " in str(refused.value)
    assert unicodedata.unidata_version in str(refused.value)


@pytest.mark.parametrize("file", ["niah", "cwe", "words", "nouns"])
def test_a_rule_that_reads_a_file_differently_stops_the_build(file, published, monkeypatch):
    rule = errata_module.fix

    def fix_otherwise(name: str, code: str, items: list[str], part: str = "") -> list[str]:
        fixed = rule(name, code, items, part)
        return [f"{item}x" for item in fixed] if name == file else fixed

    monkeypatch.setattr(errata_module, "fix", fix_otherwise)
    languages._columns.cache_clear()
    with pytest.raises(RulerError, match=f"The corrected '(oneruler-)?{file}.*' has sha256"):
        read_language("hi", published).words()
    languages._columns.cache_clear()


# ---- Errata that reading corrects --------------------------------------------------------------


def test_no_carriage_return_is_read(published):
    assert b"\r\n" in published.read("oneruler-nouns")
    assert b"\r\n" in published.read("words-da")
    assert b"\r\n" in published.read("book-sw")
    danish = read_language("da", published)
    texts = [
        *danish.nouns,
        *read_language("da", published).words(),
        *read_language("sw", published).sentences(),
    ]
    assert not any("\r" in text for text in texts)


def test_no_key_is_one_of_the_five_ambiguous_nouns(published):
    ambiguous = {"earth", "field", "house", "month", "moon"}
    assert ambiguous < {
        line.split()[0] for line in published.read("oneruler-nouns").decode().splitlines()
    }
    assert not ambiguous & {*read_language("en", published).nouns}


def test_rows_of_an_ambiguous_english_noun_are_left_out():
    assert kept_rows({"en": ["apple", "moon", "moonlight"], "pl": ["a", "b", "c"]}) == [0, 2]


def test_only_rows_that_are_unique_in_every_column_are_kept():
    columns = [["a", "b", "c", "d"], ["x", "Y", "y", "z"], ["1", "2", "3", "１"]]
    assert unique_rows(columns) == []
    assert unique_rows(columns[:2]) == [0, 3]
    assert unique_rows(columns[:1]) == [0, 1, 2, 3]


# ---- What a word is ----------------------------------------------------------------------------


def test_a_word_has_letters_with_single_spaces_hyphens_and_apostrophes_inside():
    words = ["hus", "tương lai", "юго-запад", "ng'ombe", "'mapa", "संख्या", "می\u200cرود", "りんご"]
    others = [
        "",
        " ",
        "a1",
        "a/b",
        "-a",
        "a-",
        "a ",
        " a",
        "a  b",
        "a.",
        "～a",
        "\ue488",
        "a\n",
        "'",
    ]
    assert [word for word in words if not is_word(word)] == []
    assert [text for text in [*others, "'"] if is_word(text)] == []


def test_words_are_compared_without_case_width_and_invisible_characters():
    assert identity("Straße") == identity("STRASSE")
    assert identity("ｎａｎ") == identity("nan")
    assert identity("می\u200cرود") == identity("میرود")
    assert identity("dom") != identity("dum")
