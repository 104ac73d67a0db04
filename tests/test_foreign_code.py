"""Code in a tokenizer's or model's folder never runs, even if the user answers yes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.in_process import ruler_command
from tests.nightly import mostly_nightly

CODE = """from pathlib import Path
Path(__file__).with_name("ran").touch()
from transformers import PreTrainedTokenizerFast as Custom, PretrainedConfig as CustomConfig
Path({marker!r}).touch()
"""
TOKENIZER = {"AutoTokenizer": ["custom.Custom", "custom.Custom"]}
MODEL = {"AutoConfig": "custom.CustomConfig", "AutoModelForCausalLM": "custom.Custom"}
SMALL = ("--sources", "embedded", "--lengths", "1k", "--rows", "2", "--workers", "1")
RELEASE = ("--dataset", "ruler", "--configs", "vt_4k", "--out", "out")
SERVER = ("--model", "m", "--base-url", "http://127.0.0.1:9/v1")
COMMANDS = {
    "build": ("build", "out", "--tokenizer", "mine=mine", "--tasks", "niah_single_1", *SMALL),
    "hf": ("run", *RELEASE, "--backend", "hf", "--model", "mine"),
    "openai": ("run", *RELEASE, "--backend", "openai", *SERVER, "--tokenizer", "mine"),
    "batch of vllm": ("batch", "write", *RELEASE, "--model", "mine"),
}


@pytest.fixture
def folder(trained_tokenizer: Callable[[str], Path], release: Path, tmp_path: Path) -> Path:
    """Make the folder `mine` of a valid tokenizer whose configuration names custom code."""
    (tmp_path / "ruler").symlink_to(release)
    path = Path(shutil.copytree(trained_tokenizer("gpt2"), tmp_path / "mine"))
    for name, auto_map in (
        ("tokenizer_config.json", TOKENIZER),
        ("config.json", MODEL | TOKENIZER),
    ):
        file = path / name
        config = json.loads(file.read_bytes()) if file.exists() else {"model_type": "custom"}
        config |= {"auto_map": auto_map, "tokenizer_class": "Custom"}
        file.write_text(json.dumps(config))
    (path / "custom.py").write_text(CODE.format(marker=str(tmp_path / "ran")))
    return path


def traces_of_code(folder: Path) -> list[Path]:
    """Return the files that the custom code wrote."""
    modules = Path(os.environ["HF_HOME"]) / "modules"
    return [*folder.parent.rglob("ran"), *modules.rglob("ran")]


@pytest.mark.nightly
def test_the_folders_code_runs_if_it_is_trusted(folder):
    """Without this the test below could not fail."""
    code = f"from transformers import AutoTokenizer as a; a.from_pretrained({str(folder)!r}"
    program = [sys.executable, "-c", f"{code}, trust_remote_code=True)"]
    subprocess.run(program, capture_output=True)
    assert traces_of_code(folder)
    for path in traces_of_code(folder):
        path.unlink()


@pytest.mark.parametrize("name", mostly_nightly(2, COMMANDS))
def test_a_folders_code_never_runs(folder, name):
    if name == "hf" and find_spec("torch") is None:
        pytest.skip("the hf extra is not installed")
    done = subprocess.run(
        ruler_command(*COMMANDS[name]),
        cwd=folder.parent,
        env=os.environ | {"OPENAI_API_KEY": "none"},
        input="y\n" * 100,
        capture_output=True,
        text=True,
    )
    assert traces_of_code(folder) == []
    assert done.returncode in (0, 1, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert "custom code" not in done.stdout  # transformers' question
