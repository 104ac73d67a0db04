"""Draws the rooms of the tree from its imports, below the mark in docs/architecture.md.

    python docs/draw_architecture.py

A room is a folder or a file right below its package, in the order of tests/test_architecture.py.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.test_architecture import EVERY, ORDER, PACKAGES, arrows, imported, room  # noqa: E402

PAGE = ROOT / "docs/architecture.md"
MARK = "<!-- drawn from the imports -->\n"
"""All below it is made."""
Arrows = Mapping[str, set[str]]
"""Each part, in order -> the other parts that it imports."""


def house() -> Arrows:
    """Package -> the packages of the project that it imports."""
    found: dict[str, set[str]] = {package: set() for package in PACKAGES}
    for module, path in EVERY.items():
        own = module.partition(".")[0]
        found[own] |= {name.partition(".")[0] for name in imported(path)} & {*PACKAGES} - {own}
    return found


def rooms(package: str) -> Arrows:
    """Room of a package -> the rooms that its modules import."""
    found: dict[str, set[str]] = {name: set() for name in ORDER[package]}
    for module, others in arrows(package).items():
        if own := room(module):
            found[own] |= {room(other) for other in others} - {own, ""}
    return found


def purposes(package: str | None = None) -> dict[str, str]:
    """What each package, or each room of one, is for in its own words."""
    if package is None:
        return {name: _purpose(EVERY[name]) for name in PACKAGES}
    return {name: _purpose(EVERY[f"{package}.{name}"]) for name in ORDER[package]}


def _purpose(path: Path) -> str:
    """The first sentence of a module's docstring."""
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(said.partition("\n\n")[0].split()).replace("|", r"\|")


def drawing(found: Arrows, said: Mapping[str, str]) -> str:
    """A Mermaid drawing, each part below those that it imports, and a table of all arrows."""
    lines = ["```mermaid", "flowchart BT", *(f"  {name}" for name in found)]
    lines += [f"  {name} --> {other}" for name in found for other in _shown(name, found)]
    lines += ["```", "", "| | what it is for | imports |", "|---|---|---|"]
    for name, others in found.items():
        inward = ", ".join(other for other in found if other in others)
        lines.append(f"| {name} | {said[name]} | {inward} |")
    return "\n".join(lines) + "\n"


def _shown(name: str, found: Arrows) -> Iterator[str]:
    """The imports of a part that no longer way shows."""
    for other in found:
        if other in found[name] and not any(
            other in _reached(between, found) for between in found[name]
        ):
            yield other


def _reached(name: str, found: Arrows) -> set[str]:
    return found[name].union(*(_reached(other, found) for other in found[name]))


def sections() -> Iterator[str]:
    """The house, then each package that has rooms."""
    yield f"## The packages\n\n{drawing(house(), purposes())}"
    for package in PACKAGES:
        if package in ORDER:
            guide = (ROOT / PACKAGES[package]).parent / "README.md"
            folder = guide.parent.name
            link = f"[`{folder}/README.md`](../{folder}/README.md) follows the data.\n\n"
            link = "" if guide.parent == ROOT else link
            yield f"## {package}\n\n{link}{drawing(rooms(package), purposes(package))}"


def drawn(page: str) -> str:
    """The page with every drawing made anew."""
    return page.partition(MARK)[0] + MARK + "\n" + "\n".join(sections())


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
