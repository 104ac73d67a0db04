"""The job files of docs/many_machines.md run with fake Slurm, Ray and vLLM programs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ruler_eval.run.records import read_records
from tests.documents import blocks, run_bash
from tests.eval.run import small_release
from tests.model_server import answer_from_prompt, model_server

PAGE = "docs/many_machines.md"


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs a script next to a release `ruler`, with fake programs."""
    small_release.write(tmp_path / "ruler", rows=3)
    programs = tmp_path / "programs"
    programs.mkdir()

    def run(script: str, fakes: dict[str, str] | None = None, **variables: object) -> str:
        for name, text in (fakes or {}).items():
            (programs / name).write_text(f"#!/bin/bash\n{text}\n")
            (programs / name).chmod(0o755)
        environment = dict(os.environ)
        for name, value in variables.items():
            environment[name] = str(value)
        return run_bash(f"PATH='{programs}':$PATH\n{script}", tmp_path, environment)

    return run


def rows_of(folder: Path) -> dict[str, int]:
    lines = [line for path in folder.rglob("answers.jsonl") for line in read_records(path)]
    return Counter(line["config"] for line in lines)


def pod_of(job: dict[str, Any]) -> dict[str, Any]:
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return container


def test_the_shards_of_a_slurm_array_answer_the_whole_run_in_one_folder(shell, tmp_path):
    (script,) = blocks(PAGE, "Shards", "bash")
    script = script.replace("/8", "/2").replace('--backend vllm --model "$MODEL"', "-b oracle")
    script = script.replace("all_4k", "all_4k --skip-missing")
    for task in (1, 2):
        shell(script, SLURM_ARRAY_TASK_ID=task)
    run = tmp_path / "runs/mine"
    assert set(rows_of(run).values()) == {3}
    assert len(rows_of(run)) == 4
    assert "12 rows" in shell("ruler score runs/mine")


def test_an_indexed_job_runs_the_commands_of_the_slurm_array(shell):
    (script,) = blocks(PAGE, "Shards", "bash")
    (job,) = blocks(PAGE, "Shards", "yaml")
    spec = yaml.safe_load(job)
    (line,) = pod_of(spec)["args"]
    assert pod_of(spec)["command"] == ["bash", "-c"]
    assert spec["spec"]["completions"] == 8
    for index in (0, 7):
        variables = {"MODEL": "m", "JOB_COMPLETION_INDEX": index, "SLURM_ARRAY_TASK_ID": index + 1}
        commands = [shell(text, {"ruler": 'echo "$@"'}, **variables) for text in (script, line)]
        assert commands[0] == commands[1]
        assert f"--shard {index + 1}/8" in commands[0]


def test_one_client_runs_against_the_address_that_vllm_serves(shell, tmp_path):
    script = blocks(PAGE, "Behind one address", "bash")[0]
    script = script.replace("all_4k", "all_4k --skip-missing").replace('--tokenizer "$MODEL"', "")
    with model_server(answer_from_prompt) as server:
        shell(
            script.replace("http://localhost:8000/v1", server.url),
            {"vllm": 'echo "$@" > served; exec sleep 300', "curl": ""},
            MODEL="m",
        )
    assert sum(rows_of(tmp_path / "runs/mine").values()) == 12
    flags = "--data-parallel-size 16 --data-parallel-backend ray --enable-prompt-tokens-details"
    assert (tmp_path / "served").read_text() == f"serve m {flags}\n"


def test_the_first_node_of_a_slurm_job_is_the_head_of_ray(shell, tmp_path):
    script = blocks(PAGE, "Behind one address", "bash")[1]
    (tmp_path / "serve_and_run").write_text("wait; echo served")
    each = 'for SLURM_PROCID in 0 1; do export SLURM_PROCID; "$@"; done'
    fakes = {"srun": each, "ray": 'echo "$@" >> nodes', "sleep": "", "hostname": "echo first"}
    assert shell(script.replace("bash serve", "wait; bash serve"), fakes) == "served\n"
    assert (tmp_path / "nodes").read_text().splitlines() == [
        "start --head --port 6379 --block",
        "start --address first:6379 --block",
    ]


def test_the_ray_job_has_the_same_pod_on_every_node():
    (job,) = blocks(PAGE, "Behind one address", "yaml")
    spec = yaml.safe_load(job)["spec"]
    cluster = spec["rayClusterSpec"]
    (workers,) = cluster["workerGroupSpecs"]
    assert workers["template"] == cluster["headGroupSpec"]["template"]
    assert "serve_and_run" in spec["entrypoint"]
