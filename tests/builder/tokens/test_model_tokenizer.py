"""The frozen rows that are exact for a model are found by its tokenizer or its name."""

from __future__ import annotations

import json
import shutil

import pytest

from ruler_builder.tasks.base import DATA_VERSION
from ruler_builder.tokens.model_tokenizer import (
    find_model_tokenizer,
    frozen_datasets,
    tokenizer_by_name,
    vocabulary_digest,
)
from ruler_builder.tokens.tokenizers import named
from ruler_common.errors import RulerError
from tests.in_process import ruler_output


def tokenizers_for(model: object) -> str:
    """Return the output of `ruler tokenizers --for MODEL` in one line."""
    return " ".join(ruler_output("tokenizers", "--for", model).split())


def test_every_named_tokenizer_has_frozen_rows():
    datasets = {name: frozen_datasets(name, DATA_VERSION) for name in named()}
    assert datasets["tekken"] == datasets["o200k_base"] == ["ruler", "oneruler"]
    assert datasets["qwen2.5"] == ["ruler"]
    assert all(datasets.values())


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("name", "folder"),
    [("qwen2.5", "qwen2_5"), pytest.param("gemma3", "gemma3", marks=pytest.mark.nightly)],
)
def test_the_folder_of_a_named_tokenizer_is_recognised(name, folder, mirror, tmp_path, monkeypatch):
    """Only the folder is read, so that no source needs to be fetched."""
    monkeypatch.setenv("RULER_MIRROR", str(tmp_path))
    place = mirror / "tokenizers/hf" / folder
    result = find_model_tokenizer(str(place))
    assert (result.name, result.proved) == (name, True)
    assert f"frozen rows such as all_8k_{name} (ruler) are exact for it." in tokenizers_for(place)


def test_special_tokens_and_the_form_of_merges_do_not_matter(trained_tokenizer):
    """Qwen3 adds tokens such as <think> to Qwen2.5's tokenizer; old files write merges as "a b"."""
    path = trained_tokenizer("gpt2") / "tokenizer.json"
    described = json.loads(path.read_bytes())
    described["added_tokens"].append({"id": 9999, "content": "<think>", "special": True})
    pairs = [m.split(" ") if isinstance(m, str) else m for m in described["model"]["merges"]]
    for merges, is_equal in ((pairs, True), (map(" ".join, pairs), True), (pairs[:-1], False)):
        described["model"]["merges"] = [*merges]
        original = json.loads(path.read_bytes())
        assert (vocabulary_digest(described) == vocabulary_digest(original)) is is_equal


def test_another_tokenizer_has_no_frozen_rows_whatever_its_name(trained_tokenizer, tmp_path):
    folder = shutil.copytree(trained_tokenizer("gpt2"), tmp_path / "Qwen2.5-tuned")
    assert find_model_tokenizer(str(folder)).name is None
    text = tokenizers_for(folder)
    assert f"No frozen rows are exact for the tokenizer of '{folder}'." in text
    assert f"ruler build custom --tokenizer NAME={folder} --lengths 4k" in text


def test_a_model_without_tokenizer_files_is_recognised_by_its_name():
    result = find_model_tokenizer("gpt-4o-mini")
    assert (result.name, result.proved, result.spec) == ("o200k_base", False, None)
    text = tokenizers_for("gpt-4o-mini")
    assert "Judging by its name, 'gpt-4o-mini' uses the tokenizer o200k_base" in text
    assert "Its files were not compared: this name has no tokenizer files." in text


def test_the_name_decides_if_the_hub_cannot_be_reached(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    result = find_model_tokenizer("Qwen/Qwen3-8B")
    assert (result.name, result.proved, result.spec) == ("qwen2.5", False, "hf:Qwen/Qwen3-8B")
    assert result.reason
    with pytest.raises(RulerError):
        find_model_tokenizer("ORG/unknown")
    with pytest.raises(RulerError, match="is not a folder, a GGUF file, a Hub repository"):
        find_model_tokenizer("unknown")


@pytest.mark.parametrize(
    ("text", "message"), [("{", "cannot be read as JSON"), ("{}", "does not describe a tokenizer")]
)
def test_a_damaged_tokenizer_file_is_refused(text, message, tmp_path):
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(RulerError, match=message):
        find_model_tokenizer(str(tmp_path))


def test_a_tokenizer_file_is_not_taken_for_a_repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/tokenizer.json").write_text("{}")
    with pytest.raises(RulerError, match="is a file: give the folder of the model, or a GGUF"):
        find_model_tokenizer("mine/tokenizer.json")


@pytest.mark.parametrize(
    ("model", "tokenizer"),
    [
        ("Qwen/Qwen3-8B", "qwen2.5"),
        ("Qwen/Qwen2.5-7B-Instruct-1M", "qwen2.5"),
        ("Qwen/Qwen3.5-9B", None),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama3"),
        ("meta-llama/Llama-3.1-8B", "llama3"),
        ("meta-llama/Llama-2-7b-hf", None),
        ("openai/gpt-oss-20b", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("google/gemma-3-4b-it", "gemma3"),
        ("google/gemma-2-9b-it", None),
        ("mistralai/Mistral-Nemo-Instruct-2407", "tekken"),
        ("mistralai/Mistral-7B-Instruct-v0.3", None),
    ],
)
def test_a_model_family_is_recognised_by_its_name(model, tokenizer):
    assert tokenizer_by_name(model) == tokenizer
