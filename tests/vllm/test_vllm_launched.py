"""`--backend vllm` with the real vLLM: started, killed, restarted, stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.records import Records, read_records
from ruler_eval.run.runner import OpenRun, run
from tests.in_process import ruler_command

pytest.importorskip("vllm.version", reason="vLLM has its own environment: setup.sh")
pytestmark = pytest.mark.vllm


def records(folder: Path) -> list[Any]:
    return [record for path in sorted(folder.glob("*.jsonl")) for record in read_records(path)]


def predictions(folder: Path) -> dict[tuple[str, int], str]:
    return {(r["config"], r["index"]): r["prediction"].strip() for r in records(folder)}


@pytest.mark.parametrize("mode", ["completion", "prefill", "chat"])
def test_greedy_answers_are_those_of_transformers(order, kept, mode, transformers_answers):
    outcome = run(replace(order, mode=mode))
    assert outcome.total["stop"] + outcome.total["length"] == 6
    assert outcome.differences == 0
    result = predictions(order.out)
    assert result == {key: text.strip() for key, text in transformers_answers[mode].items()}
    assert len(set(result.values())) > 3  # the model's answers do depend on the prompt


def test_run_json_names_engine_cache_and_parallelism(order, kept):
    import vllm

    run(replace(order, limit=1))
    settings = json.loads((order.out / "run.json").read_text())
    assert settings["backend_version"] == vllm.__version__
    assert settings["dtype"] == "float32"
    assert (settings["mode"], settings["endpoint"]) == ("prefill", "completions")
    assert settings["max_model_len"] == 8192  # the model's own, which decides what does not fit
    assert settings["cache"]["dtype"] == "auto"
    assert settings["cache"]["prefix_caching"] is True
    assert settings["parallel"] == {"tensor": 1, "pipeline": 1, "data": 1}
    assert settings["chunked_prefill"] is True
    assert settings["attention_backend"] == "unknown"  # the engine chooses it
    assert settings["speculative_decoding"] is None
    assert settings["quantization"] is None
    assert settings["rope"]["rope_type"] == "default"
    (session,) = Records(order.out).sessions()
    assert session["limit"] == 1
    assert settings["arguments"]["max_num_seqs"] == 2


def test_the_window_is_what_the_rows_need(order, kept):
    run(replace(order, limit=1))
    used = max(record["usage"]["prompt_tokens"] for record in records(order.out))
    window = Records(order.out).sessions()[0]["needed_context"]
    assert used + 30 < window <= 1.05 * (used + 128) + 2048


def test_an_answer_truncated_at_its_maximum_ends_with_length(order, kept):
    run(replace(order, configs=("vt_4k",)))
    for record in records(order.out):
        made = record["usage"]["completion_tokens"]
        assert (record["finish_reason"] == "length") == (made == 30)
        assert made <= 30


def test_the_prefix_cache_is_counted(order, kept):
    run(order)
    outcome = run(replace(order, out=order.out.with_name("SECOND")))
    assert outcome.cached_share is not None
    assert outcome.cached_share > 0.5
    assert "from the prefix cache" in outcome.lines()[-1]


def test_a_flag_that_vllm_does_not_have_is_one_sentence(order):
    with pytest.raises(RulerError, match="unrecognized arguments: --no-such-argument=1"):
        run(replace(order, engine_args={"no_such_argument": 1}))


def test_a_killed_engine_is_started_again_and_no_row_is_lost(order, kept, transformers_answers):
    """As for lack of memory, after the second answer."""
    with OpenRun(replace(order, mode="prefill", progress=True)) as work:
        server = kept(work.options, work.plan.release, work.plan.files)._process
        records = work.stream([work.plan.rows])
        next(records)
        log = server.text()
        os.kill(int(re.findall(r"EngineCore pid=(\d+)", log)[-1]), signal.SIGKILL)
        for _ in records:
            pass
        summary = work.count_states(work.plan.rows)
    assert summary.total["stop"] + summary.total["length"] == 6
    assert server.has_ended()
    assert predictions(order.out) == {
        key: text.strip() for key, text in transformers_answers["prefill"].items()
    }
    assert "its engine's process was lost" in server.reason()


@pytest.mark.nightly
def test_an_engine_that_cannot_start_ends_in_one_sentence_below_its_log(order):
    command = ruler_command("run", "--dataset", order.dataset)
    command += ["--configs", "vt_4k", "--backend", "vllm", "--model", order.model]
    command += ["--out", str(order.out)]
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "100000"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    (defaults,) = [line for line in lines if line.startswith("No GPU: ")]
    assert defaults.startswith("No GPU: vLLM runs on the CPU with --gpu-memory-utilization=0.")
    (sentence,) = [line for line in lines if line.startswith("Error: ")]
    assert sentence.startswith(f"Error: vLLM cannot start '{order.model}': ValueError: ")
    assert "is less than requested memory for kv (100000.0 GiB)" in sentence
    assert sentence.endswith(f"see '{order.out / 'vllm.log'}'.")
