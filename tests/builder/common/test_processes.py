"""Work in several processes gives what it gives in one, reports progress, and ends on an error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ruler_builder.common.processes import worker_pool
from ruler_common.errors import RulerError
from ruler_common.files import temporary_beside
from ruler_common.work import OnRows


class Adder:
    """A worker that adds a number of its own; some items make it fail or die."""

    def __init__(self, more: int) -> None:
        self.more = more

    def add(self, item: int, report: OnRows) -> int:
        if item == 13:
            raise RulerError("13 is refused.")
        if item == 99:
            os._exit(1)
        report(item)
        return item + self.more

    def report_for_ever(self, item: int, report: OnRows) -> int:
        while item:
            report(1)
        return item

    def write_for_ever(self, path: str, report: OnRows) -> int:
        with temporary_beside(Path(path)) as temporary:
            temporary.touch()
            return self.report_for_ever(1, report)


@pytest.mark.parametrize("workers", [1, 2])
def test_results_and_progress_are_the_same_with_any_number_of_workers(workers: int) -> None:
    done: list[int] = []
    with worker_pool(workers, Adder, (100,), done.append) as run:
        found = sorted(run(Adder.add, range(5)))
        again = sorted(run(Adder.add, [7]))
    assert (found, again) == ([100, 101, 102, 103, 104], [107])
    assert sum(done) == 0 + 1 + 2 + 3 + 4 + 7


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_one_step_ends_the_work(workers: int) -> None:
    with (
        pytest.raises(RulerError, match="13 is refused"),
        worker_pool(workers, Adder, (0,), lambda count: None) as run,
    ):
        list(run(Adder.add, [1, 13, 2]))


def test_a_process_that_dies_is_one_sentence() -> None:
    with (
        pytest.raises(RulerError, match="A worker process died, perhaps for want of memory"),
        worker_pool(2, Adder, (0,), lambda count: None) as run,
    ):
        list(run(Adder.add, [1, 99]))


def interrupt_after_the_first() -> None:
    with worker_pool(2, Adder, (0,), lambda count: None) as run:
        for _ in run(Adder.report_for_ever, [0, 1, 1]):
            raise KeyboardInterrupt


def test_processes_that_are_stopped_while_they_report_hold_nothing_up() -> None:
    """A lock that a stopped process held would make the end of the pool wait for ever."""
    with pytest.raises(KeyboardInterrupt):
        interrupt_after_the_first()


def write_until_killed(folder: Path) -> None:
    with worker_pool(2, Adder, (0,), lambda count: None) as run:
        list(run(Adder.write_for_ever, [str(folder / "a"), str(folder / "b")]))


def test_processes_whose_parent_was_killed_end_and_take_their_files_along(tmp_path: Path) -> None:
    code = f"from pathlib import Path; from {__name__} import write_until_killed as write; "
    parent = subprocess.Popen([sys.executable, "-c", f"{code}write(Path({str(tmp_path)!r}))"])
    deadline = time.monotonic() + 60
    while len([*tmp_path.iterdir()]) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len([*tmp_path.iterdir()]) == 2
    parent.send_signal(signal.SIGKILL)
    while [*tmp_path.iterdir()] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [*tmp_path.iterdir()] == []
