"""The order in which `ruler decide` looks at rows, and the first rows of it.

The order is random, drawn by a hash for each task and length, and independent of the frozen order
(ruler_common/rows.py), in which all other runs take their rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from ruler_common.manifest import FileEntry, Manifest


def look_order(data_version: str, task: str, length: str, indices: Iterable[int]) -> list[int]:
    """Return row indices in the random order of the test, drawn for each task and length."""

    def random_key(index: int) -> bytes:
        text = json.dumps(["gate", data_version, task, length, index])
        return hashlib.blake2b(text.encode(), digest_size=8).digest()

    return sorted(indices, key=random_key)


def look_order_of_file(manifest: Manifest, entry: FileEntry, indices: list[int]) -> list[int]:
    """Return row indices of a release's file in the order of the test."""
    return look_order(manifest["data_version"], entry["task"], entry["length"], indices)
