"""Workers of a Ray cluster of two nodes: the same calls, the same bytes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import build
from ruler_builder.release.worker import ray_pool
from ruler_common.errors import RulerError
from ruler_common.files import sha256_of
from tests.ray_cluster import two_nodes

ray = pytest.importorskip("ray", reason="the extra ray is not installed")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> None:
    two_nodes()


class Worker:
    """Knows its node; some items make it fail or die."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def where(self, item: int) -> tuple[int, str]:
        if item == 13:
            raise RulerError("13 is refused.")
        if item == 99 and not (self.folder / "died").exists():
            (self.folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if item == 666:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.1)
        return item, ray.get_runtime_context().get_node_id()


def test_workers_of_two_nodes_do_each_item_once_or_again_if_one_died(tmp_path):
    with ray_pool(Worker(tmp_path), 2, None) as run:
        result = list(run(Worker.where, range(12)))
        assert sorted(item for item, _ in result) == list(range(12))
        assert len({node for _, node in result}) == 2
        result = list(run(Worker.where, [1, 99, 2, 3]))
        assert sorted(item for item, _ in result) == [1, 2, 3, 99]


@pytest.mark.parametrize(
    ("item", "message"), [(13, r"^13 is refused\.$"), (666, "^A worker process died")]
)
def test_an_error_of_a_worker_ends_the_work_in_one_sentence(tmp_path, item, message):
    with (
        pytest.raises(RulerError, match=message),
        ray_pool(Worker(tmp_path), 2, None) as run,
    ):
        list(run(Worker.where, [1, item]))


def test_there_are_at_most_as_many_workers_as_cpus(tmp_path):
    with ray_pool(Worker(tmp_path), 9, None) as run:
        result = list(run(Worker.where, range(12)))
    assert sorted(item for item, _ in result) == list(range(12))


def test_a_release_built_on_two_nodes_has_the_bytes_of_one_build(tmp_path):
    result = []
    for engine, workers in (("processes", 1), ("ray", 2)):
        root = tmp_path / engine
        order = BuildOptions(
            root,
            lengths=("4k",),
            tasks=("niah_s", "vt", "qa_1"),
            samples=3,
            sources=("embedded",),
            engine=engine,
            workers=workers,
        )
        build(order)
        files = sorted(path for path in root.rglob("*") if path.is_file())
        result.append({path.relative_to(root): sha256_of(path) for path in files})
    assert result[0] == result[1]
