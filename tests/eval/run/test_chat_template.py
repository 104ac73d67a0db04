"""A chat template from a file: rendered, recorded, and refused in one sentence if it is wrong."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.chat_template import ChatTemplate
from ruler_eval.run.prompts import Prompter, load_model_tokenizer
from tests import in_process
from tests.documents import blocks
from tests.eval.run.run_options import model_options
from tests.eval.run.tiny_model import write_tokenizer

(LLAMA_2,) = blocks("docs/run.md", "Modes and chat templates", "jinja")
"""The last line of RULER's Table 6."""
ROW: dict[str, Any] = {
    "index": 0,
    "input": "Where is it?",
    "answer_prefix": " It is in",
    "max_new_tokens": 8,
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer that has no chat template, as a base model's."""
    folder = tmp_path_factory.mktemp("base")
    write_tokenizer(folder, template=None)
    return folder


def tokenizer_with(tmp_path: Path, text: str, model: Path) -> Any:
    """The model's tokenizer with a chat template from a file."""
    path = tmp_path / "own.jinja"
    path.write_text(text, encoding="utf-8")
    return load_model_tokenizer(model_options(str(model), chat_template=path))


def test_a_template_of_table_6_is_rendered_in_both_modes(tmp_path, model):
    tokenizer = tokenizer_with(tmp_path, LLAMA_2, model)
    prefill, chat = (Prompter(mode, tokenizer)("vt_4k", ROW) for mode in ("prefill", "chat"))
    assert prefill.text == "<s>[INST] Where is it? [/INST] It is in"
    assert chat.text == "<s>[INST] Where is it? [/INST]"
    assert list(prefill.token_ids or ()).count(tokenizer.bos_token_id) == 1


def test_a_template_is_recorded_by_name_and_digest(tmp_path, model):
    tokenizer = tokenizer_with(tmp_path, LLAMA_2, model)
    digest = hashlib.sha256((tmp_path / "own.jinja").read_bytes()).hexdigest()
    assert ChatTemplate.read(tmp_path / "own.jinja").facts() == {
        "name": "own.jinja",
        "sha256": digest,
    }
    assert Prompter("prefill", tokenizer).settings()["template_sha256"] == digest


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{% for m in messages %}", "'own.jinja' cannot be used: .*endfor.* Correct the file"),
        ("{{ raise_exception('no roles') }}", "'own.jinja' cannot be used: no roles"),
        ("{{ messages[3].content.text }}", "'own.jinja' cannot be used"),
        ("[INST] {task_template} [/INST]", "leaves out the user's message"),
    ],
)
def test_a_template_that_cannot_be_rendered_is_one_sentence(tmp_path, model, text, sentence):
    with pytest.raises(RulerError, match=sentence):
        tokenizer_with(tmp_path, text, model)


def test_a_run_resumes_only_with_its_own_template(small, tmp_path):
    path = tmp_path / "own.jinja"
    path.write_text(LLAMA_2, encoding="utf-8")
    flags = ("run", "-d", small, "-c", "all", "-b", "hf", "-m", tmp_path / "none", "-o", tmp_path)
    begun = {"format": 2, "chat_template": ChatTemplate.read(path).facts()}
    (tmp_path / "run.json").write_text(json.dumps(begun))
    without = in_process.ruler(*flags)
    assert without.code == 2
    assert "was run with chat_template = {" in without.stderr
    assert "not none" in " ".join(without.stderr.split())
    with_it = in_process.ruler(*flags, "--chat-template", path)
    assert with_it.code == 2  # there is no model
    assert "was run with" not in with_it.stderr


@pytest.mark.parametrize(
    ("data", "flags", "sentence"),
    [
        (None, (), "There is no chat template"),
        (b" \n", (), "is empty"),
        (b"\xff\xfe[INST]", (), "is not UTF-8 text"),
        (LLAMA_2.encode(), ("--mode", "completion"), "uses no chat template"),
        (LLAMA_2.encode(), ("--backend", "oracle"), "vllm serve MODEL --chat-template FILE"),
    ],
)
def test_a_file_that_is_not_a_template_ends_the_command_with_exit_code_2(
    small, tmp_path, data, flags, sentence
):
    path, out = tmp_path / "own.jinja", tmp_path / "RUN"
    if data is not None:
        path.write_bytes(data)
    done = in_process.ruler(
        *("run", "-d", small, "-c", "all", "--backend", "hf", "--model", "m", "-o", out),
        *("--chat-template", path, *flags),
    )
    assert done.code == 2
    assert sentence in " ".join(done.stderr.split())
    assert not out.exists()
