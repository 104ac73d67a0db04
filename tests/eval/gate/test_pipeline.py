"""Runs that stop by their scores: requests stay in flight at a look, and none of them counts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import Counter
from functools import partial
from pathlib import Path
from threading import Condition, Event
from typing import Any

import pytest

import ruler_release
from ruler_common.rows import row_order
from ruler_eval.gate.decide import SequentialDecision, decide_run
from ruler_eval.gate.options import DecideOptions
from ruler_eval.run.options import RunOptions
from ruler_eval.score.results import load
from ruler_release.api import run_model
from tests.eval.run import small_release
from tests.in_process import ruler_command
from tests.model_server import Reply, Request, answer_from_prompt, model_server
from tests.run_folder import answers

ROWS, SLOTS = 60, 8
CONFIGS = ("niah_single_1_4k", "vt_4k")
DEADLOCK_SECONDS = 20.0


class FullServer:
    """Answers the oldest request as soon as SLOTS of them are open; the first one at once.

    A client that waits for all answers before it sends more would never get the last of them.
    """

    def __init__(self) -> None:
        self._rows: list[int] = []  # of the open requests, the oldest first
        self.is_draining = False
        self.was_stuck = False
        self._changed = Condition()

    def __call__(self, request: Request) -> Reply:
        with self._changed:
            self._rows.append(request.row)
            self._changed.notify_all()
            may_answer = partial(self._may_answer, request.row)
            if not self._changed.wait_for(may_answer, DEADLOCK_SECONDS):
                self.was_stuck = True
            self._rows.remove(request.row)
        return answer_from_prompt(request)

    def _may_answer(self, row: int) -> bool:
        is_next = row == self._rows[0] and len(self._rows) >= SLOTS
        return row == 0 or is_next or self.is_draining or self.was_stuck

    @property
    def open(self) -> int:
        """The number of open requests."""
        return len(self._rows)

    def drain(self) -> None:
        """Answer everything that is open from now on."""
        with self._changed:
            self.is_draining = True
            self._changed.notify_all()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scored run of an oracle on two tasks of sixty rows."""
    folder = tmp_path_factory.mktemp("pipeline")
    root = small_release.write(folder / "ruler", rows=ROWS, lines=6, only=("niah_single_1", "vt"))
    ruler_release.run(root, configs="all_4k", backend="oracle", out=folder / "base")
    ruler_release.score(folder / "base")
    return folder / "base"


def count_answers(run: Path) -> Counter[str]:
    return Counter(record["config"] for record in answers(run))


def scored_rows(run: Path) -> dict[str, int]:
    return {name: cell["n"] for name, cell in load(run)["configurations"].items()}


def test_requests_stay_in_flight_while_decide_looks_and_count_nowhere(base, tmp_path):
    run, serve = tmp_path / "b", FullServer()
    open_at_looks = []

    def on_look(look: SequentialDecision) -> None:
        open_at_looks.append(serve.open)
        if look["verdict"] != "unknown":
            serve.drain()

    with model_server(serve) as server:
        options = {"model": "m", "backend": "openai", "base_url": server.url, "mode": "chat"}
        decided = decide_run(
            DecideOptions(base, run, max_drop=20, run={"concurrency": SLOTS, **options}), on_look
        )
        assert not serve.was_stuck
        assert open_at_looks == [SLOTS - 1] * len(open_at_looks)
        rows = decided.decision["rows"]
        assert 5 < rows < ROWS
        # what was in flight is stored, and neither the decision nor the results have it
        assert count_answers(run).total() == 2 * rows + SLOTS - 1
        assert decided.summary.total.total() == 2 * rows
        assert scored_rows(run) == dict.fromkeys(CONFIGS, rows)
        scored = load(run)["configurations"]
        ruler_release.score(run)
        assert load(run)["configurations"] == scored
        # the same command reads the answers, and sends nothing
        sent = len(server.requests)
        again = ruler_release.decide(base, max_drop=20, out=run, concurrency=SLOTS, **options)
        assert again == decided.decision
        assert len(server.requests) == sent


