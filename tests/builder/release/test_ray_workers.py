"""Workers of a Ray cluster of two nodes give the same results as processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from ruler_builder.release.worker import ray_pool
from ruler_common.errors import RulerError
from tests.embedded_release import build_embedded, contents
from tests.ray_cluster import two_nodes

ray = pytest.importorskip("ray", reason="the extra ray is not installed")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> None:
    two_nodes()


class Worker:
    """A worker that returns its node; some items make it fail or die."""

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


def test_workers_of_two_nodes_do_each_item_once_and_retry_it_after_a_death(tmp_path):
    with ray_pool(Worker(tmp_path), 2, None) as run:
        done = list(run(Worker.where, range(12)))
        assert sorted(item for item, _ in done) == list(range(12))
        assert len({node for _, node in done}) == 2
        done = list(run(Worker.where, [1, 99, 2, 3]))
        assert sorted(item for item, _ in done) == [1, 2, 3, 99]


@pytest.mark.parametrize(
    ("item", "message"), [(13, r"^13 is refused\.$"), (666, "^A worker process died")]
)
def test_an_error_of_a_worker_stops_the_work(tmp_path, item, message):
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
    options = {"lengths": ("4k",), "tasks": ("niah_s", "vt", "qa_1"), "rows": 3}
    build_embedded(tmp_path / "processes", workers=1, **options)
    build_embedded(tmp_path / "ray", pool="ray", workers=2, **options)
    assert contents(tmp_path / "ray") == contents(tmp_path / "processes")
