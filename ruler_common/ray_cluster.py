"""Connecting to a Ray cluster: that of an address, of this machine, or one made for the work."""

from __future__ import annotations

import logging
import os
import socket
from typing import Any

from ruler_common.errors import RulerError
from ruler_common.text import one_line


def connect(address: str | None, user: str) -> tuple[Any, bool]:
    """The ray package, connected; and whether the connection is ours to end.

    `user` names what needs it, at the start of a sentence. Raises RulerError without the package,
    or where no cluster answers.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ModuleNotFoundError as error:
        raise RulerError(
            f"{user} needs the package 'ray': pip install 'ruler-release[ray]'"
        ) from error
    if ray.is_initialized():
        return ray, False
    try:
        _check_reachable(address)
        ray.init(
            address=address,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise RulerError(
            f"No Ray cluster at {address or 'this machine'}: {one_line(error)}. See --address."
        ) from error
    return ray, True


def _check_reachable(address: str | None) -> None:
    """Raise OSError where nothing answers at HOST:PORT: Ray itself would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=10).close()
