"""The text around a solved example of vt, in both layouts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ruler_builder.suites.wording import filled


class ExampleFrame(NamedTuple):
    """What stands before and after the context of a solved example, its prefix, and its end."""

    head: str
    tail: str
    prefix: str
    end: str


def chain_example_frame(
    templates: Mapping[str, str], layout: str, names: int, value: str
) -> ExampleFrame:
    """The frame of a solved example of vt, whose answer is `names` names.

    The paper's own code (layout 2024) joined the words of the example's template by single spaces,
    and put a space before the example and two more newlines after it.
    """
    lead, end = "", "\n\n"
    if layout == "2024":
        lead, end = " ", "\n\n\n\n"
        templates = {**templates, "input": " ".join(templates["input"].split())}
    frame = filled(templates, n=names, value=value)
    return ExampleFrame(lead + frame.head, frame.tail, frame.prefix, end)
