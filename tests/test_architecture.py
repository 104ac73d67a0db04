"""The arrows of the tree: two sides on a shared ground floor, a top floor, and rooms in order.

A room may import itself and the rooms that stand before it, never one that stands after it. So data
flow one way through the tree, and reading a room needs no knowledge of the later ones.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "ruler_common": "ruler_common",
    "ruler_dataset": "ruler_dataset.py",
    "ruler_builder": "builder/ruler_builder",
    "ruler_score": "eval/ruler_score",
    "ruler_eval": "eval/ruler_eval",
    "ruler_release": "ruler_release",
}
"""Each import name of the project, and where it lies in a checkout."""
MAY_IMPORT = {
    "ruler_common": set[str](),
    "ruler_dataset": {"ruler_common"},
    "ruler_builder": {"ruler_common", "ruler_dataset"},
    "ruler_score": set[str](),
    "ruler_eval": {"ruler_common", "ruler_dataset", "ruler_score"},
    "ruler_release": {
        "ruler_common",
        "ruler_dataset",
        "ruler_builder",
        "ruler_eval",
        "ruler_score",
    },
}
"""What each of them may import beside itself."""
ORDER = {
    "ruler_common": (
        *("errors", "text", "files", "work", "parsing", "outside", "manifest_form", "names"),
        *("languages", "rows", "manifest", "frozen_rows", "hub_access", "terminal", "ray_cluster"),
    ),
    # The card stands before release and proof: it needs a manifest alone, a build writes it before
    # the manifest, which comes last, and the proof renders it anew.
    "ruler_builder": (
        *("common", "sources", "tokens", "oneruler", "suites", "context", "reading", "families"),
        *("card", "release", "proof", "verify", "hub"),
    ),
    "ruler_eval": (
        *("release_languages", "prediction", "frozen_release", "families", "run", "score"),
        "published",
        *("example", "analysis", "report", "publish", "export"),
    ),
    "ruler_release": (
        "tables",
        "api",
        "completion",
        "metric_space",
        "commands",
        "app",
        "__main__",
        "inspect_tasks",
    ),
}
"""The rooms, in the order in which data pass through them."""
PROVES = re.compile(r"ruler_builder\.(proof|reading|families\.\w+\.proof)(\.|$)")
BUILDS = re.compile(
    r"ruler_builder\.(context|release|hub)(\.|$)|ruler_builder\.families\.(\w+\.rows|task|makers)$"
)
"""What proves a release, and what makes one: the first reaches nothing of the second."""
HEAVY = {"numpy", "datasets", "pyarrow", "transformers", "tiktoken", "scipy", "torch", "vllm"}
MOST_MODULES = 13
"""Of a folder: about a dozen."""
MOST_COMMANDS = 16
"""Modules of ruler_release/commands."""
ALIKE = ("commands", "families")
"""Folders whose modules are named as others are, for what they are about."""
PRINT = {
    "ruler_common/terminal.py",  # progress bars and tables
    "ruler_eval/run/progress.py",  # the bar of a run
    "ruler_eval/run/backends/vllm_engine.py",  # one line beside vLLM's own log
}
"""Below the top floor, what may print."""
PRINTING = re.compile(r"(^|\.)(print|echo|(stdout|stderr)\.write)$")


def modules(package: str) -> dict[str, Path]:
    """The modules of a package by their dotted names."""
    top, found = ROOT / PACKAGES[package], {}
    for path in [top] if top.is_file() else sorted(top.rglob("*.py")):
        name = ".".join(path.relative_to(top.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


@cache
def imported(path: Path) -> list[str]:
    """Every dotted name that a file imports, anywhere in it."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return names


def arrows(package: str) -> dict[str, set[str]]:
    """Module -> the modules of the same package that it imports."""
    known = modules(package)
    return {
        name: {other for other in imported(path) if other in known} - {name, package}
        for name, path in known.items()
    }


def room(module: str) -> str:
    """The room of a module: the folder, or the file, right below its package."""
    return module.split(".")[1] if "." in module else ""


EVERY = {name: path for package in PACKAGES for name, path in modules(package).items()}
FILES = [*EVERY.values()]
OUTSIDE_FAMILIES = [path for path in FILES if "families" not in path.parts]
"""A family has a module of its name on each side, and there may be as many as there are."""


