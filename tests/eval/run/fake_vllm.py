"""A package `vllm` whose server answers without a model, for tests of starting and stopping it.

    python fake_vllm.py FOLDER          # installs the package into FOLDER, a part of the PYTHONPATH

It starts a child that ignores SIGTERM, as an engine's process may, and writes its command line and
both process numbers next to itself. FAKE_VLLM says what goes wrong: `refuses` (an unknown flag),
`no memory` (the engine's process cannot start), `loads` (it is never ready), `hangs` (it does not
answer), `is killed`, `loses its engine`, or the number of rows that each server answers before it
dies.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

IGNORES = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
NO_MEMORY = """\
(EngineCore pid=7) ERROR 11-27 [core.py:900] EngineCore failed to start.
(EngineCore pid=7) ERROR 11-27 [core.py:900] ValueError: Not enough memory for the KV cache.
Traceback (most recent call last):
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"""
ENGINE_DIED = """\
(APIServer pid=7) WARNING 11-27 [core_client.py:817] MPClient: engine core exited unexpectedly
(APIServer pid=7) ERROR 11-27 [async_llm.py:906] AsyncLLM output_handler failed.
(APIServer pid=7) ERROR 11-27 [async_llm.py:906] vllm.v1.engine.exceptions.EngineDeadError: \
EngineCore encountered an issue. See stack trace (above) for the root cause.
INFO:     Finished server process [7]
nanobind: leaked 4 instances!"""
CONFIG = (
    "INFO 11-27 [core.py:133] Initializing a V1 LLM engine (v0.99.0) with config: model='m', "
    "speculative_config=None, dtype=torch.bfloat16, tensor_parallel_size=2, "
    "pipeline_parallel_size=1, data_parallel_size=4, quantization=fp8, kv_cache_dtype=auto, "
    "device_config=cuda, enable_prefix_caching=True, enable_chunked_prefill=False, pooler=None"
)
CACHE = 'vllm:cache_config_info{cache_dtype="fp8_e4m3",enable_prefix_caching="True"} 1.0'


def install(folder: Path) -> Path:
    """Write the package, and the metadata by which a distribution is found."""
    package = folder / "vllm" / "entrypoints" / "cli"
    package.mkdir(parents=True)
    for part in (package, package.parent, package.parent.parent):
        (part / "__init__.py").touch()
    shutil.copy(__file__, package / "main.py")
    info = folder / "vllm-0.99.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.99.0\n")
    return folder


def serve(arguments: list[str]) -> None:
    from tests.model_server import Reply, Request, answer, model_server

    folder = Path(__file__).parents[3]
    flags = dict(flag.split("=", 1) for flag in arguments if "=" in flag)
    fault = os.environ.get("FAKE_VLLM", "")
    child = subprocess.Popen([sys.executable, "-c", IGNORES])
    started = {"arguments": arguments, "pids": [os.getpid(), child.pid], "port": arguments[-1]}
    with (folder / "starts").open("a") as file:
        file.write(json.dumps(started) + "\n")
    if fault == "refuses":
        sys.exit("vllm serve: error: unrecognized arguments: --no-such-flag=1")
    if fault == "no memory":
        sys.exit(NO_MEMORY)
    print(CONFIG, flush=True)
    if fault == "loads":
        signal.pause()

    answered, dying = 0, threading.Lock()

    def reply(request: Request) -> Reply:
        nonlocal answered
        if fault.isdecimal() and answered >= int(fault):
            dying.acquire()  # one thread says so
            print("RuntimeError: an illegal memory access was encountered", flush=True)
            os._exit(1)
        if fault == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "loses its engine":
            print(ENGINE_DIED, flush=True)
            os._exit(0)
        answered += 1
        (folder / "answers").touch()
        if fault == "hangs":
            time.sleep(600)
        return answer(str(request.body.get("prompt", request.prompt)[:3]))

    model = {
        "id": flags["--served-model-name"],
        "owned_by": "vllm",
        "max_model_len": int(flags.get("--max-model-len", "8192")),
    }
    paths = {"/health": "", "/version": {"version": "0.99.0"}, "/metrics": CACHE}
    with model_server(reply, models=[model], paths=paths, port=int(arguments[-1])):
        signal.pause()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2:])
    else:
        install(Path(sys.argv[1]))
