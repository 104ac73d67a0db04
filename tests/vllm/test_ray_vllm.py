"""vLLM's engines in actors of a Ray cluster of two nodes: the answers of one engine, each once."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.run.answering import Answered, OnAnswered
from ruler_eval.run.backends.backend import ClusterOptions
from ruler_eval.run.records import read_lines
from ruler_eval.run.replicas.ray_replicas import RayReplicas, ReadRow
from ruler_eval.run.runner import run
from ruler_eval.run.work_plan import Part
from tests.eval.run import small_release
from tests.ray_cluster import actors_of, both_have_started, two_nodes

pytest.importorskip("vllm.version", reason="vLLM has its own environment: setup.sh")
pytest.importorskip("ray", reason="the extra ray is not installed")
pytestmark = [pytest.mark.vllm, pytest.mark.nightly]


def lines(folder: Path) -> dict[str, str]:
    """The records of a run without what depends on the cache an engine happened to have."""
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        records = [{**r, "usage": {**r["usage"], "cached_tokens": 0}} for r in read_lines(path)]
        found[path.name] = "\n".join(map(json.dumps, records))
    return found


class OneIsKilled(RayReplicas):
    """Two engines; when both are at work the process of one is killed."""

    def answer(self, parts: Sequence[Part], read: ReadRow, on_answered: OnAnswered) -> None:
        answers: list[Answered] = []

        def watched(answered: Answered) -> None:
            on_answered(answered)
            answers.append(answered)
            if len(answers) == 1:
                both_have_started(self)
            elif len(answers) == 6:
                os.kill(actors_of(two_nodes().head_node, "Replica")[0], signal.SIGKILL)

        super().answer(parts, read, watched)


def test_two_engines_of_which_one_is_killed_answer_as_one_does(
    order: Any,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = small_release.write(tmp_path / "ruler", rows=12, lines=20)
    order = replace(order, dataset=str(rows), quiet=False)
    run(order)
    whole = lines(order.out)
    for path in order.out.glob("*.jsonl"):  # one engine begins, two go on
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    two_nodes()
    monkeypatch.setattr("ruler_eval.run.runner.RayReplicas", OneIsKilled)
    order = replace(order, backend="ray", cluster=ClusterOptions(replicas=2, num_cpus=1))
    outcome = run(order)
    assert outcome.total["stop"] + outcome.total["length"] == 24
    assert "An engine ended (ActorDiedError: " in capfd.readouterr().err
    assert lines(order.out) == whole  # each row once, in its file
    kept = json.loads((order.out / "run.json").read_text())
    assert kept["backend"] == "vllm"
    assert [session["replicas"] for session in kept["sessions"]] == [None, 2]
