"""Conventions of the code that no linter knows."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("ruler_common", "builder", "eval", "ruler_release")
FILES = [
    *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))),
    ROOT / "ruler_dataset.py",
]
MOST_BY_PLACE = 4
"""Fields of a dataclass, from which on arguments are given by keyword: none is mistaken."""


def fields(node: ast.ClassDef) -> list[ast.AnnAssign]:
    return [item for item in node.body if isinstance(item, ast.AnnAssign)]


def test_large_dataclasses_take_keywords() -> None:
    wrong = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and len(fields(node)) > MOST_BY_PLACE:
                said = [ast.dump(decorator) for decorator in node.decorator_list]
                known = [ast.dump(item.annotation) for item in fields(node)]
                is_dataclass = any("'dataclass'" in text for text in said)
                by_keyword = any("kw_only" in text for text in said) or any(
                    "KW_ONLY" in text for text in known
                )
                wrong += [f"{path}: {node.name}"] * (is_dataclass and not by_keyword)
    assert wrong == []
