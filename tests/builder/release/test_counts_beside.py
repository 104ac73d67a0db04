"""A model's tokenizer beside the named ones, and families that are known by their names."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from ruler_builder.release.suited_rows import (
    CHINESE,
    counts_beside,
    sample_texts,
    tokenizer_by_name,
)
from ruler_builder.tokens.counters import TiktokenCounter, TokenCounter
from ruler_builder.tokens.tokenizers import named


def test_the_texts_are_of_the_kinds_that_rows_are_made_of() -> None:
    texts = sample_texts()
    assert [*texts] == ["essays", "documents", "numbers", "words", CHINESE]
    assert texts == sample_texts()
    assert min(map(len, texts.values())) > 20
    assert all(text.strip() for some in texts.values() for text in some)
    assert sum("uuids" in text for text in texts["numbers"]) == 200


def test_a_tokenizer_is_exact_beside_itself_alone(
    tekken: TiktokenCounter, counter_made: Callable[[str], TokenCounter]
) -> None:
    texts = {kind: some[:40] for kind, some in sample_texts().items()}
    same = counts_beside(tekken, tekken, texts)
    assert (same.exact, same.equal, same.distance) == (True, same.texts, 0)
    own = counter_made("gpt2")
    other = counts_beside(own, tekken, texts)
    assert not other.exact
    assert other.texts == sum(map(len, texts.values()))
    counted = [sum(counter.counts(texts["essays"])) for counter in (own, tekken)]
    assert other.ratios["essays"] == counted[0] / counted[1]
    english = [ratio for kind, ratio in other.ratios.items() if kind != CHINESE]
    assert other.longest == max(english)
    assert other.distance == max(abs(ratio - 1) for ratio in english)


@pytest.mark.parametrize(
    ("model", "tokenizer"),
    [
        ("Qwen/Qwen3-8B", "qwen2.5"),
        ("Qwen/Qwen2.5-7B-Instruct@main", "qwen2.5"),
        ("/models/qwen3-0.6b/", "qwen2.5"),
        ("Qwen/Qwen3.5-9B-Instruct", None),  # another vocabulary, of 248,320
        ("Qwen/Qwen-7B", None),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama3"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3"),
        ("meta-llama/Llama-2-7b-hf", None),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", None),
        ("openai/gpt-oss-20b", "o200k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("google/gemma-3-4b-it", "gemma3"),
        ("google/gemma-2-9b-it", None),
        ("mistralai/Mistral-Nemo-Instruct-2407", "tekken"),
        ("mistralai/Mistral-7B-Instruct-v0.3", None),
    ],
)
def test_a_family_is_known_by_the_first_part_of_its_name(model: str, tokenizer: str | None) -> None:
    assert tokenizer_by_name(model) == tokenizer


def test_openais_families_are_those_of_tiktokens_own_table() -> None:
    from tiktoken.model import encoding_name_for_model

    for name in ("cl100k_base", "o200k_base"):
        for family in named()[name]["models"]:
            found = encoding_name_for_model(f"{family}-2" if family == "gpt-oss" else family)
            assert found.replace("harmony", "base") == name  # which adds special tokens alone


def test_mistrals_families_share_one_vocabulary() -> None:
    """As mistral-common's table has it: Ministral and Nemo an older file, Pixtral the newer one."""
    folder = Path(str(files("mistral_common") / "data"))
    paths = [folder / f"tekken_{day}.json" for day in (240718, 240911)]
    old, new = (json.loads(path.read_bytes()) for path in paths)
    assert old["config"] == new["config"]
    bytes_of = [[token["token_bytes"] for token in found["vocab"]] for found in (old, new)]
    assert bytes_of[0] == bytes_of[1]
