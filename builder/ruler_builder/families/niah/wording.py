"""The text around the context of niah: for one needle that is asked for, or for several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ruler_builder.families.niah.params import TYPES
from ruler_builder.suites.wording import Frame, filled


def niah_frame(templates: Mapping[str, Any], types: str, many: bool, query: str) -> Frame:
    """The frame of a prompt that asks for values of the type `types` of the keys in `query`."""
    return filled(templates["many" if many else "one"], type=TYPES[types], types=types, query=query)
