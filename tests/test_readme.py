"""Every command of the README works as written; a block is run as a whole, in its order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Once

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


@pytest.fixture(scope="session")
def started(once: Once) -> Path:
    """The folder in which the quick start was run, once. Nothing in it is to be changed."""

    def make(folder: Path) -> None:
        (quickstart,) = blocks("Quick start", "bash")
        assert quickstart.count("\n") == 1
        folder.mkdir()
        run(quickstart.split("&&")[1], folder)  # what comes before installs the project

    return once("readme", make)


@pytest.fixture
def beside(started: Path, tmp_path: Path) -> Path:
    """A folder of one's own with the quick start's release."""
    (tmp_path / "ruler").symlink_to(started / "ruler")
    return tmp_path


def test_what_the_quick_start_made_loads_as_written(started: Path) -> None:
    (load,) = blocks("Load", "python")
    done = subprocess.run([sys.executable, "-c", load], cwd=started, check=False)
    assert done.returncode == 0


def test_the_calls_from_python_work_as_written(tmp_path: Path) -> None:
    (calls,) = blocks("From Python", "python")
    assert len(calls.strip().splitlines()) <= 7
    check = "assert len(rows) == 15 and results['configurations']['niah_multikey_1_4k']['n'] == 5"
    done = subprocess.run([sys.executable, "-c", calls + check], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    assert (tmp_path / "mine.html").is_file()


def test_the_commands_that_build_work_as_written(tmp_path: Path) -> None:
    (build,) = blocks("Build", "bash")
    shown = run(build, tmp_path)
    assert "All laws hold: 26 files, 130 rows." in shown
    assert (tmp_path / "multi/manifest.json").is_file()


def test_the_oracle_answers_and_other_tools_take_the_rows_as_written(beside: Path) -> None:
    oracle, *_ = blocks("Run", "bash")  # the blocks of vLLM: tests/vllm
    run(oracle, beside)
    export, _ = blocks("Other tools", "bash")
    run(export, beside)
    made = {path.name for path in beside.iterdir()}
    assert {"runs", "tasks", "results", "kvpress", "light", "nemo"} <= made


@pytest.mark.nightly
def test_inspect_evaluates_as_written(beside: Path) -> None:
    from inspect_ai.log import read_eval_log

    _, inspect = blocks("Other tools", "bash")
    with serving() as url:  # a server in vLLM's place: tests/vllm has a real one
        shown = run(inspect, beside, MODEL="m", VLLM_BASE_URL=url)
    assert "vllm/m · ruler · own rows: embedded texts" in shown
    (path,) = (beside / "logs").glob("*.eval")
    log = read_eval_log(path, header_only=True)
    assert log.status == "success"
    assert log.eval.task == "ruler_release/ruler"


@pytest.mark.nightly
def test_the_shards_of_an_array_or_an_indexed_job_merge_into_one_release(tmp_path: Path) -> None:
    (block,) = blocks("Many machines", "bash")
    few = "--lengths 4k --samples 1 --tasks vt,fwe --workers 1"
    block = block.replace("/8", "/2").replace("--lengths 4k", few)
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
        ("From Python", "python"),
        ("Load", "python"),
        ("Many machines", "bash"),  # these above
        ("Run", "bash"),  # vLLM's: tests/vllm/test_readme.py
        *(("Scoring", language) for language in ("bash", "python")),  # test_scoring_readme.py
        ("Publish", "bash"),  # tests/builder/hub/test_readme_publishing.py
        ("Tests", "bash"),  # .ci/run
    }
