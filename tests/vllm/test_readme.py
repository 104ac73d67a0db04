"""The README's server commands as written, with a tiny model for $MODEL and a free port."""

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
README = Path(__file__).parents[2] / "README.md"


def test_the_server_commands_of_the_run_section_work(
    small: Path, tiny: Path, tmp_path: Path
) -> None:
    section = README.read_text(encoding="utf-8").split("\n## Run\n")[1].split("\n## ")[0]
    _, block = re.findall(r"```bash\n(.*?)```", section, re.DOTALL)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    serve, run = block.replace("8000", port).split("&\n")
    shutil.copytree(small, tmp_path / "ruler")
    environment = {
        **os.environ,
        "MODEL": str(tiny),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "1",
    }
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
