"""A real model behind llama.cpp's server and llama-cpp-python's, which read its GGUF.

LLAMA_SERVER names llama.cpp's `llama-server`, with the flags that this machine needs, such as
LLAMA_SERVER="FILE -fa off -t 1"; LLAMA_CPP_PYTHON=PYTHON an interpreter with
`llama-cpp-python[server]`; LLAMA_MODEL=FILE another GGUF of the same model, if the machine's
processor lacks an instruction that its 4-bit weights need. Passed with llama-cpp-python 0.3.36 and
the server in the source that it carries, and with llama.cpp's build 7e4c0a9.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import ruler_dataset
from ruler_common.errors import RulerError
from ruler_eval.run.options import RunOptions
from ruler_eval.run.records import read_records
from ruler_eval.run.runner import run
from tests.eval.run import small_release
from tests.eval.run.run_options import model_options
from tests.eval.run.tiny_model import write_tokenizer

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(find_spec("transformers") is None, reason="the openai extra is missing"),
]
CONFIG = "niah_single_1_4k"
_ports = iter(range(19000 + os.getpid() % 1000, 1 << 16, 1000))


def served(command: list[str], folder: Path) -> Iterator[str]:
    """Serve the model until the generator is closed; yields the base URL once it is ready."""
    port, log = next(_ports), folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": ""},
        )
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=1)
                break
            except OSError:
                assert process.poll() is None, log.read_text()[-2000:]
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def model() -> str:
    if file := os.environ.get("LLAMA_MODEL"):
        return file
    from tests.real_model import gguf_file

    return str(gguf_file())


@pytest.fixture(scope="module")
def llama_server() -> list[str]:
    """The command of llama.cpp's server."""
    if not (command := os.environ.get("LLAMA_SERVER")):
        pytest.skip("LLAMA_SERVER names no llama-server")
    return shlex.split(command)


