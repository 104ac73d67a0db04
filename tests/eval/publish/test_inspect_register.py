"""The repository that docs/publish.md registers with Inspect Evals: Inspect loads its tasks."""

from __future__ import annotations

import runpy
from pathlib import Path

import tomllib
from inspect_ai import list_tasks

from tests.documents import blocks

HEADING = "Register with Inspect Evals"


def test_inspect_finds_the_tasks_and_they_hold_the_rows(built: Path, tmp_path: Path) -> None:
    (text,) = blocks("docs/publish.md", HEADING, "python")
    (tmp_path / "ruler_tasks.py").write_text(text, encoding="utf-8")
    found = list_tasks(root_dir=tmp_path)
    assert {(task.file, task.name) for task in found} == {
        ("ruler_tasks.py", "ruler"),
        ("ruler_tasks.py", "oneruler"),
    }
    tasks = runpy.run_path(str(tmp_path / "ruler_tasks.py"))
    task = tasks["ruler"](dataset=str(built), config="vt_4k", revision=None)
    assert task.dataset[0].id == "vt_4k-0"


def test_its_project_depends_on_inspect_and_on_this_package() -> None:
    (text,) = blocks("docs/publish.md", HEADING, "toml")
    inspect, this = tomllib.loads(text)["project"]["dependencies"]
    assert inspect.startswith("inspect-ai>=")
    assert this.startswith("ruler-release[inspect] @ ")
