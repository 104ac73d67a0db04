"""Which languages of text and instruction a command asks for."""

from __future__ import annotations

import pytest

from ruler_builder.text.languages import Pair, language_pairs
from ruler_common.errors import RulerError
from ruler_common.names import LANGUAGES


def test_ruler_is_in_english() -> None:
    assert language_pairs("ruler") == [Pair("en", "en")]
    with pytest.raises(RulerError, match="--suite oneruler"):
        language_pairs("ruler", ("pl",))


def test_the_default_is_all_26_languages_and_three_crossed_in_six_directions() -> None:
    found = language_pairs("oneruler")
    assert found[:26] == [Pair(code, code) for code in LANGUAGES]
    assert {f"{a}-{b}" for a, b in found[26:]} == {
        "en-ko", "en-pl", "ko-en", "ko-pl", "pl-en", "pl-ko",
    }  # fmt: skip
    assert language_pairs("oneruler", ("all",)) == found[:26]


def test_codes_and_pairs_are_taken_in_order_and_once() -> None:
    found = language_pairs("oneruler", ("pl", "zh-sw", "pl", "de"))
    assert found == [Pair("pl", "pl"), Pair("zh", "sw"), Pair("de", "de")]


def test_one_language_can_instruct_in_every_other() -> None:
    found = language_pairs("oneruler", ("pl", "en"), instruction="en")
    assert found == [Pair("pl", "en"), Pair("en", "en")]
    assert len(language_pairs("oneruler", instruction="ja")) == 26


def test_blanks_around_a_code_are_left_out() -> None:
    assert language_pairs("oneruler", ("pl", " ko")) == [Pair("pl", "pl"), Pair("ko", "ko")]


@pytest.mark.parametrize("code", ["xx", "all"])
def test_an_unknown_language_of_the_instruction_is_refused(code: str) -> None:
    with pytest.raises(RulerError, match=f"Unknown language '{code}'"):
        language_pairs("oneruler", ("pl",), instruction=code)


@pytest.mark.parametrize("name", ["xx", "en-xx", "en-ko-pl", "", "PL", "pl-all", "all-en"])
def test_what_is_no_language_is_refused(name: str) -> None:
    with pytest.raises(RulerError, match="language"):
        language_pairs("oneruler", (name,))


def test_a_pair_beside_an_instruction_language_is_refused() -> None:
    with pytest.raises(RulerError, match="without --instruction-language"):
        language_pairs("oneruler", ("en-ko",), instruction="pl")
