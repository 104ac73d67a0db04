"""Tokenizers count like their libraries, are digested, and are refused with a remedy."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_builder.pinned import Store
from ruler_builder.tokens.counting import TokenCounter
from ruler_builder.tokens.tokenizers import load_counter, named, pinned_files, split_spec
from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from tests.hub.client import environment
from tests.hub.fake_hub import FakeHub
from tests.in_process import ruler_command
from tests.nightly import mostly_nightly

# Named tokenizers that transformers counts, and their folders in the mirror
HF = {
    "qwen2.5": "qwen2_5",
    "llama3": "llama3_instruct",
    "mistral-nemo": "mistral_nemo",
    "gemma3": "gemma3",
}
TIKTOKEN = ["cl100k_base", "o200k_base"]
ALL_NAMED = ["cl100k_base", "o200k_base", "llama3", "qwen2.5", "gemma3", "mistral-nemo"]
# tekken is always tested, and so is a trained tokenizer of gemma3's form, which loads slowly
NAMED = mostly_nightly(3, ALL_NAMED)
KINDS = ("unigram", "wordpiece", "gpt2", "crossing", "whole", "fusing")

TEXTS = [
    "",
    " ",
    "The grass is green. The sky is blue.",
    "One of the special magic uuids for 8f14e45f-ceea-467f-a1f2-6f2d3c9a1b7e is: x.\n\n\n",
    "  Leading, trailing and\t\tdouble  space  \r\n\r\n",
    "VAR ABCDE = 12345\nVAR FGHIJ = VAR ABCDE\n... qzjwkd ... xwlupe",
    "Zażółć gęślą jaźń; 日本語のテキスト。한국어 텍스트 العربية हिन्दी 🙂👩‍👧 e\u0301 \u200b",
    "don't won't I'LL they'Ve 3.14 1,000,000 ½ Ⅷ http://a.b/c?d=e#f",
    "Special names: <s> </s> <bos> <|endoftext|> <|im_start|> [INST] <unk> <start_of_turn>",
    "def f(x):\n    return x  # > </b>\n\n\n\n\tend",
]
ANY_TEXT = st.text(max_size=40) | st.lists(st.sampled_from(TEXTS), max_size=4).map("".join)


def reference_transformers(folder: Path) -> Callable[[str], int]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    return lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"])


def disagreements(counter: TokenCounter, reference: Callable[[str], int]) -> list[str]:
    """Return the texts of TEXTS that are counted differently from the library.

    Raises AssertionError if a random text is.
    """

    @given(ANY_TEXT)
    def on_any_text(text: str) -> None:
        assert counter.count(text) == reference(text)

    on_any_text()
    assert counter.counts([]) == []
    return [
        text
        for text, tokens in zip(TEXTS, counter.counts(TEXTS), strict=True)
        if {tokens, counter.count(text)} != {reference(text)}
    ]


def test_tekken_counts_like_mistral_common(tekken):
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    (file,) = pinned_files("tekken")
    reference = Tekkenizer.from_file(file.wheel.installed())
    for part in ("_mergeable_ranks", "_special_tokens", "_pat_str"):
        assert getattr(tekken.tokenizer, part) == getattr(reference._model, part)

    def count(text: str) -> int:
        return len(reference.encode(text, bos=False, eos=False))

    assert disagreements(tekken, count) == []


@pytest.mark.parametrize("name", mostly_nightly(2, TIKTOKEN))
def test_openais_encodings_count_like_tiktoken(named_counter, mirror, tmp_path, monkeypatch, name):
    import tiktoken
    from tiktoken_ext.openai_public import ENCODING_CONSTRUCTORS

    (file,) = pinned_files(name)
    shutil.copy(mirror / file.path, tmp_path / hashlib.sha1(file.urls[0].encode()).hexdigest())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    encoding = tiktoken.Encoding(**ENCODING_CONSTRUCTORS[name]())
    assert (
        disagreements(named_counter(name), lambda text: len(encoding.encode_ordinary(text))) == []
    )


def test_files_are_read_if_symbolic_links_are_forbidden(mirror, monkeypatch):
    def refuse(*paths: object) -> None:
        raise OSError("A required privilege is not held by the client")

    monkeypatch.setattr("ruler_builder.tokens.tokenizers._in_use", {})
    monkeypatch.setattr(os, "symlink", refuse)
    assert load_counter("cl100k_base", Store(mirror)).count("Two words") == 2


@pytest.mark.parametrize("name", mostly_nightly(4, HF))
def test_named_models_count_like_transformers(named_counter, mirror, name):
    assert (
        disagreements(
            named_counter(name), reference_transformers(mirror / "tokenizers/hf" / HF[name])
        )
        == []
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_custom_tokenizer_counts_like_transformers(trained_tokenizer, trained_counter, kind):
    reference = reference_transformers(trained_tokenizer(kind))
    assert disagreements(trained_counter(kind), reference) == []


TRUNCATION = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    **{"strategy": {"Fixed": 32}, "direction": "Right", "pad_to_multiple_of": None},
    **{"pad_id": 0, "pad_type_id": 0, "pad_token": "!"},
}
SPECIAL, SEQUENCE = (
    {kind: {"id": key, "type_id": 0}} for kind, key in (("SpecialToken", "<s>"), ("Sequence", "A"))
)
POST_PROCESSOR = {
    "type": "TemplateProcessing",
    "single": [SPECIAL, SEQUENCE, SPECIAL],
    "pair": [SEQUENCE, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
}


@pytest.mark.parametrize(
    "changes", [{"truncation": TRUNCATION, "padding": PADDING}, {"post_processor": POST_PROCESSOR}]
)
def test_truncation_padding_and_special_tokens_change_no_count(
    trained_tokenizer, store, tmp_path, changes
):
    folder = shutil.copytree(trained_tokenizer("gpt2"), tmp_path / "altered")
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    counter = load_counter(f"mine={folder}", store)
    assert disagreements(counter, reference_transformers(folder)) == []


# ---- What the manifest says --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cl100k_base", "qwen2.5"])
def test_the_manifest_has_the_digests_of_a_named_tokenizers_files(
    named_counter, mirror, tekken, name
):
    about = named_counter(name).about
    assert about["spec"] == name
    assert about["sha256"] == {
        Path(file.path).name: sha256_of(mirror / file.path) for file in pinned_files(name)
    }
    (file,) = pinned_files("tekken")
    assert (tekken.about["library"], tekken.about["version"]) == ("mistral-common", "1.13.1")
    assert tekken.about["sha256"] == {"tekken_240911.json": file.sha256}
    assert tekken.counted_by == f"tiktoken {version('tiktoken')}"


def test_custom_tokenizers_have_different_digests(trained_tokenizer, store):
    def about(kind: str) -> dict[str, Any]:
        return load_counter(f"mine={trained_tokenizer(kind)}", store).about

    assert about("gpt2") == about("gpt2")
    assert about("gpt2")["spec"] == f"mine={trained_tokenizer('gpt2').name}"
    assert len(about("gpt2")["backend_sha256"]) == 64
    assert about("gpt2")["backend_sha256"] != about("crossing")["backend_sha256"]


def test_the_default_tokenizer_needs_no_network_if_its_package_is_installed(tmp_path):
    tmp_path.joinpath("empty").mkdir()
    assert load_counter("tekken", Store(tmp_path / "empty")).count("The grass is green.") == 5


def test_a_named_tokenizer_is_loaded_once(named_counter, mirror, tmp_path, monkeypatch):
    counter = named_counter("cl100k_base")
    assert load_counter("cl100k_base", Store(mirror)) is counter
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with pytest.raises(RulerError, match="cl100k_base"):
        load_counter("cl100k_base", Store(tmp_path))  # its file is searched for each time


# ---- Names and refusals ------------------------------------------------------------------------


def test_seven_tokenizers_are_named_tekken_first():
    assert list(named()) == ["tekken", "cl100k_base", "o200k_base", *HF]


@pytest.mark.parametrize(
    ("spec", "name_and_place"),
    [
        ("qwen2.5", ("qwen2.5", "qwen2.5")),
        ("mine=hf:ORG/NAME@main", ("mine", "hf:ORG/NAME@main")),
        ("my-2.1=/a/folder=with", ("my-2.1", "/a/folder=with")),
    ],
)
def test_a_tokenizer_is_given_by_name_or_by_name_and_place(spec, name_and_place):
    assert split_spec(spec) == name_and_place


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("qwen25", "Unknown tokenizer 'qwen25'. Did you mean 'qwen2.5'? See: ruler tokenizers"),
        ("hf:ORG/NAME", "or give another as NAME=hf:ORG/NAME, NAME=FOLDER or NAME=FILE.gguf"),
        ("mine.=folder", "'mine.' cannot name a tokenizer: begin with a letter or digit"),
        ("../mine=folder", "'../mine' cannot name a tokenizer"),
        ("=folder", "'' cannot name a tokenizer"),
        ("gemma3=folder", "'gemma3' cannot name a tokenizer, because `ruler tokenizers` lists"),
        ("Gemma3=folder", "use another, such as 'my-Gemma3'"),
        ("mine=", "'mine=' names no tokenizer: give mine=hf:ORG/NAME or mine=FOLDER"),
        ("mine=no/such.gguf", "there is no file 'no/such.gguf'"),
        ("mine=no/such/folder", "'no/such/folder' is not a folder; a Hub tokenizer is hf:ORG"),
    ],
)
def test_an_invalid_tokenizer_is_refused_with_the_remedy(store, spec, message):
    with pytest.raises(RulerError) as refusal:
        load_counter(spec, store)
    assert message in str(refusal.value)


def test_a_folder_without_a_tokenizer_or_with_a_damaged_one_is_refused(
    trained_tokenizer, store, tmp_path
):
    with pytest.raises(RulerError, match=f"'{tmp_path}' has no tokenizer: give the folder"):
        load_counter(f"mine={tmp_path}", store)
    folder = shutil.copytree(trained_tokenizer("gpt2"), tmp_path / "damaged")
    path = folder / "tokenizer.json"
    path.write_text(path.read_text()[:1000])
    with pytest.raises(RulerError, match="Cannot load tokenizer 'mine'") as refusal:
        load_counter(f"mine={folder}", store)
    assert "gated" not in str(refusal.value)


def test_a_gguf_file_is_refused_with_its_own_remedy(store, tmp_path, monkeypatch):
    with pytest.raises(RulerError, match="Give another file, or the folder of the model") as why:
        load_counter("mine=no/such.gguf", store)
    assert "gated" not in str(why.value)
    file = tmp_path / "small.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setattr("ruler_common.hub.find_spec", lambda name: None)  # without the extra
    with pytest.raises(RulerError) as why:
        load_counter(f"mine={file}", store)
    assert str(why.value).startswith("The tokenizer in a GGUF file needs packages that are not")
    assert str(why.value).endswith("'")  # the last package to install


def test_a_changed_byte_in_a_named_tokenizers_file_is_refused(mirror, tmp_path):
    (file,) = pinned_files("cl100k_base")
    path = tmp_path / file.path
    path.parent.mkdir(parents=True)
    path.write_bytes((mirror / file.path).read_bytes()[:-1] + b"X")
    with pytest.raises(RulerError, match=f"expected {file.sha256}"):
        load_counter("cl100k_base", Store(tmp_path))


def test_a_hub_tokenizer_without_a_network_is_refused_with_the_remedy(store):
    with pytest.raises(RulerError) as refusal:
        load_counter("mine=hf:ruler-tests/none@0123abc", store)
    message = str(refusal.value)
    assert "Cannot load tokenizer 'mine' from 'ruler-tests/none'" in message
    assert "without a network, give a folder" in message
    assert "\n" not in message


@pytest.mark.nightly
def test_a_gated_tokenizer_is_refused_with_the_remedy(tmp_path):
    hub = FakeHub()
    for method in ("GET", "HEAD"):
        hub.fail(method, "", 403, headers={"X-Error-Code": "GatedRepo"}, times=99)
    flags = ("--lengths", "1k", "--rows", "1", "--tokenizer", "mine=hf:ruler-tests/gated")
    done = subprocess.run(
        ruler_command("build", tmp_path / "out", *flags),
        env=environment(hub.url, tmp_path),
        capture_output=True,
        text=True,
    )
    hub.close()
    assert done.returncode == 2
    assert "Cannot load tokenizer 'mine' from 'ruler-tests/gated'" in done.stderr
    assert "If it is gated, accept its licence on the Hub and run 'hf auth login'" in done.stderr
    assert done.stderr.count("\n") == 1
