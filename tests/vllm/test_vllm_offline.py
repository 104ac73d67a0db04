"""vLLM's offline engine through the runner."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.records import read_lines
from ruler_eval.run.runner import run
from tests.eval.run import small_release
from tests.in_process import ruler_command

pytest.importorskip("vllm.version", reason="vLLM has its own environment: setup.sh")
pytestmark = [pytest.mark.vllm, pytest.mark.usefixtures("kept")]


def predictions(folder: Path) -> dict[tuple[str, int], str]:
    records = [r for path in sorted(folder.glob("*.jsonl")) for r in read_lines(path)]
    return {(r["config"], r["index"]): r["prediction"] for r in records}


@pytest.mark.parametrize("mode", ["completion", "prefill", "chat"])
def test_greedy_answers_are_those_of_transformers(order, mode, transformers_answers):
    outcome = run(replace(order, mode=mode))
    assert outcome.total["stop"] + outcome.total["length"] == 6
    assert outcome.differences == 0
    result = predictions(order.out)
    assert result == transformers_answers[mode]
    assert len(set(result.values())) > 3  # the model's answers do depend on the prompt


def test_run_json_names_engine_cache_and_parallelism(order):
    import vllm

    run(replace(order, limit=1, configs=("vt_4k",)))
    kept = json.loads((order.out / "run.json").read_text())
    assert kept["backend_version"] == vllm.__version__
    assert kept["dtype"] == "float32"
    assert kept["mode"] == "prefill"
    assert kept["max_model_len"] == 8192
    assert kept["cache"] == {"dtype": "auto", "prefix_caching": vllm_default(order)}
    assert kept["parallel"] == {"tensor": 1, "pipeline": 1, "data": 1}
    assert kept["chunked_prefill"] is True
    assert kept["attention_backend"] == "unknown"  # the engine chooses it
    assert kept["speculative_decoding"] is None
    assert kept["quantization"] is None
    assert kept["rope"]["rope_type"] == "default"
    assert kept["limit"] == 1
    assert kept["arguments"]["max_num_seqs"] == 2


def vllm_default(order: Any) -> bool:
    """Whether vLLM caches prefixes of this model by default."""
    from vllm import EngineArgs

    arguments = EngineArgs(model=order.model, **order.arguments)
    return bool(arguments.create_engine_config().cache_config.enable_prefix_caching)


def test_the_window_is_what_the_rows_need(order):
    run(replace(order, limit=1, configs=("vt_4k",)))
    kept = json.loads((order.out / "run.json").read_text())
    (record,) = read_lines(order.out / "vt_4k.jsonl")
    used = record["usage"]["prompt_tokens"]
    window = kept["sessions"][0]["window"]
    assert used + 30 < window <= 1.05 * (used + 30) + 2048
    assert kept["max_model_len"] == 8192  # the model's own, which decides what does not fit


def test_an_answer_truncated_at_its_maximum_ends_with_length(order):
    run(replace(order, configs=("vt_4k",)))
    for record in read_lines(order.out / "vt_4k.jsonl"):
        made = record["usage"]["completion_tokens"]
        assert (record["finish_reason"] == "length") == (made == 30)
        assert made <= 30


def test_the_shared_haystack_comes_from_the_prefix_cache(order, tmp_path):
    long = small_release.write(tmp_path / "long", rows=8, lines=120)
    arguments = {**order.arguments, "max_num_seqs": 1}
    order = replace(order, dataset=str(long), configs=("niah_single_1_4k",), arguments=arguments)
    outcome = run(order)
    assert outcome.cached_share is not None
    assert outcome.cached_share > 0.3
    assert "from the prefix cache" in outcome.lines()[-1]
    (session,) = json.loads((order.out / "run.json").read_text())["sessions"]
    assert session["cached_share"] == outcome.cached_share


def test_a_prompt_over_the_window_is_recorded_and_the_rest_runs(order, tmp_path):
    mixed = small_release.write(tmp_path / "mixed", rows=2, lines=30)
    outcome = run(replace(order, max_model_len=2048, dataset=str(mixed), configs=("all_4k",)))
    states = {config: dict(result) for config, result in outcome.states.items()}
    assert states["cwe_4k"] == {"does_not_fit": 2}
    assert "does_not_fit" not in states["niah_single_1_4k"]
    over = list(read_lines(order.out / "cwe_4k.jsonl"))
    assert all("over the limit of 2,048" in r["error"] for r in over)


def test_a_wrong_engine_argument_is_one_sentence(order):
    with pytest.raises(RulerError, match="no_such_argument"):
        run(replace(order, arguments={"no_such_argument": 1}))


@pytest.mark.nightly
def test_an_engine_that_cannot_start_ends_in_one_sentence_below_its_log(order):
    """As users run it: the engine in a separate process, whose messages give the cause."""
    command = ruler_command("run", "--dataset", order.dataset)
    command += ["--configs", "vt_4k", "--backend", "vllm", "--model", order.model]
    command += ["--out", str(order.out)]
    memory = {"VLLM_ENABLE_V1_MULTIPROCESSING": "1", "VLLM_CPU_KVCACHE_SPACE": "100000"}
    done = subprocess.run(
        command, env={**os.environ, **memory}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    (defaults,) = [line for line in lines if line.startswith("No GPU: ")]
    assert defaults.startswith("No GPU: vLLM runs on the CPU with gpu_memory_utilization=0.")
    assert defaults.endswith("VLLM_CPU_KVCACHE_SPACE=100000 (GiB).")
    (sentence,) = [line for line in lines if line.startswith("Error: ")]
    assert sentence.startswith(f"Error: vLLM cannot start '{order.model}': ")
    assert sentence.endswith("see vLLM's messages above.")
    assert "is less than requested memory for kv (100000.0 GiB)" in done.stderr  # vLLM's own
