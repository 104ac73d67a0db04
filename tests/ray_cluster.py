"""Start one Ray cluster of two nodes on this machine, which all tests of a process share."""

from __future__ import annotations

import atexit
import os
from functools import cache
from typing import Any


@cache
def _cluster() -> Any:
    os.environ["RAY_AUTH_MODE"] = "disabled"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_raylet_start_wait_time_s"] = "300"  # noqa: SIM112
    import ray
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    atexit.register(cluster.shutdown)
    atexit.register(ray.shutdown)
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    return cluster


def two_nodes() -> Any:
    """Connect to a head and a second node of one CPU each; restart the second if it is gone."""
    cluster = _cluster()
    if not cluster.worker_nodes:
        cluster.add_node(num_cpus=1)
    return cluster
