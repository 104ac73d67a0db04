"""Each language's prompts, nouns, book and dictionary are read correctly."""

from __future__ import annotations

import re
import unicodedata
from itertools import islice, pairwise

import pytest

from ruler_builder.parse_options import parse_sources_option
from ruler_builder.pinned import Store
from ruler_builder.text.errata import applied, fix, identity, is_word
from ruler_builder.text.languages import Language, read_language
from ruler_builder.text.sentences import split
from ruler_builder.text.sources import Sources
from ruler_common.languages import language_facts
from ruler_common.names import LANGUAGES
from tests.nightly import mostly_nightly

UNSPACED = {"ja", "zh"}
PLACEHOLDERS = {
    "task": ["context"],
    "needle": ["key", "value"],
    "question_one": ["query1"],
    "question_many": ["query1", "query2"],
    "please_list": [],
    "if_no": [],
    "answer_prefix": [],
    "answer": [],
}
every_language = pytest.mark.parametrize("code", mostly_nightly(5, LANGUAGES))


@pytest.fixture(scope="module")
def published(mirror: object, store: Store) -> Sources:
    """Return the published files."""
    return Sources(store)


@pytest.fixture(scope="module")
def embedded_sources(store: Store) -> Sources:
    """Return the project's texts."""
    return Sources(store, parse_sources_option(["embedded"]))


def folded(code: str, sources: Sources) -> str:
    """Return a language's corrected book as one line."""
    text = sources.read(f"book-{code}").decode("utf-8").replace("\r\n", "\n")
    return " ".join(fix("book", code, [text])[0].split())


# ---- Prompts and nouns -------------------------------------------------------------------------


def check_prompts(language: Language) -> None:
    assert list(language.parts) == list(PLACEHOLDERS)
    for part, text in language.parts.items():
        assert re.findall(r"\{(.*?)\}", text) == PLACEHOLDERS[part]
        assert "  " not in text
    assert language.parts["needle"].endswith(language.facts.sentences.stop)
    assert language.parts["needle"] == language.parts["needle"].strip()
    assert not language.parts["needle"].endswith((" .", ".."))
    assert language.none_word in language.parts["if_no"]
    assert language.cwe.count("{context}") == 1
    assert language.cwe.endswith(">")
    assert "\\n" not in language.cwe
    assert language.separator == ("" if language.code in UNSPACED else " ")
    assert language.facts.sentences.stop == {"ja": "。", "zh": "。", "hi": "।"}.get(
        language.code, "."
    )
    for noun in language.nouns:
        assert noun == noun.strip() != ""
    assert len(set(map(identity, language.nouns))) == len(language.nouns)


@every_language
def test_the_prompts_and_nouns_of_a_language_are_complete(code, published):
    language = read_language(code, published)
    check_prompts(language)
    assert len(language.nouns) == 79
    assert language.errata == tuple(erratum.id for erratum in applied(code))


@pytest.mark.parametrize("code", ["en", "zh"])
def test_an_embedded_language_is_read_like_a_published_one(code, embedded_sources):
    language = read_language(code, embedded_sources)
    check_prompts(language)
    assert len(language.nouns) >= 60
    assert language.errata == ()
    assert len(read_language("en", embedded_sources).nouns) == len(language.nouns)


# ---- Books -------------------------------------------------------------------------------------


@every_language
def test_a_book_splits_into_sentences_between_words(code, published):
    text = folded(code, published)
    sentences = list(islice(read_language(code, published).sentences(), 400))
    separator = "" if code in UNSPACED else " "
    at = 0
    for before, after in pairwise(sentences):
        assert text.startswith(before, at)
        at += len(before)
        if separator:  # a needle goes where a space is
            assert text[at] == " "
        else:  # or after a character that is in no word or number
            assert not text[at - 1].isalnum() or text[at] == " "
        at += text[at] == " "
        assert text.startswith(after, at)
    lengths = sorted(map(len, sentences))
    assert 10 < lengths[len(lengths) // 2] < 200
    assert lengths[-1] < 4000
    assert not any(unicodedata.category(char) == "Cc" for char in "".join(sentences))


@every_language
def test_needles_run_together_are_split_into_sentences_again(code, published):
    """Native speakers wrote the needles."""
    language = read_language(code, published)
    needles = [
        language.parts["needle"].format(key=noun, value=1234567 + 1111 * place)
        for place, noun in enumerate(language.nouns[:6])
    ]
    assert (
        list(split(language.separator.join(needles), code, language_facts(code).sentences))
        == needles
    )


@pytest.mark.parametrize("code", ["ko", "sw", "ja", "zh", "uk"])
def test_the_sentences_of_a_book_joined_are_its_text(code, published):
    text = folded(code, published)
    joined = "".join(read_language(code, published).sentences()).replace(" ", "")
    assert joined == text.replace(" ", "")
    if code not in UNSPACED:
        assert " ".join(read_language(code, published).sentences()) == text


# ---- Dictionaries ------------------------------------------------------------------------------


@every_language
def test_a_dictionary_holds_each_word_once(code, published):
    words = read_language(code, published).words()
    assert len(words) > 2000
    assert len(set(map(identity, words))) == len(words)
    if code != "en":  # wonderwords has its own tests
        assert [word for word in words if not is_word(word)] == []
        assert [word for word in words if unicodedata.normalize("NFC", word) != word] == []


def test_words_that_look_like_missing_values_are_words(published):
    assert "nan" in read_language("vi", published).words()


def test_only_words_with_exactly_one_part_of_speech_are_kept(published):
    """As the authors select words: `verb,noun` and `动词` are not among the three labels."""
    sizes = {code: len(read_language(code, published).words()) for code in ("zh", "ko", "pt")}
    assert sizes == {"zh": 2173, "ko": 2605, "pt": 7617}
    table = published.read("words-zh").decode("utf-8")
    assert '工作,"noun,verb"' in table
    assert not {"工作", "任何", "所以"} & set(read_language("zh", published).words())
