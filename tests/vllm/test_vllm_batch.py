"""Batch files through the real `vllm run-batch` get the openai backend's answers."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.run import batch
from ruler_eval.run.options import RunOptions
from ruler_eval.run.records import read_records
from ruler_eval.run.runner import run

pytest.importorskip("vllm.version", reason="vLLM has its own environment: setup.sh")
pytestmark = pytest.mark.vllm


def records(folder: Path) -> dict[tuple[str, int], dict[str, Any]]:
    result = [r for path in sorted(folder.glob("*.jsonl")) for r in read_records(path)]
    return {(r["config"], r["index"]): dict(r) for r in result}


def run_batch(requests: Path, answers: Path, model: Path) -> None:
    """`vllm run-batch`, as a user calls it."""
    command = [str(Path(sys.executable).with_name("vllm")), "run-batch"]
    command += ["-i", str(requests), "-o", str(answers), "--model", str(model)]
    command += ["--enforce-eager", "--dtype", "float32", "--max-num-seqs", "4"]
    done = subprocess.run(
        [*command, "--max-model-len", "2048", "--enable-prompt-tokens-details"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_chat_and_prefill_give_the_openai_backends_answers(small, tiny, server, tmp_path):
    """One engine answers both modes' files: it starts once."""
    runs, requests = {}, []
    for mode in ("chat", "prefill"):
        order = RunOptions(
            small,
            configs="some_4k",
            backend="batch",
            out=tmp_path / mode,
            mode=mode,
            model=str(tiny),
            max_model_len=2048,
        )
        assert run(order).missing == 6
        (file,) = batch.request_files(order.folder)
        for line in file.read_text(encoding="utf-8").splitlines():
            requests.append(
                {**json.loads(line), "custom_id": f"{mode}:{json.loads(line)['custom_id']}"}
            )
        runs[mode] = order
    both = tmp_path / "requests.jsonl"
    both.write_text("".join(json.dumps(line) + "\n" for line in requests), encoding="utf-8")
    run_batch(both, tmp_path / "answers.jsonl", tiny)

    lines = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert len(lines) == 12
    for mode, order in runs.items():
        scores = tmp_path / f"{mode}.jsonl"
        of_mode = [line for line in lines if line["custom_id"].startswith(f"{mode}:")]
        for line in of_mode:
            line["custom_id"] = line["custom_id"].removeprefix(f"{mode}:")
        scores.write_text("".join(json.dumps(line) + "\n" for line in of_mode), encoding="utf-8")
        summary = run(batch.options_to_read(order.folder, [scores]))
        assert (summary.total.total() - summary.total["error"], summary.missing) == (6, 0)

        asked = replace(
            order,
            model="tiny",
            backend="openai",
            base_url=server,
            concurrency=4,
            timeout=120,
            out=tmp_path / f"{mode}-served",
        )
        run(asked)
        result, served = records(order.folder), records(asked.folder)
        assert result.keys() == served.keys()
        for key, record in result.items():
            for field in ("prediction", "finish_reason", "thinking", "error"):
                assert record[field] == served[key][field], (mode, key, field)
            assert record["usage"]["prompt_tokens"] == served[key]["usage"]["prompt_tokens"]
    assert len({record["prediction"] for record in records(tmp_path / "prefill").values()}) > 3
