"""The commands of docs/run.md as written, with a tiny model for $MODEL and a free port."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("vllm.version", reason="vLLM has its own environment: setup.sh")
pytestmark = pytest.mark.nightly
PAGE = Path(__file__).parents[2] / "docs/run.md"


def block(heading: str) -> str:
    """The commands of a section."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    (result,) = re.findall(r"```bash\n(.*?)```", section, re.DOTALL)
    return str(result)


def test_the_batch_commands_work(small, tiny, tmp_path):
    shutil.copytree(small, tmp_path / "ruler")
    done = subprocess.run(
        "set -e\n"
        + block("Batch files").replace("all_4k", "some_4k"),  # the small release has two tasks
        shell=True,
        cwd=tmp_path,
        env=environment_of(tiny),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "No failures: 6 rows answered." in done.stdout


def environment_of(model: Path) -> dict[str, str]:
    """This environment's commands first, and the model."""
    return {
        **os.environ,
        "MODEL": str(model),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }


def test_the_server_commands_work(small, tiny, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    serve, run = block("Behind a server").replace("8000", port).split("&\n")
    shutil.copytree(small, tmp_path / "ruler")
    environment = environment_of(tiny)
    with (tmp_path / "server.log").open("w") as log:
        server = subprocess.Popen(
            f"exec {serve}", shell=True, cwd=tmp_path, env=environment, stdout=log, stderr=log
        )
    try:
        for _ in range(300):
            if server.poll() is not None:
                pytest.fail((tmp_path / "server.log").read_text()[-3000:])
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
                break
            except OSError:
                time.sleep(0.5)
        run = run.replace("all_4k", "some_4k")  # the small release has two tasks
        done = subprocess.run(
            run, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
    finally:
        server.terminate()
        server.wait(60)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [p.read_text().splitlines() for p in (tmp_path / "runs/mine").glob("*.jsonl")]
    assert sum(map(len, lines)) == 6
