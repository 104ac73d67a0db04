"""The wheel holds all that the commands need, and works without the checkout."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.project import PACKAGES, ROOT

TOPS = {path.partition("/")[0] for path in PACKAGES.values()}
FOLDERS = ("dataset_cards", *sorted(top for top in TOPS if (ROOT / top).is_dir()))
FILES = ("ruler_dataset.py", "pyproject.toml", "README.md")
FILES += ("CHANGELOG.md", "CITATION.cff", "LICENSE")
SHARE = "share/ruler-release"


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command that must succeed, and return its output."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the checkout, which may have an old `build/` folder."""
    source = tmp_path_factory.mktemp("source")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copyfile(ROOT / name, source / name)
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out, cwd=source)
    (path,) = out.iterdir()
    return path


def test_the_wheel_holds_every_file_of_the_checkout(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        re.sub("^(builder|eval)/", "", path.relative_to(ROOT).as_posix())
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    } | {"ruler_dataset.py", "CHANGELOG.md", "CITATION.cff"}
    expected -= {
        "README.md",
        "RELEASE.md",
        "freeze.py",
        "pin_texts.py",
        "release.jsonl",
        "release.py",
    }  # guides, and scripts for maintainers
    packages = {name for name in names if not name.startswith("ruler_release-")}
    shared = {name.split(f"{SHARE}/")[1] for name in names if f"{SHARE}/" in name}
    assert packages | shared == expected
    assert {
        f"{name}/py.typed" for name in ("ruler_common", "ruler_builder", "ruler_eval")
    } <= packages
