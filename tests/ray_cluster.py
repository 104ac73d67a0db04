"""One Ray cluster of two nodes on this machine, for all tests of a process that need it."""

from __future__ import annotations

import atexit
import os
from functools import cache
from typing import Any


@cache
def _made() -> Any:
    os.environ["RAY_AUTH_MODE"] = "disabled"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_raylet_start_wait_time_s"] = "300"  # noqa: SIM112
    import ray
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=head)
    atexit.register(made.shutdown)
    atexit.register(ray.shutdown)
    made.add_node(num_cpus=1)
    ray.init(address=made.address, log_to_driver=False)
    return made


def two_nodes() -> Any:
    """The cluster, connected: a head and a second node of one CPU each, added if it is gone."""
    cluster = _made()
    if not cluster.worker_nodes:
        cluster.add_node(num_cpus=1)
    return cluster
