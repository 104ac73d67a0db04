"""`ruler analyze --dataset`: the same texts counted by several tokenizers, without a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import mean

import pytest

import ruler_dataset
from ruler_common.errors import RulerError
from ruler_common.manifest import read_manifest
from ruler_common.rows import indices_of
from ruler_release import api
from tests.embedded_release import build_embedded
from tests.in_process import ruler

CONFIGS = ("niah_single_8k_en", "niah_single_8k_zh", "niah_single_8k_en-zh")


@pytest.fixture(scope="module")
def folder(trained_tokenizer: Callable[[str], Path]) -> Path:
    """A custom tokenizer: every byte is a token, so three to a Chinese character."""
    return trained_tokenizer("single_bytes")


def test_each_language_has_the_mean_tokens_of_its_rows(oneruler, folder):
    result = api.tokens_by_tokenizer(oneruler, f"bytes={folder}", configs=CONFIGS, limit=3)
    assert (result["dataset"], result["fitted_under"], result["rows"]) == ("oneruler", "tekken", 9)
    manifest = read_manifest(oneruler)
    for config, language in zip(CONFIGS, ("en", "zh", "en-zh"), strict=True):
        file = next(file for file in manifest["files"].values() if file["config"] == config)
        rows = {row["index"]: row for row in ruler_dataset.load(oneruler, config)}
        first = [rows[index] for index in indices_of(manifest, file)[:3]]
        tekken = [row["length"] - row["max_new_tokens"] for row in first]
        in_bytes = [len((row["input"] + row["answer_prefix"]).encode()) for row in first]
        assert result["tokens"]["tekken"]["8k"][language] == mean(tekken)
        assert result["tokens"]["bytes"]["8k"][language] == mean(in_bytes)
    assert [*result["tokens"]] == ["tekken", "bytes"]


def test_the_command_prints_a_column_for_each_and_writes_them(oneruler, folder, tmp_path):
    out = tmp_path / "tokens.json"
    done = ruler(
        *("analyze", "--dataset", oneruler, "--tokenizer", f"bytes={folder}", "--tokenizer"),
        *("tekken", "--lengths", "8k", "--configs", "niah_8k_en,niah_8k_zh", "--out", out),
    )
    assert done.code == 0, done.stderr
    assert "Mean prompt tokens of the same 10 rows by tokenizer, fitted under tekken" in done.stdout
    header = next(line for line in done.stdout.splitlines() if line.startswith("length"))
    assert header.split() == ["length", "language", "tekken", "bytes"]
    counted = json.loads(out.read_text(encoding="utf-8"))["text_tokens"]["tokens"]
    assert counted["bytes"]["8k"]["zh"] > 2 * counted["tekken"]["8k"]["zh"]


def test_the_shortest_length_comes_first(tmp_path, folder):
    build_embedded(tmp_path / "ruler", lengths=("16k", "4k"), tasks=("vt",), rows=1)
    counted = api.tokens_by_tokenizer(tmp_path / "ruler", f"bytes={folder}")
    assert [*counted["tokens"]["bytes"]] == ["4k", "16k"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Name results.json files, or add --dataset and --tokenizer."),
        (("--dataset", "here"), "add both --dataset and --tokenizer."),
        (("--tokenizer", "tekken"), "add both --dataset and --tokenizer."),
        (("--dataset", "here", "--tokenizer", "tekkn"), "Did you mean 'tekken'?"),
        (("--dataset", "here", "--tokenizer", "mine=./nowhere"), "nowhere"),
        (("--dataset", "here", "--tokenizer", "cl100k_base", "--lengths", "16k"), "no rows at 16k"),
    ],
)
def test_a_mistake_is_a_sentence(oneruler, arguments, sentence):
    done = ruler("analyze", *(str(oneruler) if word == "here" else word for word in arguments))
    assert done.code == 2
    assert sentence in " ".join(done.stderr.split())


def test_two_tokenizers_of_one_name_are_refused(oneruler, folder):
    with pytest.raises(RulerError, match="Two tokenizers are called 'bytes'"):
        api.tokens_by_tokenizer(oneruler, [f"bytes={folder}", f"bytes={folder}/."])


def test_only_rows_fitted_under_one_tokenizer_are_the_same_texts(folder, tmp_path):
    tokenizers = ["tekken", f"bytes={folder}"]
    asked = {"tasks": "vt", "lengths": "4k", "rows": 2, "sources": "embedded"}
    api.build(tmp_path / "two", tokenizers=tokenizers, **asked)
    result = api.tokens_by_tokenizer(tmp_path / "two", tokenizers)
    assert (result["fitted_under"], result["rows"]) == ("tekken", 1)
    assert result["tokens"]["bytes"]["4k"]["en"] > 2 * result["tokens"]["tekken"]["4k"]["en"]
    with pytest.raises(RulerError, match="have the tokenizers bytes, tekken: name configurations"):
        api.tokens_by_tokenizer(tmp_path / "two", tokenizers, configs=["vt_4k_bytes", "vt_4k"])
