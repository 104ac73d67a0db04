"""What an engine asks of a cluster, and how many of them its nodes hold."""

from __future__ import annotations

import sys

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.backends.backend import ClusterOptions
from ruler_eval.run.replicas.ray_placement import Place, RayCluster

NODE = {"CPU": 32.0, "GPU": 8.0, "memory": 1e12}


def test_an_engine_has_one_gpu_or_as_many_as_its_parallelism_takes_on_one_node() -> None:
    one = Place.of(None, {})
    assert one == ([{"GPU": 1.0}], "STRICT_PACK")
    assert str(one) == "1 GPU"
    assert Place.of(None, {"tensor_parallel_size": 4}) == (one.bundles * 4, "STRICT_PACK")


def test_a_pipeline_may_go_over_nodes() -> None:
    place = Place.of(None, {"tensor_parallel_size": 8, "pipeline_parallel_size": 2})
    assert (len(place.bundles), place.strategy) == (16, "PACK")
    assert (place.on([NODE]), place.on([NODE, NODE])) == (0, 1)


def test_an_engine_without_a_gpu_has_cpus_of_one_node() -> None:
    place = Place.of(16, {"tensor_parallel_size": 4})
    assert place == ([{"CPU": 16.0}], "STRICT_PACK")
    assert (str(place), place.on([NODE, {"CPU": 20.0}, {"CPU": 12.0}])) == ("16 CPU", 3)


def test_gpus_of_two_nodes_do_not_make_one_place() -> None:
    place = Place.of(None, {"tensor_parallel_size": 4})
    assert place.on([NODE, NODE]) == 4
    assert place.on([{"GPU": 6.0}, {"GPU": 6.0}, {"CPU": 8.0}]) == 2


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RulerError, match=r"pip install 'ruler-release\[ray\]'"):
        RayCluster(ClusterOptions())