@pytest.fixture(scope="module")
def of_python(model: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """llama-cpp-python's server, with a window of 2,048 tokens."""
    if not (python := os.environ.get("LLAMA_CPP_PYTHON")):
        pytest.skip("LLAMA_CPP_PYTHON names no interpreter with llama-cpp-python[server]")
    command = [python, "-m", "llama_cpp.server", "--model", model, "--n_ctx", "2048"]
    yield from served([*command, "--model_alias", "m"], tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def of_llama_cpp(
    llama_server: list[str], model: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """llama.cpp's server, with a window of 2,048 tokens for each of two requests."""
    flags = ["--model", model, "--alias", "m", "-c", "4096", "-np", "2"]
    yield from served([*llama_server, *flags], tmp_path_factory.mktemp("llama"))


SAMPLERS = (
    "--dry-multiplier 0.8 --dry-allowed-length 1 --dry-penalty-last-n 500 --presence-penalty 1.5 "
    "--frequency-penalty 1 --repeat-penalty 3 --repeat-last-n 500 --xtc-probability 0.5 "
    "--xtc-threshold 0.01 --typical 0.3 --top-nsigma 1 --samplers xtc;dry;penalties;temperature"
)
"""Flags of the server that change its answers; mirostat would hide the others."""


@pytest.fixture(scope="module")
def with_samplers(
    llama_server: list[str], model: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """llama.cpp's server with all its samplers on."""
    flags = ["--model", model, "--alias", "m", "-c", "4096", "-np", "2", *SAMPLERS.split()]
    yield from served([*llama_server, *flags], tmp_path_factory.mktemp("samplers"))


@pytest.fixture(scope="module")
def without_template(
    llama_server: list[str], model: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """llama.cpp's server with a model that has no chat template."""
    folder = tmp_path_factory.mktemp("base")
    name = b"tokenizer.chat_template"
    (folder / "base.gguf").write_bytes(Path(model).read_bytes().replace(name, name[:-1] + b"X"))
    flags = ["--model", str(folder / "base.gguf"), "--alias", "m", "-c", "2048", "-np", "1"]
    yield from served([*llama_server, *flags], folder)


@pytest.fixture(scope="module")
def sharing_slots(
    llama_server: list[str], model: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """llama.cpp's server with four slots that share a context of 1,280 tokens, and no /slots."""
    flags = ["--model", model, "--alias", "m", "-c", "1280", "-np", "4", "--kv-unified"]
    yield from served([*llama_server, *flags, "--no-slots"], tmp_path_factory.mktemp("sharing"))


@pytest.fixture
def options(request: pytest.FixtureRequest, tmp_path: Path) -> RunOptions:
    data = small_release.write(tmp_path / "ruler", rows=2, lines=12, only=("niah_single_1", "cwe"))
    url = request.getfixturevalue(request.param)
    out = tmp_path / "RUN"
    return model_options(base_url=url, concurrency=2, dataset=data, configs=CONFIG, out=out)


def answers(options: RunOptions) -> list[str]:
    """The answers to the rows, all of which contain the hidden number."""
    total = run(options).total
    assert total["error"] == total["does_not_fit"] == 0
    wanted = {
        row["index"]: row["outputs"][0] for row in ruler_dataset.load(options.dataset, CONFIG)
    }
    records = list(read_records(options.out / "answers.jsonl"))
    assert all(wanted[record["index"]] in record["prediction"] for record in records)
    assert all(record["usage"] for record in records)
    return [record["prediction"] for record in records]


PYTHON, OWN = "of_python", "of_llama_cpp"


@pytest.mark.parametrize(
    ("options", "mode"),
    [(PYTHON, "chat"), (PYTHON, "completion"), (OWN, "chat"), (OWN, "completion")],
    indirect=["options"],
)
def test_it_finds_the_needles(options, mode):
    assert len(answers(replace(options, mode=mode))) == 2


@pytest.mark.parametrize("options", [OWN], indirect=True)
def test_it_continues_a_turn_which_the_answer_does_not_repeat(options):
    result = answers(options)
    kept = json.loads((options.out / "run.json").read_text())
    assert kept["backend_version"].startswith("llama_cpp ")
    assert (kept["mode"], kept["max_model_len"]) == ("prefill", 2048)
    assert not any("special magic number" in answer.splitlines()[0] for answer in result)


@pytest.mark.parametrize("options", [OWN], indirect=True)
@pytest.mark.parametrize("mode", ["prefill", "completion"])
def test_samplers_of_the_server_change_no_answer(options, mode, with_samplers, tmp_path):
    plain = replace(options, mode=mode, limit=1)
    flags = replace(plain, base_url=with_samplers, out=tmp_path / "flags")
    expected = answers(plain)
    assert answers(flags) == expected
    kept = json.loads((flags.out / "run.json").read_text())["llama_cpp"]
    assert kept["sampler_defaults"]["dry_multiplier"] == pytest.approx(0.8)
    assert kept["sampler_defaults"]["presence_penalty"] == 1.5
    # the flags do change answers if the fields are not sent
    names = tuple(json.loads((flags.out / "run.json").read_text())["sent"])
    omit = tuple(
        name for name in names if name not in ("temperature", "top_p", "seed", "max_tokens_field")
    )
    run(replace(flags, omit=omit, out=tmp_path / "omitted"))
    records = read_records(tmp_path / "omitted" / "answers.jsonl")
    assert [record["prediction"] for record in records] != expected


@pytest.mark.parametrize("options", [OWN], indirect=True)
@pytest.mark.parametrize("mode", ["prefill", "chat", "completion"])
def test_the_server_counts_the_prompt_that_it_reads(options, mode):
    summary = run(replace(options, mode=mode, limit=1))
    kept = json.loads((options.out / "run.json").read_text())
    assert (summary.differences, kept["budget"]) == (0, "server")
    assert kept["llama_cpp"]["context"] == 2048
    assert kept["llama_cpp"]["has_chat_template"] is True


@pytest.mark.parametrize("options", ["without_template"], indirect=True)
def test_a_model_without_a_template_is_completed(options, capsys):
    run(replace(options, limit=1, progress=True))
    kept = json.loads((options.out / "run.json").read_text())
    assert (kept["mode"], kept["endpoint"]) == ("completion", "completions")
    assert kept["llama_cpp"]["has_chat_template"] is False
    assert "the model has no chat template" in capsys.readouterr().err
    run(replace(options, limit=1, progress=True, mode="chat", out=options.out / "chat"))
    assert "a base model needs --mode completion" in capsys.readouterr().err


@pytest.mark.parametrize("options", ["sharing_slots"], indirect=True)
def test_rows_that_fit_a_shared_context_only_by_themselves_are_all_answered(options, capsys):
    """Its slots together hold less than two rows; each fails all the others with HTTP 500."""
    data = small_release.write(options.out / "ruler", rows=6, lines=20, only=("niah_single_1",))
    options = replace(options, dataset=data, concurrency=8, mode="chat", progress=True)
    assert run(options).total == {"stop": 6}
    printed = " ".join(capsys.readouterr().err.split())
    assert "4 slots (-np) of 1280 tokens, or one context of that size for all" in printed
    assert "fewer rows are sent at a time. For all its slots start it with -c" in printed


@pytest.mark.parametrize("options", [PYTHON, OWN], indirect=True)
def test_a_row_that_is_too_long_does_not_fit_alone(options):
    summary = run(replace(options, configs=("cwe_4k", CONFIG), mode="chat"))
    assert summary.total == {"stop": 2, "does_not_fit": 2}


@pytest.mark.parametrize("mode", ["prefill", "completion"])
@pytest.mark.parametrize("options", [PYTHON], indirect=True)
def test_token_ids_are_refused_before_a_row(options, tmp_path, mode):
    write_tokenizer(tmp_path / "tokenizer")
    options = replace(options, tokenizer=str(tmp_path / "tokenizer"))
    with pytest.raises(RulerError, match=r"llama-cpp-python .*: use --mode chat"):
        run(replace(options, mode=mode))
