"""Several processes give the same results as one, and stop on an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ruler_builder.release.worker import process_pool
from ruler_common.errors import RulerError


class Adder:
    """A worker that adds a number; some items make it fail or die."""

    def __init__(self, summand: int) -> None:
        self.summand = summand

    def add(self, item: int) -> int:
        if item == 13:
            raise RulerError("13 is refused.")
        if item == 99:
            os._exit(1)
        return item + self.summand

    def wait_forever(self, item: int) -> int:
        while item:
            time.sleep(0.01)
        return item

    def write_process_id(self, path: str) -> None:
        Path(path).write_text(str(os.getpid()))
        self.wait_forever(1)


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_the_same_with_any_number_of_workers(workers):
    with process_pool(Adder(100), workers) as run:
        assert sorted(run(Adder.add, range(5))) == [100, 101, 102, 103, 104]
        assert sorted(run(Adder.add, [7])) == [107]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_one_item_stops_the_work(workers):
    with pytest.raises(RulerError, match="13 is refused"), process_pool(Adder(0), workers) as run:
        list(run(Adder.add, [1, 13, 2]))


def test_a_process_that_dies_is_one_sentence():
    with (
        pytest.raises(RulerError, match="A worker process died, probably because memory ran out"),
        process_pool(Adder(0), 2) as run,
    ):
        list(run(Adder.add, [1, 99]))


def test_a_script_without_a_main_guard_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    out, options = str(tmp_path / "out"), {"lengths": ["1k", "2k"], "tasks": "vt", "rows": 1}
    options |= {"sources": "embedded", "workers": 2}
    script.write_text(f"import ruler_release as ruler\nruler.build({out!r}, **{options!r})\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "did not start. In a Python script, call `build` or `verify` under `if __name__" in last


def interrupt_after_the_first() -> None:
    with process_pool(Adder(0), 2) as run:
        for _ in run(Adder.wait_forever, [0, 1, 1]):
            raise KeyboardInterrupt


def test_an_interrupt_does_not_wait_for_work_in_progress():
    with pytest.raises(KeyboardInterrupt):
        interrupt_after_the_first()


def write_until_killed(folder: Path) -> None:
    with process_pool(Adder(0), 2) as run:
        list(run(Adder.write_process_id, [str(folder / "a"), str(folder / "b")]))


def test_processes_whose_parent_was_killed_end(tmp_path):
    code = f"from pathlib import Path; from {__name__} import write_until_killed as write; "
    parent = subprocess.Popen([sys.executable, "-c", f"{code}write(Path({str(tmp_path)!r}))"])
    deadline = time.monotonic() + 60
    written = [tmp_path / "a", tmp_path / "b"]
    while not all(path.is_file() and path.read_text() for path in written):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    workers = [Path("/proc", path.read_text()) for path in written]
    assert all(worker.exists() for worker in workers)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    while any(worker.exists() for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.01)
