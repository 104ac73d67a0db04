"""`--backend vllm` starts `vllm serve`, notices its death, and leaves no process behind.

The server is fake_vllm.py; tests/vllm has the real one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.doctor.folder import read_verdict
from ruler_eval.run.launch import bypass_proxies, flags_of, is_cpu_build, unscaled_context_window
from ruler_eval.run.options import RunOptions
from ruler_eval.run.runner import run
from tests import in_process
from tests.eval.run import fake_vllm, small_release
from tests.eval.run.run_options import model_options

ROOT = Path(__file__).parents[3]
ROWS = 20
"""Rows of the small release: four tasks with five each."""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a package `vllm`, which this process and its children find first."""
    folder = fake_vllm.install(tmp_path / "site")
    monkeypatch.syspath_prepend(folder)
    paths = [str(folder), str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    for name in [name for name in sys.modules if name.split(".")[0] == "vllm"]:
        monkeypatch.delitem(sys.modules, name)
    return folder


@pytest.fixture
def model(tokenizer_folder: Path, tmp_path: Path) -> Path:
    """A model's folder: the tokenizer, and a configuration with a context of 8192 tokens."""
    folder = tmp_path / "model"
    folder.mkdir()
    for path in tokenizer_folder.iterdir():
        (folder / path.name).symlink_to(path)
    config = {"model_type": "llama", "max_position_embeddings": 8192}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def options(fake: Path, model: Path, small: Path, tmp_path: Path) -> RunOptions:
    out = tmp_path / "RUN"
    return model_options(str(model), "vllm", dataset=small, configs="all_4k", out=out)


def starts(fake: Path) -> list[dict[str, Any]]:
    """The command line and the processes of each server that was started."""
    path = fake / "starts"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_until(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until_all_have_ended(fake: Path) -> None:
    pids = [pid for start in starts(fake) for pid in start["pids"]]
    assert pids
    wait_until(lambda: not any(map(is_running, pids)))


def test_a_run_starts_a_server_and_leaves_no_process_behind(options, fake, capfd, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # a proxy is not for this machine
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    arguments = {"enforce_eager": True, "tensor_parallel_size": 2}
    summary = run(replace(options, engine_args=arguments, progress=True))
    assert dict(summary.total) == {"stop": ROWS}
    (start,) = starts(fake)
    assert {"--enforce-eager", "--tensor-parallel-size=2", "--seed=0"} <= {*start["arguments"]}
    wait_until_all_have_ended(fake)
    printed = capfd.readouterr()
    log = options.folder / "vllm.log"
    assert printed.out == ""
    assert f"Starting vllm serve {options.model} (log: {log})" in printed.err
    assert "vLLM was ready after " in printed.err
    assert "Initializing a V1 LLM engine" in log.read_text()


def test_a_vllm_on_the_path_is_started_if_there_is_none_in_this_environment(
    options, fake, tmp_path, monkeypatch
):
    script = tmp_path / "bin/vllm"
    script.parent.mkdir()
    program = fake / "vllm/entrypoints/cli/main.py"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{program}" "$@"\n')
    script.chmod(0o755)
    monkeypatch.setitem(sys.modules, "vllm", None)
    monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)
    assert dict(run(replace(options, limit=1)).total) == {"stop": 4}
    assert len(starts(fake)) == 1


def test_prompts_are_sent_as_token_ids(options, tiny_tokenizer):
    run(replace(options, limit=1))
    kept = json.loads((options.folder / "run.json").read_text())
    assert (kept["mode"], kept["endpoint"], kept["budget"]) == (
        "prefill",
        "completions",
        "tokenizer",
    )
    lines = [line for p in options.folder.glob("*.jsonl") for line in p.read_text().splitlines()]
    for line in lines:  # the server repeats the first three ids: <s> begins each prompt
        assert json.loads(json.loads(line)["prediction"])[0] == tiny_tokenizer.bos_token_id


def test_run_json_has_the_engines_settings(options):
    run(replace(options, limit=1))
    kept = json.loads((options.folder / "run.json").read_text())
    assert kept["backend_version"] == "0.99.0"
    assert (kept["dtype"], kept["quantization"]) == ("bfloat16", "fp8")
    assert kept["parallel"] == {"tensor": 2, "pipeline": 1, "data": 1}
    assert kept["cache"]["dtype"] == "fp8_e4m3"  # /metrics, not `auto` of the log
    assert kept["cache"]["prefix_caching"] is True
    assert (kept["chunked_prefill"], kept["attention_backend"]) == (False, "unknown")
    assert kept["speculative_decoding"] is None
    assert kept["max_model_len"] == 8192


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("refuses", "unrecognized arguments: --no-such-flag=1"),
        ("no memory", "ValueError: Not enough memory for the KV cache"),
    ],
)
def test_a_server_that_cannot_start_shows_its_log_and_one_sentence(
    options, fake, monkeypatch, capfd, fault, reason
):
    monkeypatch.setenv("FAKE_VLLM", fault)
    with pytest.raises(RulerError) as error:
        run(options)
    log = options.folder / "vllm.log"
    assert str(error.value) == (
        f"vLLM cannot start '{options.model}': {reason}. If that is not the cause, see '{log}'."
    )
    assert log.read_text().splitlines()[-1] in capfd.readouterr().err
    wait_until_all_have_ended(fake)


