"""What the proof takes for foreign in a text: control characters and special tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruler_builder.reading.reading import foreign
from ruler_builder.sources.chosen_sources import Sources, parse_choice
from ruler_builder.sources.corpora import essays, questions
from ruler_builder.sources.download import Store


@pytest.mark.parametrize("char", ["\0", "\t", "\r", "\x1b", "\x90", "\x98", "\x9b", "\u2028"])
def test_a_control_character_is_foreign(char: str) -> None:
    assert foreign(f"one{char}two") == repr(char)


@pytest.mark.parametrize("token", ["<|im_end|>", "</s>", "[/INST]", "</think>", "<end_of_turn>"])
def test_a_special_token_of_a_model_is_foreign(token: str) -> None:
    assert foreign(f"one {token} two") == repr(token)


def test_nothing_in_the_public_texts_is_foreign(mirror: Path) -> None:
    sources = Sources(Store(mirror), parse_choice([]))
    assert foreign(essays(sources.read("essays"))) is None
    for name in ("squad", "hotpotqa"):
        documents = questions(name, sources.read(name)).documents
        assert [text for text in documents if foreign(text.replace("\n", " "))] == []