def test_requests_stay_in_flight_while_until_looks(base, tmp_path):
    root = load(base)["dataset"]["source"]
    run, serve = tmp_path / "run", FullServer()
    looks: list[Any] = []

    def on_look(estimate: Any) -> None:
        looks.append((estimate, serve.open))
        if estimate["half_width"] <= 5:
            serve.drain()

    with model_server(serve) as server:
        run_model(
            RunOptions(
                root,
                configs="all_4k",
                backend="openai",
                model="m",
                mode="chat",
                base_url=server.url,
                out=run,
                concurrency=SLOTS,
                until=5,
            ),
            on_look,
        )
    assert not serve.was_stuck
    assert {requests for _, requests in looks} == {SLOTS - 1}
    rows = looks[-1][0]["rows"]
    assert count_answers(run).total() == 2 * rows + SLOTS - 1
    assert scored_rows(run) == dict.fromkeys(CONFIGS, rows)
    for name, task in zip(CONFIGS, ("niah_single_1", "vt"), strict=True):
        first = row_order("1.0.0", "ruler", task, "4k", ROWS)[:rows]
        assert set(load_rows(run, name)) == {*first}


def load_rows(run: Path, config: str) -> list[int]:
    """The rows of a configuration that are scored."""
    import pyarrow.parquet as pq

    table = pq.read_table(run / "rows.parquet")
    return [row["index"] for row in table.to_pylist() if row["config"] == config and row["counted"]]


@pytest.mark.parametrize("rows_before", [1, 11, 23])
def test_a_killed_decision_is_continued_to_the_same_one(base, tmp_path, rows_before):
    """Killed with kill -9 while several requests are open and others, sent later, are answered."""
    stuck, may_answer = Event(), Event()

    def serve(request: Request) -> Reply:
        if request.row in (rows_before, rows_before + 2):
            if request.row == rows_before + 2:
                stuck.set()
            may_answer.wait(DEADLOCK_SECONDS)
        return answer_from_prompt(request)

    flags = ["--max-drop", 8, "-b", "openai", "-m", "m", "--mode", "chat", "--concurrency", 4]
    with model_server(answer_from_prompt) as server:
        whole = ruler_release.decide(
            base,
            max_drop=8,
            backend="openai",
            model="m",
            mode="chat",
            concurrency=4,
            base_url=server.url,
            out=tmp_path / "whole",
        )
    with model_server(serve) as server:
        command = ruler_command("decide", base, *flags, "--base-url", server.url, "-o", "b")
        killed = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
        assert stuck.wait(60)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        may_answer.set()
        command = ruler_command(
            "decide", base, *flags, "--base-url", server.url, "-o", "b", "--json", "b.json"
        )
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert json.loads((tmp_path / "b.json").read_text()) == json.loads(json.dumps(whole))
    assert scored_rows(tmp_path / "b") == dict.fromkeys(CONFIGS, whole["rows"])
    assert max(Counter((r["config"], r["index"]) for r in answers(tmp_path / "b")).values()) == 1


def test_requests_that_stay_open_do_not_hold_a_decision_back(base, tmp_path, monkeypatch):
    """They are given up after a while, and their rows are missing."""
    monkeypatch.setattr("ruler_eval.run.send_rows.FINISH_SECONDS", 0.1)
    run, may_answer = tmp_path / "b", Event()

    def serve(request: Request) -> Reply:
        if request.row == 20:
            may_answer.wait(DEADLOCK_SECONDS)
        return answer_from_prompt(request)

    with model_server(serve) as server:
        options = {"model": "m", "backend": "openai", "base_url": server.url, "mode": "chat"}
        decided = decide_run(
            DecideOptions(base, run, max_drop=40, run=options), on_look=lambda look: None
        )
        assert not may_answer.is_set()
        may_answer.set()
    assert decided.decision["verdict"] == "smaller"
    assert decided.decision["rows"] == 5
    assert decided.summary.missing == 0
