"""The repository that docs/publish.md registers with Inspect Evals: Inspect loads its tasks."""

from __future__ import annotations

import runpy

from ruler_common.files import read_toml
from tests.documents import blocks

HEADING = "Register with Inspect Evals"


def test_inspect_finds_the_tasks_and_they_hold_the_rows(built, tmp_path):
    from inspect_ai import list_tasks  # takes seconds, and is not needed to collect the tests

    (text,) = blocks("docs/publish.md", HEADING, "python")
    (tmp_path / "ruler_tasks.py").write_text(text, encoding="utf-8")
    result = list_tasks(root_dir=tmp_path)
    assert {(task.file, task.name) for task in result} == {
        ("ruler_tasks.py", "ruler"),
        ("ruler_tasks.py", "oneruler"),
    }
    tasks = runpy.run_path(str(tmp_path / "ruler_tasks.py"))
    task = tasks["ruler"](dataset=str(built), config="vt_4k", revision=None)
    assert task.dataset[0].id == "vt_4k-0"


def test_its_project_depends_on_inspect_and_on_this_package(tmp_path):
    (text,) = blocks("docs/publish.md", HEADING, "toml")
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    inspect, this = read_toml(tmp_path / "pyproject.toml")["project"]["dependencies"]
    assert inspect.startswith("inspect-ai>=")
    assert this.startswith("ruler-release[inspect] @ ")
