"""The stand-in refuses metadata that the Hub would refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.hub.card_rules import faults


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"license": "see-sources"}, ['"license" must be one of a list, not see-sources']),
        ({"license_name": "See sources"}, ['"license_name" is required, in lower case']),
        ({"license_link": "#sources"}, ['"license_link" must be an address or LICENSE']),
        ({"language": ["en", False]}, ['"language" must be of a list, not False']),
        ({"task_categories": ["recall"]}, ["\"task_categories\" must be of a list, not 'recall'"]),
        ({"size_categories": ["many"]}, ["\"size_categories\" must be of a list, not 'many'"]),
        ({"configs": [{"config_name": "a b", "data_files": []}]}, ['"configs" holds']),
        ({}, []),
    ],
)
def test_each_fault_is_found(small: Path, change: dict[str, Any], said: list[str]) -> None:
    card = (small / "README.md").read_text(encoding="utf-8")
    found = faults("dataset", {**yaml.safe_load(card.split("---\n")[1]), **change})
    assert len(found) == len(said)
    assert all(fault.startswith(start) for fault, start in zip(found, said, strict=True))
