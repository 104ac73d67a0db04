"""The canary: one GUID for each data set and data version, never another."""

from __future__ import annotations

import uuid

import pytest

from ruler_builder.families.task import DATA_VERSION
from ruler_common.canary import CANARIES, canary_of
from ruler_common.errors import RulerError


def test_every_data_set_and_data_version_has_a_guid_of_its_own() -> None:
    every = [guid for by_dataset in CANARIES.values() for guid in by_dataset.values()]
    assert len(every) == len(set(every)) == 2 * len(CANARIES)
    assert all(str(uuid.UUID(guid)) == guid for guid in every)
    assert canary_of("oneruler", DATA_VERSION) != canary_of("ruler", DATA_VERSION)


def test_the_canaries_of_a_published_data_version_never_change() -> None:
    assert CANARIES["1.0.0"] == {
        "ruler": "8fd5e18a-9d4b-4926-8c36-4e95eff80e38",
        "oneruler": "42dedfe8-a025-410b-ae7d-7e4434d10390",
    }


def test_a_data_version_without_a_canary_is_a_sentence_with_the_remedy() -> None:
    with pytest.raises(RulerError, match="has no canary: enter a new GUID"):
        canary_of("ruler", "9.9.9")
