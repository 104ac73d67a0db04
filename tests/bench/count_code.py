"""Lines of code by room, without docstrings, comments and blank lines: `… count_code [REVISION]`.

python -m tests.bench.count_code            # the files that git tracks, as they are now
python -m tests.bench.count_code v0.2.0     # those of a revision
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def git(*words: str) -> str:
    """The output of a git command."""
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def code_lines(text: str) -> int:
    """Lines that are neither blank nor a comment nor part of a docstring."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                documented |= {*range(first.lineno, (first.end_lineno or 0) + 1)}
    return sum(
        number not in documented and line.strip() != "" and not line.lstrip().startswith("#")
        for number, line in enumerate(text.splitlines(), 1)
    )


def room(path: Path) -> str:
    """The package and its room, as a path without the fixed folder in front."""
    parts = path.parts[1:] if path.parts[1:] and path.parts[1].startswith("ruler_") else path.parts
    return "/".join(parts[:2] if len(parts) > 2 else parts[:1])


def main(revision: str | None = None) -> None:
    """Print a line a room and the sum."""
    names = git("ls-tree", "-r", "--name-only", revision) if revision else git("ls-files")
    rooms: Counter[str] = Counter()
    for path in map(Path, names.splitlines()):
        if path.suffix == ".py" and path.parts[0] not in ("tests", "docs"):
            text = (
                git("show", f"{revision}:{path}") if revision else (ROOT / path).read_text("utf-8")
            )
            rooms[room(path)] += code_lines(text)
    for name, lines in sorted(rooms.items()):
        print(f"{lines:7,}  {name}")
    print(f"{rooms.total():7,}  in all")


if __name__ == "__main__":
    main(*sys.argv[1:2])
