"""The files that other programs read from the repository: they parse, and what they call exists."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from tests.test_architecture import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
SCRIPTS = sorted(path for path in (ROOT / ".ci").iterdir() if path.suffix != ".sh")
PARTS = ("lint", "tests", "wheel", "extras", "vllm")
"""What `.ci/run` takes, and CI's jobs are called."""


def read(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def steps(workflow: Any) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_ci_has_a_job_for_each_part_of_its_script() -> None:
    jobs = read(".github/workflows/ci.yml")["jobs"]
    assert {name: job["steps"][-1]["run"] for name, job in jobs.items()} == {
        part: f".ci/run {part}" for part in PARTS
    }
    assert jobs["tests"]["strategy"]["matrix"]["python"] == ["3.10", "3.11", "3.13"]
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert all(re.search(rf"^  {part}\)", script, re.MULTILINE) for part in PARTS)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_scripts_that_exist_and_grants_no_more_than_reading(path: Any) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for step in steps(workflow):
        for script in re.findall(r"\.ci/\w+", step.get("run", "")):
            assert os.access(ROOT / script, os.X_OK)
        assert "@" in step.get("uses", "@")  # of a version


def test_a_release_is_published_only_after_every_check_and_without_a_password() -> None:
    jobs = read(".github/workflows/release.yml")["jobs"]
    checks = [step["run"].split()[-1] for step in jobs["build"]["steps"] if "run" in step]
    assert checks[1:] == ["lint", "tests", "dist"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_well_formed(script: Any) -> None:
    done = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_part_is_answered_with_those_that_there_are() -> None:
    done = subprocess.run(
        [ROOT / ".ci/run", "everything"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert all(f".ci/run {part}" in done.stderr for part in PARTS)


def test_the_hooks_before_a_commit_are_programs_of_the_test_extra() -> None:
    (local,) = read(".pre-commit-config.yaml")["repos"]
    commands = [hook["entry"].split()[0] for hook in local["hooks"]]
    assert {hook["language"] for hook in local["hooks"]} == {"system"}
    assert commands == ["ruff", "ruff", "mypy"]
    assert all(shutil.which(command) for command in commands)


def test_dependabot_reads_what_is_here_and_leaves_what_decides_rows() -> None:
    updates = {
        update["package-ecosystem"]: update for update in read(".github/dependabot.yml")["updates"]
    }
    assert {*updates} == {"github-actions", "pip"}
    ignored = {entry["dependency-name"] for entry in updates["pip"]["ignore"]}
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert ignored == {*re.findall(r'"([\w-]+)==[\d.]+"', project)}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_has_what_github_asks_of_it(path: Any) -> None:
    form = read(path)
    if path.stem == "config":
        assert form == {"blank_issues_enabled": True}
        return
    assert {"name", "description", "body"} <= {*form}
    identities = [field["id"] for field in form["body"]]
    assert len({*identities}) == len(identities)
    assert all(field["attributes"]["label"] for field in form["body"])
