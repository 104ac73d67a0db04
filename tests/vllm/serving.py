"""A vLLM server of a model, in a separate process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

_ports = iter(range(18000 + os.getpid() % 1000, 1 << 16, 1000))


def served(
    model: Path,
    name: str,
    folder: Path,
    flags: Sequence[str],
    environment: Mapping[str, str] | None = None,
    wait: int = 600,
) -> Iterator[str]:
    """Serve a model until the generator is closed; yields the base URL once it is ready.

    `wait` is how many seconds the server may take to start.
    """
    port, log = next(_ports), folder / "log"
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
    command += ["--served-model-name", name, "--host", "127.0.0.1", "--port", str(port)]
    command += ["--enforce-eager", "--enable-prompt-tokens-details", *flags]
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})}
        )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(2 * wait):
            if process.poll() is not None:
                pytest.fail(f"the server ended: {log.read_text()[-3000:]}")
            try:
                urllib.request.urlopen(f"{url}/health", timeout=1)
                break
            except OSError:
                time.sleep(0.5)
        else:
            pytest.fail(f"the server is not ready after {wait} s: {log.read_text()[-3000:]}")
        yield f"{url}/v1"
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
