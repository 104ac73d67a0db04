"""The arrows of the design: builder -> ruler_dataset <- eval, and no other."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {
    "builder": {"builder", "ruler_dataset"},
    "eval": {"eval", "ruler_dataset"},
    "ruler_dataset": set(),
    "ruler_cli": {"builder", "eval", "ruler_dataset"},
}
HEAVY = {"numpy", "datasets", "pyarrow", "transformers", "tiktoken", "scipy", "torch", "vllm"}


def imports(path: Path) -> set[str]:
    """The project's own top-level modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found & set(ALLOWED)


def sources() -> list[Path]:
    return [
        path for name in ("builder", "eval") for path in sorted((ROOT / name).rglob("*.py"))
    ] + [
        ROOT / "ruler_dataset.py",
        ROOT / "ruler_cli.py",
    ]


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_imports_only_what_its_side_may(path: Path) -> None:
    part = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert imports(path) <= ALLOWED[part]


def test_the_modules_of_the_builder_import_in_no_circle() -> None:
    edges: dict[str, set[str]] = {}
    for path in (ROOT / "builder").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        edges[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("builder"):
                edges[name].add(node.module or "")
                edges[name] |= {f"{node.module}.{alias.name}" for alias in node.names}
    done: set[str] = set()
    while ready := {
        name for name in edges if name not in done and not edges[name] & set(edges) - done - {name}
    }:
        done |= ready
    assert done == set(edges)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, ruler_cli\n"
        "sys.argv = ['ruler', '--help']\n"
        "try: ruler_cli.main()\n"
        f"except SystemExit: print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
