"""Each mistake of a user is one sentence that says what is wrong, and exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_common.hub import hub_errors
from tests.fuzz.sandbox import Done
from tests.in_process import ruler_command

RUN = "run --dataset base/ruler --configs all --out case/OUT"
OPENAI = f"{RUN} --backend openai --model m"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("compare base/RUN-ruler nope", "There is no 'nope': name a scored RUN folder"),
        ("results base/RUN-ruler --model a/b --dataset-repo nope", "'nope' is not a data set"),
        ("score base/RUN-ruler --config nope", "'nope' is not a ruler configuration"),
        ("score base/RUN-ruler --length nope", "Unknown length 'nope'"),
        ("fetch org/ruler --configs ,, --to case/OUT", "--configs names no configuration"),
        ("export base/ruler --format kvpress --configs ,, --to case/OUT", "no configuration"),
        (f"{RUN} --backend nope", "Unknown --backend 'nope'"),
        (f"{RUN} --backend oracle --engine-arg x=NaN", "'x' is not a finite number"),
        (f"{RUN} --backend oracle --temperature inf", "--temperature takes a number of at least 0"),
        (f"{RUN} --backend oracle --timeout 0", "--timeout takes a number above 0"),
        (f"{OPENAI} --base-url http://127.0.0.1:99999/v1", "--base-url takes http://HOST:PORT"),
        (f"{OPENAI} --base-url http://[::1", "--base-url takes http://HOST:PORT"),
        (f"{OPENAI} --base-url http://127.0.0.1/v1\x0b", "--base-url takes http://HOST:PORT"),
        ("list case/[x]", "'case/[x]' is neither a folder nor a Hub repository"),
        ("score case/[x]", "There is no file or folder 'case/[x]'"),
        ("build case/[/x] --yes --sources nope", "Unknown kind of source 'nope'"),
    ],
)
def test_a_mistake(sandbox, command, sentence):
    sandbox.new()
    done = sandbox.run(*command.split(" "))
    assert done.faults() == []
    assert done.code == 2
    assert sentence in done.stderr
    assert not list(sandbox.case.iterdir())


HOSTILE = "\x1b[31mx\u202e[red][/x]\u2066\x9b0m"
SHOWN = r"\x1b[31mx\u202e[red][/x]\u2066\x9b0m"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ([HOSTILE], f"Error: No such command '{SHOWN}'. See: ruler --help"),
        (["list", f"--{HOSTILE}"], f"Error: No such option '--{SHOWN}'. See: ruler list --help"),
        (["list", "x", HOSTILE], f"extra argument ({SHOWN}). See: ruler list --help"),
        (["score", "x", "--cut"], "Option '--cut' requires an argument. See: ruler --help"),
        (["results"], "Error: Missing argument 'RESULTS'. See: ruler results --help"),
        (["a\nb"], r"No such command 'a\nb'. See: ruler --help"),
        (["list", HOSTILE], f"'{SHOWN}' is neither a folder nor a Hub repository"),
    ],
)
def test_a_wrong_command_line_is_one_sentence_whatever_its_words(sandbox, command, sentence):
    sandbox.new()
    done = sandbox.run(*command)
    assert (done.faults(), done.code, done.stderr.count("\n")) == ([], 2, 1)
    assert sentence in done.stderr


@pytest.mark.parametrize(
    "change",
    [
        {"code": 5},
        {"stderr": "Traceback (most recent call last):\n"},
        {"outside": ["/etc/x"]},
        {"stdout": "\x1b[31m"},
        {"stdout": "\u202e"},
        {"code": 2, "stderr": "Error: one\nand more\n"},
    ],
)
def test_a_fault_would_be_seen(change):
    good: dict[str, Any] = {"code": 0, "stdout": "", "stderr": "", "outside": []}
    assert Done(**good).faults() == []
    assert Done(**{**good, **change}).faults()


def test_a_folder_whose_name_looks_like_markup_is_built_and_shown(sandbox):
    sandbox.new()
    flags = ("--sources", "embedded", "--lengths", "1k", "--tasks", "niah_single_1")
    done = sandbox.run("build", "case/out[/x][red]", *flags, "--samples", "1")
    assert done.faults() == []
    assert done.code == 0
    assert "made in 'case/out[/x][red]'" in done.stdout
    assert "niah_single_1_1k" in sandbox.run("list", "case/out[/x][red]").stdout


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"HF_TOKEN": "hf_é"}, "The Hub's token holds a character that no token has"),
        ({}, "Cannot reach the Hub at http://127.0.0.1:9 ("),
    ],
)
def test_neither_a_token_nor_a_password_of_the_hub_is_shown(tmp_path, change, sentence):
    more = {"HF_ENDPOINT": "http://me:hunter2@127.0.0.1:9", "HF_HUB_OFFLINE": "0"}
    environment = {**os.environ, **more, "HF_HOME": str(tmp_path), **change}
    command = [sys.executable, "-c", AT_ONCE, "--debug", "list", "org/ruler"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"Error: {sentence}")
    assert "hunter2" not in done.stdout + done.stderr
    assert "hf_é" not in done.stdout + done.stderr


AT_ONCE = "import time; time.sleep = lambda _: None; from ruler_release import app; app.main()"
"""The program, but its library of the Hub waits no 25 seconds between five tries."""
NESTED = "[" * 20_000 + "]" * 20_000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("index", value) for value in ("Infinity", "NaN", "true", "-1", '"x"', "1.5", NESTED)],
        *[("prediction", value) for value in ("3", "true", "NaN", '["a"]', '{"a": 1}', NESTED)],
    ],
)
def test_a_prediction_that_is_none(sandbox, field, value):
    line = {"config": '"vt_4k"', "index": "0", "prediction": '"a"', field: value}
    text = ", ".join(f'"{name}": {given}' for name, given in line.items())
    sandbox.new()
    sandbox.write("in/vt_4k.jsonl", f"{{{text}}}\n")
    done = sandbox.run("score", "case/in", "--dataset", "base/ruler")
    assert (done.faults(), done.code) == ([], 2)
    named = "There are no predictions" if value == NESTED else "case/in/vt_4k.jsonl"
    assert named in done.stderr


def test_a_token_that_is_not_there_is_no_refusal_of_the_hub():
    from huggingface_hub.errors import LocalTokenNotFoundError

    sentence = r"^There is no token for the Hub: log in \(hf auth login\) or set HF_TOKEN\.$"
    with pytest.raises(RulerError, match=sentence), hub_errors("org/name"):
        raise LocalTokenNotFoundError("Token is required")


@pytest.mark.parametrize("command", ["build --help", "sources", "list é"])
def test_an_ascii_terminal_is_no_reason_to_fail(command, tmp_path):
    more = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        ruler_command(*command.split()),
        env={**os.environ, **more},
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == (2 if "é" in command else 0), done.stderr
    assert done.stdout.isascii()
    assert done.stderr.isascii()
    assert b"Traceback" not in done.stderr
