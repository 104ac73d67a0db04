"""Every command of the README works as written, in the order it is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(heading: str, language: str) -> list[str]:
    """The fenced blocks of a language under a heading."""
    section = re.split(r"^## ", README, flags=re.MULTILINE)
    (text,) = (part for part in section if part.startswith(heading + "\n"))
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run(commands: str, folder: Path, **more: str) -> str:
    """Run a block as a shell would, with this environment's commands; what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env={**os.environ, "PATH": path, "HF_HUB_OFFLINE": "1", **more},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@contextmanager
def serving() -> Iterator[str]:
    """An OpenAI-compatible server on loopback that answers as the oracle does; its base URL."""
    script = ROOT / "tests/eval/run/failing_server.py"
    process = subprocess.Popen(
        [sys.executable, str(script), "{}"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.wait()


def test_the_commands_work_as_written(tmp_path: Path) -> None:
    (quickstart,) = blocks("Quick start", "bash")
    assert quickstart.count("\n") == 1
    run(quickstart.split("&&")[1], tmp_path)  # what comes before installs the project
    (load,) = blocks("Load", "python")
    subprocess.run([sys.executable, "-c", load], cwd=tmp_path, check=True, capture_output=True)
    (build,) = blocks("Build", "bash")
    run(build, tmp_path)
    oracle, *_ = blocks("Run", "bash")  # the blocks of vLLM: tests/vllm
    run(oracle, tmp_path)
    from inspect_ai.log import read_eval_log

    export, inspect = blocks("Other tools", "bash")
    run(export, tmp_path)
    made = {path.name for path in tmp_path.iterdir()}
    assert {"tasks", "results", "kvpress", "light", "nemo"} <= made
    with serving() as url:  # a server in vLLM's place: tests/vllm has a real one
        shown = run(inspect, tmp_path, MODEL="m", VLLM_BASE_URL=url)
    assert "vllm/m · ruler 1.0.0 · mode prefill" in shown
    (path,) = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(path, header_only=True)
    assert log.status == "success"
    assert log.eval.task == "ruler_release/ruler"


def test_the_shards_of_an_array_or_an_indexed_job_merge_into_one_release(tmp_path: Path) -> None:
    (block,) = blocks("Many machines", "bash")
    block = block.replace("/8", "/2").replace("--lengths 4k", "--lengths 4k --samples 1 --tasks qa")
    slurm, kubernetes, merge = [line for line in block.splitlines() if line.startswith("ruler")]
    for name, line, indices in (("slurm", slurm, (1, 2)), ("kubernetes", kubernetes, (0, 1))):
        (tmp_path / name).mkdir()
        variable = {"slurm": "SLURM_ARRAY_TASK_ID", "kubernetes": "JOB_COMPLETION_INDEX"}[name]
        for index in indices:
            run(f"{variable}={index}\n{line}", tmp_path / name)
        run(merge, tmp_path / name)
    for path in sorted((tmp_path / "slurm/merged").rglob("*.parquet")):
        other = tmp_path / "kubernetes" / path.relative_to(tmp_path / "slurm")
        assert path.read_bytes() == other.read_bytes()
    manifests = [tmp_path / name / "merged/manifest.json" for name in ("slurm", "kubernetes")]
    assert manifests[0].read_bytes() == manifests[1].read_bytes()


def test_the_test_command_is_one_line_that_runs_pytest() -> None:
    (tests,) = blocks("Tests", "bash")
    assert tests == "pip install -e '.[test]' && pytest\n"


def test_every_block_of_code_is_run_by_a_test() -> None:
    found = {
        (part.partition("\n")[0], language)
        for part in re.split(r"^## ", README, flags=re.MULTILINE)[1:]
        for language in re.findall(r"^```(\w+)$", part, re.MULTILINE)
    }
    assert found == {
        *((heading, "bash") for heading in ("Quick start", "Build", "Run", "Other tools")),
        ("Load", "python"),
        ("Many machines", "bash"),  # these above
        ("Run", "bash"),  # vLLM's: tests/vllm/test_readme.py
        *(("Scoring", language) for language in ("bash", "python")),  # test_scoring_readme.py
        ("Publish", "bash"),  # tests/builder/hub/test_readme_publishing.py
        ("Tests", "bash"),  # .ci/run
    }
