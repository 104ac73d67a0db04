"""Build small releases from the texts that come with the project.

build_embedded(tmp_path / "ruler", lengths=("4k",), tasks=("vt",), rows=3)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruler_builder.options import BuildOptions
from ruler_builder.release.build import Built, build
from ruler_release.api import verify


def build_embedded(root: Path, **options: Any) -> Built:
    """Build a release; `options` are fields of BuildOptions."""
    return build(BuildOptions(root, **{"sources": ("embedded",), **options}))


def contents(root: Path) -> dict[str, bytes]:
    """Return the bytes of every file in a folder, by its path in the folder."""
    paths = [path for path in root.rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def audit_problems(root: Path, *tokenizers: str) -> dict[str, Any]:
    """Return what `ruler verify --audit` finds wrong with a release or cannot check, by file."""
    report = verify(root, audit=True, tokenizers=tokenizers)
    problems: dict[str, Any] = dict(report.not_rebuilt)
    for path, file in report.files.items():
        if file.count:
            problems[path] = file.problems
    if not report.proved:
        problems["release"] = "not proved"
    if report.notes:
        problems["notes"] = report.notes
    return problems
