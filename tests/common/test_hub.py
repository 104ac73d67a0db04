"""Repository names are checked as the Hub does, and its errors are one sentence."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from huggingface_hub.errors import LocalTokenNotFoundError
from huggingface_hub.utils import validate_repo_id

from ruler_common.errors import RulerError
from ruler_common.hub import hub_errors, is_repository
from tests.hub.client import environment
from tests.hub.fake_hub import FakeHub
from tests.hub.hub_store import Repo
from tests.in_process import ruler_command


@pytest.mark.parametrize("name", ["org/ruler", "O_r.g-1/_r", f"{'a' * 96}/b"])
def test_valid_repository_names_are_accepted(name):
    assert is_repository(name)
    validate_repo_id(name)


@pytest.mark.parametrize(
    "name",
    ["ruler", "./ruler", "org/-r", "org/r.", "org/a--b", "org/a..b", f"a/{'a' * 97}", "a/b/c"],
)
def test_invalid_repository_names_are_refused(name):
    assert not is_repository(name)


def test_each_error_of_the_hub_is_one_sentence(release, tmp_path):
    hub = FakeHub()
    hub.repos["datasets/org/none"] = Repo("datasets", "org/none")
    hub.fail("HEAD", "/org/busy/", 403, "not today", times=9)
    code = (
        "import ruler_dataset\n"
        "for repo in ('org/none', 'org/nothing', 'org/busy'):\n"
        "  for revision in (None, 'v9'):\n"
        "    try: ruler_dataset.manifest_of(repo, revision)\n"
        "    except ruler_dataset.RulerError as error: print(type(error).__name__, error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(hub.url, tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    hub.close()
    messages = done.stdout.splitlines()
    hidden = (
        "RulerError The Hub has no 'org/nothing', or your token may not see it: "
        "correct the name, or log in (hf auth login)."
    )
    assert messages[:4] == [
        "RulerError 'org/none' has no manifest.json: it is not a release.",
        "RulerError 'org/none' has no such revision: it has main.",
        hidden,
        hidden,
    ]
    assert messages[4].startswith("RulerError Your token has no rights for this in 'org/busy' (403")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"HF_TOKEN": "hf_é"}, "The Hub's token has a character that is not allowed"),
        ({}, "Cannot reach the Hub at http://127.0.0.1:9 (ConnectError): check"),
    ],
)
def test_tokens_and_passwords_of_the_hub_are_not_printed(tmp_path, change, sentence):
    done = subprocess.run(
        ruler_command("--debug", "list", "org/ruler"),
        env=environment("http://me:hunter2@127.0.0.1:9", tmp_path, **change),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"Error: {sentence}")
    assert "hunter2" not in done.stdout + done.stderr
    assert "hf_é" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "org/ruler"),
        ("fetch", "org/ruler", "--to", "here"),
        ("tokenizers", "--for", "org/model"),
        ("build", "here", "--lengths", "4k", "--tasks", "vt", "--tokenizer", "mine=hf:org/model"),
    ],
)
def test_without_a_network_the_hub_is_asked_once_and_the_answer_is_one_sentence(
    tmp_path, arguments
):
    done = subprocess.run(
        ruler_command(*arguments),
        env=environment("http://127.0.0.1:9", tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines)) == (2, 1)
    assert (
        "Cannot reach the Hub at http://127.0.0.1:9 (ConnectError): check the network." in lines[0]
    )
    assert "kept" not in lines[0]


def test_a_missing_token_is_not_called_an_error_of_the_hub():
    sentence = r"^There is no token for the Hub: log in \(hf auth login\) or set HF_TOKEN\.$"
    with pytest.raises(RulerError, match=sentence), hub_errors("org/name"):
        raise LocalTokenNotFoundError("Token is required")


def test_loading_a_tokenizer_does_not_say_that_pytorch_is_missing(tmp_path):
    pytest.importorskip("transformers")
    variables = {name: text for name, text in os.environ.items() if "TRANSFORMERS" not in name}
    code = "from ruler_common.hub import auto_tokenizer; auto_tokenizer('.')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=variables, capture_output=True, text=True
    )
    assert done.returncode == 1  # the folder has no tokenizer
    assert "PyTorch" not in done.stderr
