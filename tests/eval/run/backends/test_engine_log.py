"""The cause of an engine's end, out of logs as engines write them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ruler_eval.run.backends.engine_log import EngineLog, root_cause

AT = "(EngineCore pid=4711) ERROR 11-22 00:00:56 [core.py:140] "
NO_MEMORY = "ValueError: Available memory on node 0 (7.1/15.0 GiB) is less than desired"
PROCESSES = f"""\
(EngineCore pid=4711) INFO 11-22 00:00:50 [core.py:88] Initializing a V1 LLM engine
{AT}EngineCore failed to start.
{AT}Traceback (most recent call last):
{AT}  File "/x/core.py", line 1141, in run_engine_core
{AT}    raise ValueError(
{AT}{NO_MEMORY}
(EngineCore pid=4711) Process EngineCore:
(EngineCore pid=4711) Traceback (most recent call last):
(EngineCore pid=4711) {NO_MEMORY}
Traceback (most recent call last):
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {{}}
"""
WORKER = """\
Exception: WorkerProc initialization failed due to an exception in a background process. See stack \
trace for root cause.
(Worker pid=9) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
"""
SEVERAL_LINES = """\
pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig
  Value error, Invalid repository ID or local directory specified: 'there'

Traceback (most recent call last):
"""


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (PROCESSES, NO_MEMORY),
        (WORKER, "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
        (
            SEVERAL_LINES,
            "ValidationError: 1 validation error for ModelConfig Value error, Invalid repository "
            "ID or local directory specified: 'there'",
        ),
        ("AssertionError\n", "AssertionError"),
        ("INFO 11-22 00:00:50 [core.py:88] ready\n", None),
        ("", None),
    ],
)
def test_the_first_error_with_something_of_its_own_to_say_is_the_cause(log, cause):
    assert root_cause(log) == cause


def test_an_error_with_a_text_of_its_own_needs_no_log():
    log = EngineLog("vLLM")
    assert log.reason(ValueError("no such\nfolder.")) == "no such folder"
    log.path.write_text(PROCESSES)
    hollow = RuntimeError("Engine core initialization failed. See root cause above.")
    assert log.reason(hollow) == f"{NO_MEMORY} (its log: {log.path})"
    log.path.write_text("")
    killed = RuntimeError("Engine core initialization failed. Failed core proc(s): {'0': -9}")
    assert "the system killed its process" in log.reason(killed)
    log.remove()
    assert not log.path.exists()


def test_a_log_that_stays_holds_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of-a-reader-1234")
    log = EngineLog("vLLM")
    log.path.write_text("HTTPError: 403 for hf_of-a-reader-1234 \n")
    hollow = RuntimeError("Engine core initialization failed. See root cause above.")
    assert log.reason(hollow) == f"HTTPError: 403 for *** (its log: {log.path})"
    assert log.text() == "HTTPError: 403 for *** \n"
    assert log.reason(ValueError("hf_of-a-reader-1234 is refused")) == "*** is refused"
    log.remove()


def test_what_a_process_and_its_children_write_goes_into_the_log_alone():
    """In a process of its own, since pytest holds this one's stdout and stderr."""
    code = (
        "import os, subprocess, sys\n"
        "from ruler_eval.run.backends.engine_log import EngineLog\n"
        "log = EngineLog('vLLM')\n"
        "print('before')\n"
        "try:\n"
        "    with log.taken():\n"
        "        print('of Python')\n"
        "        os.write(2, b'of a library\\n')\n"
        "        subprocess.run([sys.executable, '-c', 'print(\"of a child\")'])\n"
        "        raise ValueError\n"
        "except ValueError:\n"
        "    print('after')\n"
        "sys.stderr.write(log.text())\n"
        "log.remove()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == ["before", "after"]
    assert done.stderr.splitlines() == ["of Python", "of a library", "of a child"]
