"""The arrows of the tree: builder -> ruler_dataset <- eval, and within each side rooms in order.

A room may import itself and the rooms that stand before it, never one that stands after it. So data
flow one way through the tree, and reading a room needs no knowledge of the later ones.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SIDES = {
    "builder": {"builder", "ruler_dataset"},
    "eval": {"eval", "ruler_dataset"},
    "ruler_dataset": set(),
    "ruler_cli": {"builder", "eval", "ruler_dataset"},
}
"""What each part of the top level may import."""
ORDER = {
    # The card stands before checks and release: it needs a manifest alone, verify renders it anew,
    # and a build writes it before the manifest, which comes last.
    "builder": (
        *("common", "sources", "tokens", "oneruler", "context", "tasks"),
        *("card", "checks", "release", "hub", "quickstart", "cli"),
    ),
    "eval": (
        *("function_words", "step_bar", "frozen_release", "ruler_score"),
        *(
            "run",
            "score",
            "published",
            "example",
            "analysis",
            "report",
            "publish",
            "export",
            "commands",
            "cli",
        ),
    ),
}
"""The rooms, in the order in which data pass through them."""
NOT_IN_CHECKS = ("builder.release", "builder.context", "builder.hub")
HEAVY = {"numpy", "datasets", "pyarrow", "transformers", "tiktoken", "scipy", "torch", "vllm"}
MOST_MODULES = 13
"""Of a folder: about a dozen."""


def modules(side: str) -> dict[str, Path]:
    """The modules of a side by their dotted names."""
    found = {}
    for path in sorted((ROOT / side).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imported(path: Path) -> Iterator[str]:
    """Every dotted name that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def arrows(side: str) -> dict[str, set[str]]:
    """Module -> the modules of the same side that it imports."""
    known = modules(side)
    return {
        name: {other for other in imported(path) if other in known} - {name, side}
        for name, path in known.items()
    }


def room(module: str) -> str:
    """The room of a module: the folder, or the file, right below its side."""
    return module.split(".")[1] if "." in module else ""


TOPS = [ROOT / "ruler_dataset.py", ROOT / "ruler_cli.py"]
FILES = [*modules("builder").values(), *modules("eval").values(), *TOPS]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_imports_only_what_its_side_may(path: Path) -> None:
    part = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert {name.split(".")[0] for name in imported(path)} & set(SIDES) <= SIDES[part]


@pytest.mark.parametrize("side", ORDER)
def test_every_room_has_its_place_in_the_order(side: str) -> None:
    assert {room(name) for name in modules(side)} - {""} == set(ORDER[side])


@pytest.mark.parametrize("side", ORDER)
def test_no_arrow_goes_back_up(side: str) -> None:
    place = {name: number for number, name in enumerate(ORDER[side])}
    up = [
        f"{name} -> {other}"
        for name, others in arrows(side).items()
        for other in others
        if room(name) and place[room(other)] > place[room(name)]
    ]
    assert up == []


@pytest.mark.parametrize("side", ORDER)
def test_modules_import_in_no_circle(side: str) -> None:
    edges, done = arrows(side), set[str]()
    while ready := {name for name in edges if name not in done and not edges[name] - done}:
        done |= ready
    assert set(edges) - done == set()


def test_checks_import_nothing_that_builds() -> None:
    edges = arrows("builder")
    reached = {name for name in edges if name.startswith("builder.checks")}
    while more := {other for name in reached for other in edges[name]} - reached:
        reached |= more
    assert [name for name in sorted(reached) if name.startswith(NOT_IN_CHECKS)] == []


def test_a_file_name_occurs_once() -> None:
    names = Counter(path.name for path in FILES if path.name != "__init__.py")
    assert [name for name, times in names.items() if times > 1] == ["cli.py"]  # one for each side


def test_no_folder_holds_more_than_about_a_dozen_modules() -> None:
    sizes = Counter(path.parent for path in FILES if path.name != "__init__.py")
    crowded = [str(folder) for folder, size in sizes.items() if size > MOST_MODULES]
    assert crowded == []


@pytest.mark.parametrize("side", ORDER)
def test_the_tests_mirror_the_tree(side: str) -> None:
    own = {path.relative_to(ROOT) for path in (ROOT / side).rglob("*") if path.is_dir()}
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("*.py")}
    assert {folder for folder in folders if folder.parts[:1] == (side,)} <= {*own, Path(side)}


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, ruler_cli\n"
        "sys.argv = ['ruler', '--help']\n"
        "try: ruler_cli.main()\n"
        f"except SystemExit: print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