def test_a_module_imports_only_what_its_side_may() -> None:
    across = []
    for module, path in EVERY.items():
        own = module.split(".")[0]
        others = {name.split(".")[0] for name in imported(path)} & set(PACKAGES)
        across += [f"{module} -> {other}" for other in others - {own} - set(MAY_IMPORT[own])]
    assert across == []


@pytest.mark.parametrize("package", ORDER)
def test_every_room_has_its_place_in_the_order(package: str) -> None:
    assert {room(name) for name in modules(package)} - {""} == set(ORDER[package])


@pytest.mark.parametrize("package", ORDER)
def test_no_arrow_goes_back_up(package: str) -> None:
    place = {name: number for number, name in enumerate(ORDER[package])}
    up = [
        f"{name} -> {other}"
        for name, others in arrows(package).items()
        for other in others
        if room(name) and place[room(other)] > place[room(name)]
    ]
    assert up == []


@pytest.mark.parametrize("package", ORDER)
def test_modules_import_in_no_circle(package: str) -> None:
    edges, done = arrows(package), set[str]()
    while ready := {name for name in edges if name not in done and not edges[name] - done}:
        done |= ready
    assert set(edges) - done == set()


def test_the_proof_reaches_nothing_that_makes_rows() -> None:
    edges = arrows("ruler_builder")
    reached = {name for name in edges if PROVES.match(name)}
    assert len(reached) > 20
    while more := {other for name in reached for other in edges[name]} - reached:
        reached |= more
    assert [name for name in sorted(reached) if BUILDS.match(name)] == []


def test_no_family_of_the_builder_imports_another() -> None:
    families = ROOT / PACKAGES["ruler_builder"] / "families"
    across = [
        f"{path.relative_to(families)} -> {name}"
        for path in families.glob("*/*.py")
        for name in imported(path)
        if name.startswith("ruler_builder.families.")
        if (other := name.split(".")[2]) != path.parent.name and (families / other).is_dir()
    ]
    assert across == []


BELOW = [name for name in EVERY if not name.startswith("ruler_release")]


def test_the_terminal_belongs_to_the_top_floor() -> None:
    """No typer below it, and nothing that prints but what PRINT names."""
    wrong = []
    for module in BELOW:
        path = EVERY[module]
        top = ROOT / PACKAGES[module.split(".")[0]]
        typer = {name.split(".")[0] for name in imported(path)} & {"typer", "click"}
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        calls = [ast.unparse(node.func) for node in tree if isinstance(node, ast.Call)]
        printing = any(PRINTING.search(call) for call in calls)
        may_print = path.relative_to(top.parent).as_posix() in PRINT
        wrong += [module] * bool(typer or (printing and not may_print))
    assert wrong == []


def test_commands_know_neither_each_other_nor_the_application() -> None:
    """They meet in their flags, in the API and in the tables."""
    top = "ruler_release.commands"
    for name, others in arrows("ruler_release").items():
        if name.startswith(f"{top}."):
            assert {other for other in others if other.startswith(top)} <= {top, f"{top}.flags"}


def test_a_file_name_occurs_once() -> None:
    distinct = (path for path in FILES if not {*ALIKE} & {*path.parts})
    names = Counter(path.name for path in distinct if path.name != "__init__.py")
    twice = [name for name, times in names.items() if times > 1]
    assert twice == ["app.py"]  # the metric's Space has to have one


def test_no_folder_holds_more_than_about_a_dozen_modules() -> None:
    sizes = Counter(path.parent for path in OUTSIDE_FAMILIES if path.name != "__init__.py")
    most = {ROOT / "ruler_release/commands": MOST_COMMANDS}
    crowded = [str(path) for path, size in sizes.items() if size > most.get(path, MOST_MODULES)]
    assert crowded == []


@pytest.mark.parametrize("package", ORDER)
def test_the_tests_mirror_the_tree(package: str) -> None:
    top, tests = ROOT / PACKAGES[package], ROOT / "tests" / package.removeprefix("ruler_")
    own = {path.relative_to(top) for path in [top, *top.rglob("*")] if path.is_dir()}
    own |= {Path(name) for name in PACKAGES if PACKAGES[name].startswith("eval/")}
    assert {path.parent.relative_to(tests) for path in tests.rglob("*.py")} <= own


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, ruler_release.app\n"
        "sys.argv = ['ruler', '--help']\n"
        "try: ruler_release.app.main()\n"
        f"except SystemExit: print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
