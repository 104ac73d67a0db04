"""A Ray cluster for engines: connect to it, check what it has, and place one actor an engine.

An engine has one GPU, or as many as its tensor and pipeline parallelism take, in a placement group
of its own: on one node, unless a pipeline goes over several. With `num_cpus` it has CPUs alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ruler_common.errors import RulerError
from ruler_common.ray_cluster import connect
from ruler_eval.run.backends.backend import ClusterOptions
from ruler_eval.run.replicas.replica import Replica
from ruler_eval.run.run_order import RunOrder

ON_A_CPU = {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
"""Environment of an engine on CPUs: several on one node must not claim the same cores."""
PASSED_ON = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
"""Variables that engines get from here beside VLLM_*; keys (HF_TOKEN) are set on the nodes."""


class Place(NamedTuple):
    """What one engine asks of a cluster: a bundle of resources for each GPU, and how they lie.

    STRICT_PACK: all bundles on one node. PACK: over as few nodes as there is room on.
    """

    bundles: list[dict[str, float]]
    strategy: Literal["STRICT_PACK", "PACK"]

    @classmethod
    def of(cls, num_cpus: int | None, arguments: Mapping[str, Any]) -> Place:
        """The place of an engine with CPUs alone, or with the GPUs that its arguments take."""
        if num_cpus is not None:
            return cls([{"CPU": float(num_cpus)}], "STRICT_PACK")
        tensor = int(arguments.get("tensor_parallel_size", 1))
        pipeline = int(arguments.get("pipeline_parallel_size", 1))
        bundles = [{"GPU": 1.0} for _ in range(tensor * pipeline)]
        return cls(bundles, "STRICT_PACK" if pipeline == 1 else "PACK")

    def on(self, nodes: Iterable[Mapping[str, float]]) -> int:
        """How many such places nodes have, all free, with these amounts by kind: GPU, CPU."""
        ((kind, amount),) = self.bundles[0].items()
        found = [int(node.get(kind, 0) / amount) for node in nodes]
        size = len(self.bundles)
        return sum(found) // size if self.strategy == "PACK" else sum(n // size for n in found)

    def __str__(self) -> str:
        """What it takes, in words."""
        ((kind, amount),) = self.bundles[0].items()
        return f"{len(self.bundles) * amount:g} {kind}"


class RayCluster:
    """A connection to a cluster; a cluster that was made here ends with it."""

    def __init__(self, options: ClusterOptions) -> None:
        """Connect. Raises RulerError without the package, or where no cluster answers."""
        self.options = options
        self.ray, self._own = connect(options.address, "The ray backend")
        self._groups: list[Any] = []
        self._place: Any = None

    def place(self, order: RunOrder) -> list[Any]:
        """One actor an engine; it starts as soon as Ray finds its place.

        Raises RulerError where the nodes are too small or too few for all of them; nodes that an
        autoscaler would add are not counted.
        """
        arguments = dict(order.options.arguments or {})
        place = Place.of(self.options.num_cpus, arguments)
        self._check(place)
        actor: dict[str, Any] = {"num_cpus": self.options.num_cpus or 0}
        if self.options.num_cpus is None:
            actor["num_gpus"] = 1 if len(place.bundles) == 1 else 0  # vLLM's own actors have them
        if len(place.bundles) > 1:
            arguments.setdefault("distributed_executor_backend", "ray")
        order = replace(order, options=replace(order.options, arguments=arguments))
        self._place = place, actor, order
        return [self._placed(*self._place) for _ in range(self.options.replicas)]

    def has_room(self, engines: int) -> bool:
        """Whether the nodes that are alive can hold so many engines."""
        return self._room(self._place[0]) >= engines

    def replace(self, number: int) -> Any:
        """Another actor for one that ended, in a place of its own."""
        self.ray.util.remove_placement_group(self._groups[number])
        actor = self._placed(*self._place)
        self._groups[number] = self._groups.pop()
        return actor

    def _placed(self, place: Place, actor: Mapping[str, Any], order: RunOrder) -> Any:
        """An actor with a placement group of its own, which its own actors share."""
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        group = self.ray.util.placement_group(place.bundles, strategy=place.strategy)
        self._groups.append(group)
        return (
            self.ray.remote(Replica)
            .options(
                **actor,
                scheduling_strategy=PlacementGroupSchedulingStrategy(
                    group, placement_group_capture_child_tasks=True
                ),
                runtime_env={"env_vars": self._environment()},
                max_restarts=0,
                max_task_retries=0,
            )
            .remote(order, str(Path.cwd()))
        )

    def _room(self, place: Place) -> int:
        """How many engines the nodes that are alive can hold."""
        return place.on(node["Resources"] for node in self.ray.nodes() if node["Alive"])

    def _check(self, place: Place) -> None:
        """Raise RulerError where the cluster can never hold that many engines."""
        room = self._room(place)
        if room < self.options.replicas:
            gpu = "" if self.options.num_cpus else "; --num-cpus N gives engines CPUs alone"
            raise RulerError(
                f"The cluster has room for {room} engines of {place} each, not for "
                f"{self.options.replicas}: --replicas sets how many there are{gpu}."
            )

    def _environment(self) -> dict[str, str]:
        """The environment of an engine, from that of this process; never a key."""
        mine = {
            name: value
            for name, value in os.environ.items()
            if name in PASSED_ON
            or (name.startswith("VLLM_") and not name.endswith(("_KEY", "_TOKEN")))
        }
        if self.options.num_cpus is None:
            return mine
        threads = {"OMP_NUM_THREADS": str(self.options.num_cpus)}
        return {**ON_A_CPU, **threads, **mine}

    def close(self) -> None:
        """Give the places back, and end a cluster that was made here."""
        for group in self._groups:
            self.ray.util.remove_placement_group(group)
        if self._own:
            self.ray.shutdown()
