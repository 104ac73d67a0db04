"""Token ids are the tokenizer's own, whatever makes them faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ruler_eval.run.preparing import token_ids
from ruler_eval.run.preparing.token_ids import TokenIds
from tests.shares import share

TEXTS = (
    "",
    "The special magic number for key-1 is: 8f14e45f-ceea.\n\n  don't  stop",
    "日本語 e\u0301 ½ 🙂👩‍👧 <|im_start|>user\nZażółć<|im_end|>",
    "tab\tand\r\nline",
)
FAMILIES = ("qwen2_5", "llama3_instruct")


@pytest.mark.mirror
@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("family", share(2, FAMILIES))
def test_ids_are_those_of_the_tokenizer(
    mirror_tokenizer: Callable[[str], Any], family: str, fast: bool
) -> None:
    tokenizer = mirror_tokenizer(family)
    ids = TokenIds(tokenizer, fast)
    for number, text in enumerate(TEXTS, 1):
        for raw in (False, True):
            wanted = list(tokenizer(text, add_special_tokens=raw, verbose=False)["input_ids"])
            assert ids(text, raw, ("vt_4k", number)) == wanted


class Planted:
    """An engine that goes wrong from the second text on."""

    def __init__(self, engine: Any, wrong: Callable[[list[int]], list[int]]) -> None:
        self.engine, self.wrong = engine, wrong

    def encode(self, text: str) -> Any:
        ids = self.engine.encode(text).tolist()
        return np.array(self.wrong(ids) if "magic" in text else ids)


@pytest.fixture
def planted(
    mirror_tokenizer: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[list[int]], list[int]]], TokenIds]:
    pytest.importorskip("gigatoken")
    tokenizer, make = mirror_tokenizer("qwen2_5"), token_ids._engine

    def with_fault(wrong: Callable[[list[int]], list[int]]) -> TokenIds:
        monkeypatch.setattr(token_ids, "_engine", lambda one: Planted(make(one), wrong))
        return TokenIds(tokenizer, fast=True)

    return with_fault


@pytest.mark.nightly
@pytest.mark.mirror
def test_ids_that_do_not_spell_the_text_are_never_taken(planted: Any) -> None:
    for wrong in (lambda ids: ids[:-1], lambda ids: [*ids, 5], lambda ids: [10**6]):
        ids = planted(wrong)
        assert ids.engine
        for index in range(1, 5):
            assert ids(TEXTS[1], False, ("vt_4k", index)) == ids.exact(TEXTS[1], False)


@pytest.mark.mirror
def test_at_the_first_other_ids_the_engine_is_dropped_and_named(planted: Any) -> None:
    letters: dict[str, int] = {}

    def in_letters(ids: list[int]) -> list[int]:  # they spell the text, in other tokens
        return [letters[sign] for sign in TEXTS[1].replace("\n", "Ċ").replace(" ", "Ġ")]

    ids = planted(in_letters)
    letters |= ids._library.get_vocab()
    assert ids("nothing wrong", False, ("vt_4k", 0)) == ids.exact("nothing wrong", False)
    assert ids.engine.startswith("gigatoken ")
    assert ids.problem is None
    exact = ids.exact(TEXTS[1], False)
    assert ids(TEXTS[1], False, ("vt_4k", 7)) != exact  # not compared: the next hundredth is
    assert ids(TEXTS[1], False, ("vt_4k", 100)) == exact
    assert "row 100 of vt_4k" in ids.problem
    assert ids.engine is None
    assert ids(TEXTS[1], False, ("vt_4k", 101)) == exact
