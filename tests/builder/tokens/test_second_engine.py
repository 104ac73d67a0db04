"""gigatoken counts as the tokenizers' own libraries do, and is dropped once it does not."""

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
from ruler_builder.release.build import FileRows, build
from ruler_builder.release.plan import FileJob
from ruler_builder.tasks.base import NewRow
from ruler_builder.tokens import counting as second_engine
from ruler_builder.tokens.counting import (
    EngineMismatch,
    TokenCounter,
    engine_counter,
    with_engine,
)
from ruler_builder.tokens.tokenizers import load_counter
from ruler_common.manifest import read_manifest
from ruler_common.names import Config
from ruler_release.api import verify
from tests.builder.tokens.test_tokenizers import ANY_TEXT, KINDS, LAWS, NAMED, TEXTS

pytest.importorskip("gigatoken")  # the extra `fast`, part of the extra `test`
GIGATOKEN = f"gigatoken {version('gigatoken')}"
LIBRARIES = {"tekken": "mistral-common", "cl100k_base": "tiktoken", "o200k_base": "tiktoken"}


@pytest.mark.parametrize("name", ["tekken", *NAMED])
def test_the_engine_counts_a_named_tokenizer_as_its_library_does(counter_of, embedded_text, name):
    reference = counter_of(name)
    counter = with_engine(reference)
    assert counter.reference is reference
    assert counter.counted_by == GIGATOKEN
    library = LIBRARIES.get(name, "tokenizers")
    assert reference.counted_by == f"{library} {version(library)}"
    assert counter.split_points == reference.split_points
    assert counter.about == reference.about

    @LAWS
    @given(ANY_TEXT)
    def on_any_text(text: str) -> None:
        assert counter.count(text) == reference.count(text)

    on_any_text()
    texts = [*TEXTS, embedded_text]
    assert counter.counts(texts) == reference.counts(texts)


def test_a_special_tokens_name_in_a_text_is_ordinary_text(counter_of):
    for name in ("tekken", "cl100k_base", "o200k_base"):
        counter = with_engine(counter_of(name))
        for special in ("<|endoftext|>", "<|endofprompt|>", "<s>", "[INST]"):
            assert counter.count(special) > 1, (name, special)


@pytest.mark.parametrize("kind", KINDS)
def test_a_users_tokenizer_is_counted_right_with_or_without_the_engine(
    counter_made, embedded_text, kind
):
    reference = counter_made(kind)
    texts = [*TEXTS, embedded_text[:20_000]]
    assert with_engine(reference).counts(texts) == reference.counts(texts)


def test_a_vocabulary_without_some_bytes_is_counted_by_both(made, store, tmp_path):
    """As SmolLM2's: gigatoken wants all 256, and the reference leaves out what it does not know."""
    described = json.loads((made("gpt2") / "tokenizer.json").read_text(encoding="utf-8"))
    for sign in ("Ą", "ñ", "ÿ"):  # the bytes 0x04, 0xf1 and 0xff
        del described["model"]["vocab"][sign]
    shutil.copytree(made("gpt2"), tmp_path / "few")
    (tmp_path / "few/tokenizer.json").write_text(json.dumps(described), encoding="utf-8")
    reference = load_counter(f"mine={tmp_path / 'few'}", store)
    counter = with_engine(reference)
    assert counter.reference is reference
    texts = [*TEXTS, "\x04", "a\x04b", "\U00040000 and \U00080000", "ñ ÿ"]
    assert counter.counts(texts) == reference.counts(texts)
    assert reference.count("\x04") == 0


def test_without_gigatoken_the_reference_counts(tekken, monkeypatch):
    monkeypatch.setitem(sys.modules, "gigatoken", None)
    assert with_engine(tekken) is tekken
    assert tekken.confirmed_count("The grass is green.", "row 0") == 5


def test_the_first_row_and_one_in_a_hundred_are_sampled():
    counted = []

    def confirmed_count(text: str, where: str) -> int:
        counted.append(where)
        return 1

    columns: Any = {"input": "", "answer_prefix": "", "max_new_tokens": 1, "length": 2}
    task: Any = SimpleNamespace(
        row=lambda index: NewRow(columns, None, 0),
        limit=lambda: None,
        counter=SimpleNamespace(confirmed_count=confirmed_count),
    )
    job = FileJob(Config("ruler", "vt", "4k"), "tekken", rows=250)
    assert len(list(FileRows(job, task))) == 250
    assert counted == [f"row {index} of vt_4k" for index in (0, 100, 200)]


# ---- An engine that counts wrongly --------------------------------------------------------------


class Wrong:
    """Counts short texts right, so that it is not refused at once, and long ones wrong."""

    def __init__(self, reference: TokenCounter) -> None:
        self.reference = reference

    def encode(self, text: str) -> list[int]:
        return [0] * (self.reference.count(text) - (len(text) > 500))


def wrong(reference: TokenCounter) -> TokenCounter:
    return engine_counter(reference, Wrong(reference))


@pytest.fixture
def wrong_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_engine, "_load_engine", wrong)


def order(root: Path) -> BuildOptions:
    tasks = ("niah_single_1", "qa_1")
    return BuildOptions(root, lengths=("2k",), tasks=tasks, samples=3, sources=("embedded",))


def rows_and_engines(root: Path) -> list[tuple[str, Any]]:
    files = read_manifest(root)["files"].values()
    return [(entry["rows_sha256"], entry["counted_by"]) for entry in files]


@pytest.mark.usefixtures("wrong_engine")
def test_one_mismatch_is_a_sentence(tekken):
    counter = with_engine(tekken)
    text = "The grass is green. " * 100
    with pytest.raises(EngineMismatch) as mismatch:
        counter.confirmed_count(text, "row 100 of vt_4k")
    exact = tekken.count(text)
    assert str(mismatch.value) == (
        f"{GIGATOKEN} counts {exact - 1} tokens in row 100 of vt_4k, {tekken.counted_by} counts "
        f"{exact}: this file is counted again without it."
    )


def test_a_build_drops_a_wrong_engine_and_counts_again(tmp_path, monkeypatch, caplog):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "gigatoken", None)
        build(order(tmp_path / "reference"))
    build(order(tmp_path / "fast"))
    monkeypatch.setattr(second_engine, "_load_engine", wrong)
    build(order(tmp_path / "wrong"))
    right = rows_and_engines(tmp_path / "reference")
    assert rows_and_engines(tmp_path / "wrong") == right
    assert [digest for digest, _ in rows_and_engines(tmp_path / "fast")] == [d for d, _ in right]
    assert {engine for _, engine in rows_and_engines(tmp_path / "fast")} == {GIGATOKEN}
    assert len(caplog.messages) == 2  # one per file
    assert all(message.startswith(f"{GIGATOKEN} counts ") for message in caplog.messages)


def test_verify_drops_a_wrong_engine_and_counts_again(tmp_path, monkeypatch, caplog):
    build(order(tmp_path / "right"))
    with monkeypatch.context() as patch:
        patch.setattr(second_engine, "_load_engine", wrong)
        report = verify(tmp_path / "right")
    assert report.ok, [file.problems for file in report.files.values() if file.count]
    assert report.proved
    assert all(message.startswith(f"{GIGATOKEN} counts ") for message in caplog.messages)
    assert len(caplog.messages) == 2
    assert sum(file.rows for file in report.files.values()) == 2 * 3
