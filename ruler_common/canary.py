"""The canary of a data set and data version: a GUID by which its rows are found in training data.

    canary_of("ruler", "1.0.0")         # "8fd5e18a-…", in every row, the card and the manifest

A text that holds it holds rows of the benchmark, and who makes training data can leave it out.
"""

from __future__ import annotations

from ruler_common.errors import RulerError

CANARIES = {
    "1.0.0": {
        "ruler": "8fd5e18a-9d4b-4926-8c36-4e95eff80e38",
        "oneruler": "42dedfe8-a025-410b-ae7d-7e4434d10390",
    },
}
"""Data version -> data set -> its GUID, which no other has and which never changes."""


def canary_of(dataset: str, data_version: str) -> str:
    """The GUID of a data set and data version. Raises RulerError for a version that has none."""
    if data_version not in CANARIES:
        raise RulerError(
            f"Data version {data_version} has no canary: enter a new GUID for each data set in "
            "ruler_common/canary.py."
        )
    return CANARIES[data_version][dataset]
