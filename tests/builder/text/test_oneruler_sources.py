from __future__ import annotations

from pathlib import Path

import pytest

from ruler_builder.text.sources import (
    Sources,
    Store,
    embedded_languages,
    named_sources,
    parse_choice,
    registry,
)
from ruler_common.errors import RulerError
from tests import in_process

KINDS = ("niah", "cwe", "book", "words")


def test_a_book_is_recorded_with_its_rights(mirror):
    sources = Sources(Store(mirror))
    sources.read("book-pl")
    sources.read("niah-pl")
    assert sources.used["book-pl"]["book"]["author"] == "Maria Dąbrowska"
    assert sources.used["book-pl"]["book"]["restricted"] is True
    assert "book" not in sources.used["niah-pl"]


@pytest.mark.parametrize("words", [["niah-en=embedded"], ["embedded", "book-pl=canonical"]])
def test_embedded_texts_are_never_mixed_with_published_files(words):
    with pytest.raises(RulerError, match="choose --sources embedded for all of them, or for none"):
        parse_choice(words)


def test_a_language_without_embedded_texts_is_refused(folder):
    assert embedded_languages() == ["en", "zh"]
    with pytest.raises(RulerError, match=r"no embedded text for 'book-pl'.*en, zh"):
        Sources(Store(folder), parse_choice(["embedded"])).read("book-pl")


def test_a_missing_file_of_oneruler_names_its_url_and_the_embedded_texts(cache, monkeypatch):
    for scheme in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(scheme, "http://127.0.0.1:9")
    with pytest.raises(RulerError) as refusal:
        Sources(Store(None)).read("book-sr")
    for part in ("ili%C4%87_sr.txt", "--mirror DIR", "own texts (en, zh): --sources embedded"):
        assert part in str(refusal.value)


def test_words_for_sources_are_names_datasets_and_languages():
    assert list(named_sources(["squad", "ko"])) == ["squad", *(f"{k}-ko" for k in KINDS)]
    assert list(named_sources()) == list(registry())
    with pytest.raises(RulerError, match=r"Unknown source 'book-plx'. Did you mean 'book-pl'\?"):
        named_sources(["book-plx"])


def ruler(*words: str | Path) -> str:
    done = in_process.ruler(*words)
    assert done.code == 0, done.stderr
    return done.stdout


def test_the_list_has_one_row_a_language_and_says_what_is_odd(folder):
    for name in ("niah-pl", "cwe-pl", "book-pl", "words-pl", "niah-ko"):
        file = registry()[name].canonical.file
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).write_bytes(bytes(file.bytes if name != "book-pl" else 3))
    lines = ruler("sources", "--suite", "oneruler", "--mirror", folder).splitlines()
    rows = {line.split()[0]: line.split() for line in lines if line and line[0].isalpha()}
    assert rows["cs"][1] == "missing"
    assert rows["pl"][1:3] == ["book-pl", "damaged"]
    assert rows["nl"][-2:] == ["perhaps", "not"]
    assert "essays" not in rows
    assert any(line.strip().startswith("nl  Disputed") for line in lines)


def test_a_language_is_fetched_by_its_code(mirror):
    lines = ruler("sources", "fetch", "oneruler-nouns", "st", "--mirror", mirror).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        *("oneruler-nouns", "niah-st", "cwe-st", "book-st", "words-st")
    ]
