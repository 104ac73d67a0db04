"""docs/architecture.md: its drawings are those of the imports, and every package has its place."""

from __future__ import annotations

import re

from docs.draw_architecture import MARK, PAGE, drawn, house, rooms
from tests.test_architecture import ORDER, PACKAGES

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_drawings_are_those_of_the_imports() -> None:
    """Where this fails: python docs/draw_architecture.py."""
    assert drawn(TEXT) == TEXT


def test_the_house_and_every_package_with_rooms_are_drawn() -> None:
    headings = re.findall("^## (.*)$", TEXT.partition(MARK)[2], re.MULTILINE)
    assert headings == ["The packages", *(name for name in PACKAGES if name in ORDER)]
    assert TEXT.count("```mermaid") == len(headings)


def test_every_arrow_points_to_an_earlier_room() -> None:
    for found in (house(), *map(rooms, ORDER)):
        place = {name: number for number, name in enumerate(found)}
        assert all(place[other] < place[name] for name in found for other in found[name])
