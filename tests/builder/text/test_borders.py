"""Sentence borders are data: those that the splitter finds, for the texts that they belong to."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import zlib
from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_builder.parse_options import parse_sources_option
from ruler_builder.pinned import Store
from ruler_builder.text import borders
from ruler_builder.text.borders import folded, packed_borders, read_borders, sliced
from ruler_builder.text.languages import Language, read_language
from ruler_builder.text.sources import Sources
from ruler_common.errors import RulerError
from ruler_common.names import LANGUAGES
from tests.project import ROOT

SCRIPT = ROOT / "builder/pin_texts.py"


def read_packed(data: bytes) -> list[str]:
    return zlib.decompress(data).decode("ascii").splitlines()


def packaged() -> dict[str, bytes]:
    folder = ROOT / "builder/ruler_builder/text/borders"
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_text_that_is_split_has_its_borders():
    texts = ["essays.canonical.z", *(f"book-{code}.canonical.z" for code in LANGUAGES)]
    texts += ["essays.embedded.z", "book-en.embedded.z", "book-zh.embedded.z"]
    assert sorted(packaged()) == sorted(texts)
    assert sum(map(len, packaged().values())) < 500_000


@pytest.mark.nightly
def test_the_data_are_those_that_the_script_writes(mirror):
    script = runpy.run_path(str(SCRIPT))
    expected = {name: read_packed(data) for name, data in packaged().items()}
    made = script["border_files"](Store(mirror))
    assert {name: read_packed(data) for name, data in made} == expected
    corrected = ROOT / "builder/ruler_builder/text/corrected.toml"
    assert script["corrected"](Store(mirror)) == corrected.read_text(encoding="utf-8")


def test_python_and_the_builder_agree_about_white_space():
    characters = [chr(code) for code in range(0x110000)]
    white = re.compile(f"[{borders.WHITE_SPACE}]")
    assert [c for c in characters if c.isspace()] == [c for c in characters if white.match(c)]


WORDS = st.lists(st.sampled_from(["a", "One.", " ", "\n", "\u3000", "\xa0"]), min_size=1)


@given(WORDS.map("".join))
def test_folding_joins_the_words_by_single_spaces(text):
    assert folded(text) == " ".join(text.split())


@given(text=st.text("ab. é日", min_size=1).map(folded).filter(bool), data=st.data())
def test_packed_borders_give_the_sentences_back(text, data):
    starts = [0, *sorted(data.draw(st.sets(st.integers(1, len(text)))))]
    digest, steps = read_packed(packed_borders(text, starts))
    assert digest == sha256(text.encode()).hexdigest()
    lengths = [int(step) for step in steps.split(" ")]
    assert [sum(lengths[: place + 1]) for place in range(len(lengths))] == starts
    assert [*sliced(text, starts)] == [
        text[a:b].strip(" ") for a, b in pairwise([*starts, len(text)])
    ]


def test_another_text_is_refused_with_both_digests():
    with pytest.raises(RulerError) as refused:
        read_borders("essays", "embedded", "Another text.")
    digest, _ = read_packed(packaged()["essays.embedded.z"])
    assert str(refused.value).startswith(
        f"The sentence borders of 'essays' were made for a text with sha256 {digest}, and its text "
        f"has sha256 {sha256(b'Another text.').hexdigest()}: "
    )


def test_a_text_without_borders_is_refused_with_the_remedy():
    with pytest.raises(RulerError, match=r"'book-tr' are missing .* run builder/pin_texts.py"):
        read_borders("book-tr", "canonical", "Bir. İki.")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda packed: b"",
        lambda packed: packed[:-1],
        lambda packed: packed[:100] + bytes([packed[100] ^ 1]) + packed[101:],
        lambda packed: b"version https://git-lfs.github.com/spec/v1",
        lambda packed: zlib.compress(b"A line."),
        lambda packed: zlib.compress(b"A digest\nand words\n"),
        lambda packed: zlib.compress("\u00e9\n1\n".encode()),
    ],
)
def test_damaged_borders_are_refused_with_the_remedy(spoil, tmp_path, monkeypatch):
    (tmp_path / "borders").mkdir()
    (tmp_path / "borders/essays.embedded.z").write_bytes(spoil(packaged()["essays.embedded.z"]))
    monkeypatch.setattr(borders, "files", lambda package: tmp_path)
    with pytest.raises(RulerError, match=r"'essays' are damaged .*: install this package again"):
        read_borders("essays", "embedded", "A text.")


@pytest.mark.parametrize("code", ["en", "zh"])
def test_a_book_with_another_erratum_is_refused(code, store, monkeypatch):
    language = read_language(code, Sources(store, parse_sources_option(["embedded"])))
    book = language.book()
    monkeypatch.setattr(Language, "book", lambda _: f"{book} More.")
    with pytest.raises(RulerError, match="were made for a text with sha256"):
        next(iter(language.sentences()))


def test_the_builder_does_not_import_the_splitter_for_texts_with_borders(store):
    program = """
import sys
sys.modules["sentencex"] = None  # as if it were not installed
from ruler_builder.text.languages import read_language
from ruler_builder.text.sources import Sources
from ruler_builder.pinned import Store
from ruler_builder.parse_options import parse_sources_option
sources = Sources(Store(), parse_sources_option(["embedded"]))
print(next(read_language("en", sources).sentences()))
from ruler_builder.text.sentences import split
from ruler_common.errors import RulerError
try:
    list(split("Bir. İki.", "tr"))
except RulerError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    sentence, error = done.stdout.splitlines()
    assert sentence.endswith(".")
    assert error == (
        "The book of a custom language needs packages that are not installed (extra `languages`): "
        "pip install 'sentencex>=1.0.32'"
    )