def test_a_server_that_dies_is_started_again_and_no_row_is_lost(options, fake, monkeypatch, capfd):
    monkeypatch.setenv("FAKE_VLLM", str(ROWS - 4))
    summary = run(replace(options, concurrency=8, progress=True))
    assert dict(summary.total) == {"stop": ROWS}
    assert len(starts(fake)) == 2
    printed = capfd.readouterr().err
    reason = "RuntimeError: an illegal memory access was encountered"
    assert f"vLLM died: {reason}. It is started again." in printed
    assert printed.count(reason) == 2  # in the last lines of the log, and in the sentence
    wait_until_all_have_ended(fake)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("is killed", "it was killed (SIGKILL), perhaps because the memory was full"),
        ("loses its engine", "its engine's process was lost, perhaps because the memory was full"),
    ],
)
def test_a_death_without_an_error_is_not_explained_by_another_line_of_the_log(
    options, monkeypatch, fault, reason
):
    monkeypatch.setenv("FAKE_VLLM", fault)
    with pytest.raises(RulerError) as error:
        run(options)
    assert str(error.value) == (
        f"vLLM died: {reason}. It was started again once before. Answered rows are kept; run the "
        "same command to continue."
    )


def test_a_second_death_ends_the_run_and_the_next_run_continues(options, fake, monkeypatch):
    monkeypatch.setenv("FAKE_VLLM", "6")
    with pytest.raises(RulerError, match=r"was started again once before\. Answered rows are kept"):
        run(replace(options, concurrency=1))
    assert len(starts(fake)) == 2
    wait_until_all_have_ended(fake)
    monkeypatch.delenv("FAKE_VLLM")
    summary = run(options)
    assert dict(summary.total) == {"stop": ROWS}
    assert summary.tokens.total() == 0  # no failure was recorded; the fake counts no tokens


@pytest.mark.parametrize(
    ("number", "phase"),
    [
        (signal.SIGKILL, "loads"),
        (signal.SIGKILL, "hangs"),
        (signal.SIGINT, "loads"),
        (signal.SIGINT, "hangs"),
        (signal.SIGTERM, "hangs"),
    ],
)
def test_no_process_outlives_a_killed_run(options, fake, ruler_run, number, phase):
    process = ruler_run(
        *("--dataset", str(options.dataset), "--configs", "all_4k", "--backend", "vllm"),
        *("--model", options.model, "--out", str(options.out)),
        FAKE_VLLM=phase,
    )
    sign = fake / ("answers" if phase == "hangs" else "starts")
    wait_until(lambda: sign.exists() or process.poll() is not None)
    assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == (130 if number == signal.SIGINT else -number), err
    wait_until_all_have_ended(fake)


def window(start: dict[str, Any]) -> int:
    """The context window that a server was started with."""
    (flag,) = [flag for flag in start["arguments"] if flag.startswith("--max-model-len")]
    return int(flag.partition("=")[2])


def test_the_context_length_fits_all_rows_of_the_run_whichever_are_missing(options, fake, tmp_path):
    """--retry-failed with one short row must not start an engine for short rows."""
    short = small_release.write(tmp_path / "short", rows=2, lines=30)
    options = replace(options, dataset=str(short), configs=("vt_4k", "qa_1_4k"))
    run(options)
    for path in options.folder.glob("*.jsonl"):
        lines = []
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if (record["config"], record["index"]) == ("vt_4k", 0):
                record |= {"finish_reason": "error", "error": "lost"}
            lines.append(json.dumps(record) + "\n")
        path.write_text("".join(lines))
    summary = run(replace(options, retry_failed=True))
    assert dict(summary.total) == {"stop": 4}
    run(replace(options, configs=("vt_4k",), out=tmp_path / "ALONE"))
    first, retried, alone = starts(fake)
    assert window(first) == window(retried) > window(alone)


def test_a_model_shorter_than_the_rows_keeps_its_own_context_length(options, model, fake):
    """vLLM refuses a longer one; rows that do not fit are then recorded as such."""
    (model / "config.json").write_text('{"model_type": "llama", "max_position_embeddings": 64}')
    run(replace(options, limit=1))
    (start,) = starts(fake)
    assert not any("max-model-len" in flag for flag in start["arguments"])


