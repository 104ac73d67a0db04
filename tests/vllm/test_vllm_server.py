"""A real vLLM server through the openai backend."""

from __future__ import annotations

import json
import re
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ruler_dataset
from ruler_common.errors import RulerError
from ruler_eval.run.records import read_records
from ruler_eval.run.runner import run
from tests.eval.run import small_release
from tests.vllm.serving import served

pytest.importorskip("vllm.version", reason="vLLM has its own environment: setup.sh")
pytestmark = pytest.mark.vllm


@pytest.fixture
def remote(order: Any, server: str) -> Any:
    return replace(
        order,
        model="tiny",
        backend="openai",
        base_url=server,
        concurrency=4,
        timeout=120,
        engine_args={},
        out=order.out.with_name("REMOTE"),
    )


def records(folder: Path) -> list[dict[str, Any]]:
    return [r for path in sorted(folder.glob("*.jsonl")) for r in read_records(path)]


def predictions(folder: Path) -> dict[tuple[str, int], str]:
    return {(r["config"], r["index"]): r["prediction"] for r in records(folder)}


@pytest.mark.parametrize("mode", ["completion", "prefill", "chat"])
@pytest.mark.parametrize(
    ("renders", "stream"),
    [("server", False), ("client", False), ("server", True), ("client", True)],
)
def test_each_mode_gives_the_answers_of_transformers(
    remote, mode, renders, stream, tiny, transformers_answers
):
    tokenizer = str(tiny) if renders == "client" else None
    outcome = run(replace(remote, tokenizer=tokenizer, stream=stream, mode=mode))
    assert outcome.total["error"] == outcome.total["does_not_fit"] == 0
    assert outcome.differences == 0  # the server counts the tokens that we count
    assert all(record["usage"]["completion_tokens"] for record in records(remote.out))
    kept = json.loads((remote.out / "run.json").read_text())
    assert kept["budget"] == {"server": "server", "client": "tokenizer"}[renders]
    assert kept["max_model_len"] == 2048
    result = predictions(remote.out)
    wrong = [
        key for key in result if result[key].strip() != transformers_answers[mode][key].strip()
    ]
    assert not wrong


def test_prefill_is_the_default_and_the_server_is_named(remote):
    import vllm

    run(replace(remote, limit=1))
    kept = json.loads((remote.out / "run.json").read_text())
    assert kept["mode"] == "prefill"
    assert kept["endpoint"] == "chat/completions"
    assert len(kept["server_template_sha256"]) == 64
    assert kept["backend_version"] == f"vllm {vllm.__version__}"


def test_the_budget_is_checked_with_the_servers_own_count(remote, tmp_path):
    long = small_release.write(tmp_path / "long", rows=2, lines=120)
    with pytest.raises(RulerError, match="No row fits"):
        run(replace(remote, dataset=str(long), configs=("cwe_4k",)))
    assert [record["finish_reason"] for record in records(remote.out)] == ["does_not_fit"] * 2
    assert "over the context window of 2,048" in records(remote.out)[0]["error"]


def test_a_silently_shortened_answer_is_noticed(remote, tiny, tmp_path):
    """vLLM answers 200 with fewer tokens when only prompt + max_tokens pass its window."""
    from ruler_eval.run.prompts import load_tokenizer

    tokenizer = load_tokenizer(str(tiny))
    for lines in range(60, 90):  # until half of the answer's 128 tokens are left
        edge = small_release.write(tmp_path / f"{lines}", rows=1, lines=lines)
        row = ruler_dataset.load(edge, "niah_single_1_4k")[0]
        used = len(tokenizer(row["input"] + row["answer_prefix"])["input_ids"])
        if 2048 - 64 < used < 2048:
            break
    remote = replace(remote, dataset=str(edge), configs=("niah_single_1_4k",), mode="completion")
    with pytest.raises(RulerError, match="No row fits"):
        run(replace(remote, max_model_len=10**6, tokenizer=str(tiny)))  # check disabled
    (record,) = records(remote.out)
    assert "the server ended the answer at" in record["error"]


def test_a_prompt_that_the_server_refuses_as_too_long_does_not_fit(remote, tmp_path):
    long = small_release.write(tmp_path / "long", rows=1, lines=200)
    with pytest.raises(RulerError, match="No row fits"):
        run(replace(remote, max_model_len=10**6, dataset=str(long)))
    found = records(remote.out)
    assert [record["finish_reason"] for record in found] == ["does_not_fit"] * 2
    assert all(record["error"].startswith("HTTP 400") for record in found)


def test_cached_tokens_are_reported(remote):
    first = run(replace(remote, configs=("niah_single_1_4k",)))
    second_out = remote.out.with_name("SECOND")
    second = run(replace(remote, configs=("niah_single_1_4k",), out=second_out))
    assert second.cached_share is not None
    assert second.cached_share > 0.5
    assert first.total == second.total


@pytest.fixture
def replicas(tiny: Path, tmp_path: Path) -> Iterator[str]:
    """Two data-parallel engines behind one address.

    vLLM 0.32 places them on Ray only where nodes have accelerators: on CPUs it ends with
    "AssertionError: No  found in Ray cluster".
    """
    flags = ["--dtype", "float32", "--max-num-seqs", "4", "--gpu-memory-utilization", "0.2"]
    yield from served(tiny, "tiny", tmp_path, [*flags, "--data-parallel-size", "2"], wait=900)


@pytest.mark.nightly
def test_two_data_parallel_replicas_share_a_run(remote, replicas, tiny, transformers_answers):
    options = replace(remote, base_url=replicas, tokenizer=str(tiny))
    outcome = run(replace(options, mode="prefill"))
    assert outcome.total["stop"] + outcome.total["length"] == 6
    assert predictions(remote.out) == transformers_answers["prefill"]
    metrics = replicas.replace("/v1", "/metrics")
    counted = r'vllm:request_success_total\{engine="(\d)".*\} (\d+)'
    answered = Counter[str]()
    with urllib.request.urlopen(metrics) as page:
        for engine, rows in re.findall(counted, page.read().decode()):
            answered[engine] += int(rows)
    assert set(answered) == {"0", "1"}
    assert min(answered.values()) >= 1
