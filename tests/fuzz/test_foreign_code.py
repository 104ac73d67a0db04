"""The code in a tokenizer's or model's folder never runs, not even if one says yes."""

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

from tests.fuzz.sandbox import Sandbox
from tests.in_process import ruler_command
from tests.nightly import mostly_nightly

CODE = """from pathlib import Path
Path(__file__).with_name("ran").touch()
from transformers import PreTrainedTokenizerFast as Own, PretrainedConfig as OwnConfig
Path({marker!r}).touch()
"""
AUTO_MAP = {
    "tokenizer_config.json": {"AutoTokenizer": ["own.Own", "own.Own"]},
    "config.json": {
        **{"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.Own"},
        "AutoTokenizer": ["own.Own", "own.Own"],
    },
}
RELEASE = ("--dataset", "base/ruler", "--configs", "vt_4k")
SMALL = ("--sources", "embedded", "--lengths", "1k", "--samples", "2", "--workers", "1")
BUILD = ("build", "case/out", "--tokenizer", "mine={0}", "--tasks", "niah_single_1", *SMALL)
RUN = ("run", *RELEASE, "--out", "case/out", "--backend")
SERVER = ("--model", "m", "--base-url", "http://127.0.0.1:9/v1")
COMMANDS = {
    "build": BUILD,
    "hf": (*RUN, "hf", "--model", "{0}"),
    "hf with a tokenizer": (*RUN, "hf", "--model", "{0}", "--tokenizer", "{0}"),
    "openai": (*RUN, "openai", *SERVER, "--tokenizer", "{0}"),
    "batch of vllm": ("batch", "write", *RELEASE, "--out", "case/out", "--model", "{0}"),
    "batch": (
        *("batch", "write", *RELEASE, "--out", "case/out", "--api", "openai", "--model", "m"),
        *("--tokenizer", "{0}"),
    ),
}


@pytest.fixture
def folder(sandbox: Sandbox, made: Callable[[str], Path]) -> Path:
    """A sound tokenizer's folder whose configuration names code of its own."""
    sandbox.new()
    path = Path(shutil.copytree(made("gpt2"), sandbox.case / "mine"))
    for name, auto_map in AUTO_MAP.items():
        file = path / name
        there = json.loads(file.read_bytes()) if file.exists() else {"model_type": "own"}
        there["auto_map"] = auto_map
        if name == "tokenizer_config.json":
            there["tokenizer_class"] = "Own"
        file.write_text(json.dumps(there))
    (path / "own.py").write_text(CODE.format(marker=str(sandbox.case / "ran")))
    return path


def said_yes(sandbox: Sandbox, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, whose every question is answered with yes."""
    return subprocess.run(
        ruler_command(*arguments),
        cwd=sandbox.folder,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none"},
        input="y\n" * 100,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def ran(sandbox: Sandbox) -> list[Path]:
    modules = Path(os.environ["HF_HOME"]) / "modules"
    return [*sandbox.case.rglob("ran"), *modules.rglob("ran")]


@pytest.mark.nightly
def test_the_folders_code_would_run_if_it_were_asked_for(sandbox, folder):
    """Else the test below could not fail."""
    asked = f"from transformers import AutoTokenizer as a; a.from_pretrained({str(folder)!r}"
    program = [sys.executable, "-c", f"{asked}, trust_remote_code=True)"]
    subprocess.run(program, capture_output=True, check=False)
    assert ran(sandbox)
    for path in ran(sandbox):
        path.unlink()


@pytest.mark.parametrize("name", mostly_nightly(3, COMMANDS))
def test_a_folders_own_code_never_runs(sandbox, folder, name):
    if name.startswith("hf") and find_spec("torch") is None:
        pytest.skip("the hf extra is not installed")
    done = said_yes(sandbox, *(word.format("case/mine") for word in COMMANDS[name]))
    assert ran(sandbox) == []
    assert done.returncode in (0, 1, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert "custom code" not in done.stdout  # transformers' question
