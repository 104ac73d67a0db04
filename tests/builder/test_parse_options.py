"""What the words of `--sources` and `--languages` mean."""

from __future__ import annotations

import re
from itertools import starmap

import pytest

from ruler_builder.parse_options import Pair, language_pairs, parse_sources_option
from ruler_builder.text.sources import registry
from ruler_common.errors import RulerError
from ruler_common.names import LANGUAGES

# ---- --languages ---------------------------------------------------------------------------------


def test_ruler_is_only_in_english():
    assert language_pairs("ruler") == [Pair("en", "en")]
    with pytest.raises(RulerError, match="--suite oneruler"):
        language_pairs("ruler", ("pl",))


def test_the_default_is_26_languages_and_six_pairs():
    pairs = language_pairs("oneruler")
    assert pairs[:26] == [Pair(code, code) for code in LANGUAGES]
    assert {f"{a}-{b}" for a, b in pairs[26:]} == {
        *["en-ko", "en-pl", "ko-en", "ko-pl", "pl-en", "pl-ko"]
    }
    assert language_pairs("oneruler", ("all",)) == pairs[:26]
    assert len(language_pairs("oneruler", instruction="ja")) == 26


@pytest.mark.parametrize(
    ("codes", "instruction", "pairs"),
    [
        (("pl", "zh-sw", "pl", " de"), None, [("pl", "pl"), ("zh", "sw"), ("de", "de")]),
        (("pl", "en"), "en", [("pl", "en"), ("en", "en")]),
    ],
)
def test_codes_and_pairs_are_used_once_and_in_order(codes, instruction, pairs):
    assert language_pairs("oneruler", codes, instruction=instruction) == [*starmap(Pair, pairs)]


@pytest.mark.parametrize(
    ("name", "instruction", "message"),
    [
        *[(name, None, "language") for name in ("xx", "en-xx", "en-ko-pl", "", "PL", "pl-all")],
        ("pl", "xx", "Unknown language 'xx'"),
        ("pl", "all", "Unknown language 'all'"),
        ("en-ko", "pl", "without --instruction-language"),
    ],
)
def test_an_invalid_language_is_refused(name, instruction, message):
    with pytest.raises(RulerError, match=message):
        language_pairs("oneruler", (name,), instruction=instruction)


# ---- --sources -----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["embedded", "squad=canonical"], ["embedded,squad=canonical"]])
def test_a_later_choice_overrides_an_earlier_one(words):
    assert parse_sources_option(words).embedded == registry().keys() - {"squad"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["squat=embedded"], "Unknown source 'squat'. Did you mean 'squad'? See: ruler sources"),
        (["squad=rebuilt"], "Unknown kind of source 'rebuilt'. Known: canonical, embedded."),
        (["embeded"], "Unknown kind of source 'embeded'. Did you mean 'embedded'?"),
        (["niah-en=embedded"], "choose --sources embedded for all of them, or for none"),
        (["embedded", "book-pl=canonical"], "--sources embedded for all of them, or for none"),
    ],
)
def test_an_invalid_choice_is_refused_with_a_suggestion(words, message):
    with pytest.raises(RulerError, match=re.escape(message)):
        parse_sources_option(words)
