"""gigatoken counts like the tokenizers' libraries, and is dropped as soon as it does not."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given

from ruler_builder.options import BuildOptions
from ruler_builder.release import build as build_module
from ruler_builder.release.build import plan_build
from ruler_builder.release.worker import FileJob, FileRows
from ruler_builder.tasks.base import NewRow
from ruler_builder.tokens import counting
from ruler_builder.tokens.counting import (
    CountsDiffer,
    TokenCounter,
    gigatoken_counter,
    with_gigatoken,
)
from ruler_builder.tokens.tokenizers import load_counter
from ruler_common.manifest import read_manifest
from ruler_common.names import Config
from ruler_release.api import verify
from tests.builder.tokens.test_tokenizers import ALL_NAMED, ANY_TEXT, KINDS, TEXTS
from tests.embedded_release import build_embedded
from tests.nightly import mostly_nightly

pytest.importorskip("gigatoken")  # the extra `fast`, part of the extra `test`
GIGATOKEN = f"gigatoken {version('gigatoken')}"
LIBRARIES = {"tekken": "tiktoken", "cl100k_base": "tiktoken", "o200k_base": "tiktoken"}


@pytest.mark.parametrize("name", ["tekken", *mostly_nightly(6, ALL_NAMED)])
def test_gigatoken_counts_like_the_library_of_a_named_tokenizer(named_counter, embedded_text, name):
    reference = named_counter(name)
    counter = with_gigatoken(reference)
    assert counter.reference is reference
    assert counter.counted_by == GIGATOKEN
    library = LIBRARIES.get(name, "tokenizers")
    assert reference.counted_by == f"{library} {version(library)}"
    assert counter.split_points == reference.split_points
    assert counter.about == reference.about

    @given(ANY_TEXT)
    def on_any_text(text: str) -> None:
        assert counter.count(text) == reference.count(text)

    on_any_text()
    texts = [*TEXTS, embedded_text]
    assert counter.counts(texts) == reference.counts(texts)


def test_the_names_of_special_tokens_are_ordinary_text(named_counter):
    for name in ("tekken", "cl100k_base"):
        counter = with_gigatoken(named_counter(name))
        for special in ("<|endoftext|>", "<|endofprompt|>", "<s>", "[INST]"):
            assert counter.count(special) > 1, (name, special)


def test_custom_tokenizers_are_counted_exactly_with_gigatoken(trained_counter, embedded_text):
    texts = [*TEXTS, embedded_text[:20_000], "\x04", "a\x04b", "\U00040000 and \U00080000", "ñ ÿ"]
    for reference in map(trained_counter, KINDS):
        assert with_gigatoken(reference).counts(texts) == reference.counts(texts)


def test_bytes_missing_in_a_vocabulary_are_left_to_the_reference(
    trained_tokenizer, store, tmp_path
):
    folder = shutil.copytree(trained_tokenizer("gpt2"), tmp_path / "few")
    described = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    for character in ("Ą", "ñ", "ÿ"):  # the bytes 0x04, 0xf1 and 0xff
        del described["model"]["vocab"][character]
    (folder / "tokenizer.json").write_text(json.dumps(described), encoding="utf-8")
    reference = load_counter(f"mine={folder}", store)
    assert reference.count("\x04") == 0
    counter = with_gigatoken(reference)
    assert counter.reference is reference
    texts = [*TEXTS, "\x04", "a\x04b", "\U00040000 and \U00080000", "ñ ÿ"]
    assert counter.counts(texts) == reference.counts(texts)


def test_without_gigatoken_the_reference_counts(tekken, monkeypatch):
    monkeypatch.setitem(sys.modules, "gigatoken", None)
    assert with_gigatoken(tekken) is tekken
    assert tekken.confirmed_count("The grass is green.", "row 0") == 5


def test_the_first_row_and_every_hundredth_are_confirmed():
    confirmed = []

    def confirmed_count(text: str, place: str) -> int:
        confirmed.append(place)
        return 1

    columns: Any = {"input": "", "answer_prefix": "", "max_new_tokens": 1, "length": 2}
    task: Any = SimpleNamespace(
        row=lambda index: NewRow(columns, None, 0),
        max_rows=None,
        counter=SimpleNamespace(confirmed_count=confirmed_count),
    )
    job = FileJob(Config("ruler", "vt", "4k"), "tekken", rows=250)
    assert len(list(FileRows(job, task))) == 250
    assert confirmed == [f"row {index} of vt_4k" for index in (0, 100, 200)]


def test_gigatoken_is_loaded_only_for_work_that_is_worth_it(tmp_path, tekken):
    small = build_embedded(tmp_path / "small", lengths=("4k",), tasks=("vt",), rows=1)
    assert [entry["counted_by"] for entry in small.manifest["files"].values()] == [
        tekken.counted_by
    ]
    large = build_embedded(tmp_path / "large", lengths=("64k",), tasks=("vt",), rows=2)
    assert [entry["counted_by"] for entry in large.manifest["files"].values()] == [GIGATOKEN]


def test_the_texts_count_as_work_too(tmp_path):
    options = {"lengths": "4k", "tasks": "qa_2", "rows": 1}
    (published,) = plan_build(BuildOptions(tmp_path, **options)).missing  # HotpotQA has 46 MB
    (embedded,) = plan_build(BuildOptions(tmp_path, **options, sources="embedded")).missing
    assert (published.fast, embedded.fast) == (True, False)


# ---- Wrong counts -------------------------------------------------------------------------------


class WrongTokenizer:
    """Count short texts correctly, to pass the first check, and long ones incorrectly."""

    def __init__(self, reference: TokenCounter) -> None:
        self.reference = reference

    def encode(self, text: str) -> list[int]:
        return [0] * (self.reference.count(text) - (len(text) > 500))


def wrong_counter(reference: TokenCounter) -> TokenCounter:
    return gigatoken_counter(reference, WrongTokenizer(reference))


def rows_and_libraries(root: Path) -> list[tuple[str, Any]]:
    files = read_manifest(root)["files"].values()
    return [(entry["rows_sha256"], entry["counted_by"]) for entry in files]


def test_a_build_and_a_verification_drop_wrong_counts_and_count_again(
    tmp_path, monkeypatch, caplog, tekken
):
    monkeypatch.setattr(build_module, "_TOKENS_WORTH_GIGATOKEN", 0)
    options = {"lengths": ("2k",), "tasks": ("niah_single_1", "qa_1"), "rows": 3}
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "gigatoken", None)
        build_embedded(tmp_path / "reference", **options)
    build_embedded(tmp_path / "fast", **options)
    reference, fast = (rows_and_libraries(tmp_path / name) for name in ("reference", "fast"))
    assert [(digest, GIGATOKEN) for digest, _ in reference] == fast
    assert caplog.messages == []
    monkeypatch.setattr(counting, "_load_gigatoken", wrong_counter)
    text = "The grass is green. " * 100
    with pytest.raises(CountsDiffer) as mismatch:
        with_gigatoken(tekken).confirmed_count(text, "row 100 of vt_4k")
    assert str(mismatch.value) == (
        f"{GIGATOKEN} counts 500 tokens in row 100 of vt_4k, {tekken.counted_by} counts 501: "
        "this file is counted again without it."
    )
    build_embedded(tmp_path / "wrong", **options)
    assert rows_and_libraries(tmp_path / "wrong") == reference
    assert verify(tmp_path / "fast").proved
    assert len(caplog.messages) == 4  # one for each file, from build and verify
    assert all(message.startswith(f"{GIGATOKEN} counts ") for message in caplog.messages)
