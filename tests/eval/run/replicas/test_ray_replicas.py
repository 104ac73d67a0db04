"""Engines in actors of a Ray cluster of two nodes. The oracle answers: what is tried is Ray's part.

tests/vllm/test_ray_vllm.py has the real engines.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.answering import Answered
from ruler_eval.run.backends.backend import ClusterOptions, ModelOptions
from ruler_eval.run.preparing.row_reader import RowReader, SentRow
from ruler_eval.run.replicas.ray_replicas import RayReplicas
from ruler_eval.run.run_order import RunOrder
from ruler_eval.run.work_plan import Part
from tests.ray_cluster import actors_of, both_have_started, two_nodes

ray = pytest.importorskip("ray", reason="the extra ray is not installed")
ORACLE = RunOrder("", (), "oracle", Path(), cluster=ClusterOptions(num_cpus=1))
ROWS = range(400)
PARTS = [Part("vt_4k", tuple(ROWS), tuple(ROWS), (1000,) * len(ROWS))]


@pytest.fixture
def cluster() -> Any:
    return two_nodes()


@pytest.fixture
def read(small: Path) -> Callable[[str, int], SentRow]:
    """Reads row 0 of a file for every index, since the file holds five."""
    reader = RowReader(str(small))
    return lambda config, index: (config, {**reader(config, 0)[1], "index": index})


def test_when_all_engines_end_what_was_answered_is_kept(cluster: Any, read: Any) -> None:
    answers: list[Answered] = []

    def on_answered(answered: Answered) -> None:
        answers.append(answered)
        if len(answers) % 50 == 0:  # the first engine, and both that replace it
            for node in (cluster.head_node, *cluster.worker_nodes):
                for pid in actors_of(node, "Replica"):
                    os.kill(pid, signal.SIGKILL)

    with (
        closing(RayReplicas(ORACLE, print)) as replicas,
        pytest.raises(RulerError, match=r"^All 1 engines ended; the last: ActorDiedError.*goes on"),
    ):
        replicas.answer(PARTS, read, on_answered)
    indices = [answered.record["index"] for answered in answers]
    assert 50 <= len(set(indices)) == len(indices) < len(ROWS)


def test_engines_answer_wave_after_wave(cluster: Any, read: Any) -> None:
    """As `ruler decide` sends them: some rows, a look, some more."""
    answers: list[int] = []
    order = replace(ORACLE, cluster=ClusterOptions(replicas=2, num_cpus=1))
    with closing(RayReplicas(order, print)) as replicas:
        for begin in range(0, 20, 5):
            rows = tuple(range(begin, begin + 5))
            wave = [Part("vt_4k", rows, rows, (1000,) * len(rows))]
            replicas.answer(wave, read, lambda answered: answers.append(answered.record["index"]))
            assert sorted(answers) == [*range(begin + 5)]


def test_an_engine_of_two_gpus_has_two_bundles_of_one_node_and_gives_them_back(
    cluster: Any, read: Any
) -> None:
    options = ModelOptions("oracle", arguments={"tensor_parallel_size": 2})
    order = RunOrder("", (), "oracle", Path(), options=options)
    with closing(RayReplicas(order, print)) as replicas:
        (group,) = [
            group
            for group in ray.util.placement_group_table().values()
            if group["state"] == "CREATED"
        ]
        assert group["strategy"] == "STRICT_PACK"
        assert list(group["bundles"].values()) == [{"GPU": 1.0}] * 2
        assert ray.available_resources().get("GPU", 0) == 0
        replicas.answer([Part("vt_4k", (0,), (0,), (1000,))], read, lambda answered: None)
    with pytest.raises(RulerError, match=r"room for 1 engines of 2 GPU each, not for 2"):
        RayReplicas(replace(order, cluster=ClusterOptions(replicas=2)), print)


def test_engines_that_never_find_a_place_are_refused(cluster: Any) -> None:
    with pytest.raises(RulerError, match=r"room for 2 engines of 1 CPU each, not for 9: --repl"):
        RayReplicas(replace(ORACLE, cluster=ClusterOptions(replicas=9, num_cpus=1)), print)
    with pytest.raises(RulerError, match=r"room for 2 .*not for 3.*--num-cpus N gives"):
        RayReplicas(replace(ORACLE, cluster=ClusterOptions(replicas=3)), print)


def test_an_engine_that_cannot_start_is_one_sentence(cluster: Any) -> None:
    order = replace(ORACLE, backend="openai", options=ModelOptions("m"))
    with pytest.raises(RulerError, match=r"^Set OPENAI_API_KEY, or give the server"):
        RayReplicas(order, print)


def wait_for_the_end_of(processes: list[int]) -> None:
    limit = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in processes):
        assert time.monotonic() < limit, "an engine does not end"
        time.sleep(0.05)


def kill_the_engine(cluster: Any, node: Any) -> None:
    os.kill(actors_of(node, "Replica")[0], signal.SIGKILL)


def remove_the_node(cluster: Any, node: Any) -> None:
    cluster.remove_node(node, allow_graceful=False)


@pytest.mark.parametrize("end", [kill_the_engine, remove_the_node])
def test_each_row_is_answered_once_though_one_of_two_engines_ends(
    cluster: Any, read: Any, end: Callable[[Any, Any], None]
) -> None:
    notes: list[str] = []
    answers: list[Answered] = []
    second = cluster.worker_nodes.copy().pop()

    def on_answered(answered: Answered) -> None:
        answers.append(answered)
        if len(answers) == 1:
            both_have_started(replicas)
        elif len(answers) == 100:
            engines = actors_of(second, "Replica")
            assert len(engines) == 1
            end(cluster, second)
            wait_for_the_end_of(engines)

    order = replace(ORACLE, cluster=ClusterOptions(replicas=2, num_cpus=1))
    with closing(RayReplicas(order, notes.append)) as replicas:
        replicas.answer(PARTS, read, on_answered)
    assert sorted(answered.record["index"] for answered in answers) == list(ROWS)
    assert {answered.record["finish_reason"] for answered in answers} == {"stop"}
    (note,) = notes
    if end is kill_the_engine:  # of a node, Ray may not know yet that it is gone
        assert note.endswith("It is replaced.")
    assert re.match(r"An engine ended \(Actor.*; its \d+ unanswered rows go to the others", note)
    wait_for_the_end_of(actors_of(cluster.head_node, "Replica"))