def test_the_doctor_starts_a_server_and_checks_its_template_too(options, fake, tmp_path):
    out = tmp_path / "doctor"
    done = in_process.ruler(
        *("doctor", "--rows", 4, "--load", 2, "--configs", "vt_4k,niah_single_1_4k"),
        *("--dataset", options.dataset, "--backend", "vllm", "--model", options.model),
        *("--out", out),
    )
    assert done.code == 3, done.stderr  # the fake answers no row correctly
    verdict: Any = read_verdict(out)
    states = {item["name"]: item["state"] for item in verdict["conditions"]}
    assert states["load"] == "same"
    assert "template" in states
    assert len(starts(fake)) == 1
    wait_until_all_have_ended(fake)


def test_a_decision_starts_one_server_for_all_its_looks(options, fake, tmp_path):
    out = options.folder
    flags = ("--backend", "vllm", "--model", options.model)
    in_process.ruler_output(
        *("eval", "--dataset", options.dataset, "--configs", "all_4k", "--out", out, *flags)
    )
    decided = in_process.ruler("decide", out, tmp_path / "B", "--max-drop", 5, *flags)
    assert decided.code in (0, 3), decided.stderr  # the fake answers both times alike
    assert len(starts(fake)) == 2
    wait_until_all_have_ended(fake)


def test_the_length_that_is_asked_for_is_the_servers(options, fake):
    states = run(replace(options, max_model_len=4096, limit=1)).states
    (start,) = starts(fake)
    assert window(start) == 4096
    assert dict(states["cwe_4k"]) == {"does_not_fit": 1}
    assert dict(states["vt_4k"]) == {"stop": 1}


def test_the_hosts_that_need_no_proxy_are_kept(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "hub.example, 10.0.0.0/8")
    monkeypatch.delenv("no_proxy", raising=False)
    bypass_proxies()
    for name in ("no_proxy", "NO_PROXY"):
        assert set(os.environ[name].split(",")) == {"hub.example", "10.0.0.0/8", "127.0.0.1"}


def test_where_the_server_is_cannot_be_chosen(options, fake):
    with pytest.raises(RulerError, match="--backend vllm chooses port itself"):
        run(replace(options, engine_args={"port": 8000}))
    assert starts(fake) == []


def test_arguments_become_flags():
    arguments = {
        "tensor_parallel_size": 4,
        "enforce_eager": True,
        "enable_prefix_caching": False,
        "hf_overrides": {"rope_parameters": {"factor": 4.0}},
        "cudagraph_capture_sizes": [1, 2],
        "quantization": None,
        "dtype": "bfloat16",
        "kv_transfer_params": "-1",
    }
    assert flags_of(arguments) == [
        "--tensor-parallel-size=4",
        "--enforce-eager",
        "--no-enable-prefix-caching",
        '--hf-overrides={"rope_parameters": {"factor": 4.0}}',
        *("--cudagraph-capture-sizes", "1", "2"),
        "--dtype=bfloat16",
        "--kv-transfer-params=-1",
    ]


def test_without_a_gpu_the_defaults_are_for_a_cpu(options, fake, capfd, monkeypatch):
    pytest.importorskip("psutil", reason="the vllm extra is not installed")
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    info = fake / "vllm-0.99.0.dist-info/METADATA"
    assert not is_cpu_build()
    info.write_text(info.read_text().replace("0.99.0", "0.99.0+cpu"))
    assert is_cpu_build()
    run(replace(options, limit=1, engine_args={"max_num_seqs": 2}, progress=True))
    (start,) = starts(fake)
    assert {"--enforce-eager", "--max-num-seqs=2"} <= {*start["arguments"]}
    assert not any(flag == "--max-num-seqs=8" for flag in start["arguments"])
    assert "No GPU: vLLM runs on the CPU with --gpu-memory-utilization=0." in capfd.readouterr().err


@pytest.mark.parametrize(
    ("rope", "limit"),
    [
        ({"rope_type": "default", "rope_theta": 10000.0}, 8192),
        ({"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192,
          "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_theta": 1e6}, 8192),
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048,
          "rope_theta": 1e6}, None),
    ],
)  # fmt: skip
def test_the_models_context_length_is_used_if_nothing_scales_it(tiny_tokenizer, rope, limit):
    from transformers import LlamaConfig

    config = LlamaConfig(max_position_embeddings=8192, rope_parameters=rope)
    assert unscaled_context_window(config, tiny_tokenizer, {}) == limit
    assert unscaled_context_window(config, tiny_tokenizer, {"hf_overrides": {}}) is None
