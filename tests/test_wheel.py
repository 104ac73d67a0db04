"""The wheel holds all that the commands need, and works far from the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.hub.client import environment
from tests.hub.stand_in import StandIn
from tests.project import PACKAGES, ROOT

TOPS = {path.partition("/")[0] for path in PACKAGES.values()}
FOLDERS = ("dataset_cards", *sorted(top for top in TOPS if (ROOT / top).is_dir()))
FILES = ("ruler_dataset.py", "pyproject.toml", "README.md")
FILES += ("CHANGELOG.md", "CITATION.cff", "LICENSE")
SHARE = "share/ruler-release"


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the checkout: an old `build/` would add files that are gone."""
    source = tmp_path_factory.mktemp("source")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copyfile(ROOT / name, source / name)
    out = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", out, ".", cwd=source)
    (made,) = out.iterdir()
    return made


def test_the_wheel_holds_every_file_of_the_checkout(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    there = {
        re.sub("^(builder|eval)/", "", path.relative_to(ROOT).as_posix())
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    } | {"ruler_dataset.py", "CHANGELOG.md", "CITATION.cff"}
    there -= {"README.md", "freeze.py"}  # the guides of builder/ and eval/, a maintainer's script
    packages = {name for name in held if not name.startswith("ruler_release-")}
    shared = {name.split(f"{SHARE}/")[1] for name in held if f"{SHARE}/" in name}
    assert packages | shared == there
    assert {
        f"{name}/py.typed" for name in ("ruler_common", "ruler_builder", "ruler_eval")
    } <= packages


@pytest.mark.nightly
def test_an_installed_wheel_builds_verifies_scores_and_plans_a_push_beside_a_users_own_packages(
    wheel: Path, tmp_path: Path
) -> None:
    venv, far = tmp_path / "venv", tmp_path / "far"
    for name in ("eval", "builder"):  # a user's own packages, beside which everything runs
        (far / name).mkdir(parents=True)
        (far / name / "__init__.py").touch()
    (far / "eval/score_mine.py").write_text("score = 100.0\n")
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=tmp_path)
    python = venv / "bin/python"
    (site,) = venv.glob("lib/python*/site-packages")
    # The dependencies are those of this environment; its own .pth files, and with them an editable
    # installation of the project, are not read.
    others = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("".join(f"{path}\n" for path in others))
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=far)
    hub = StandIn()
    env = environment(hub.url, tmp_path / "home", RULER_MIRROR=None, PYTHONPATH=None)
    code = "import builder, eval.score_mine, ruler_eval, ruler_builder as b; print(b.__file__)"
    where = run(python, "-c", code, cwd=far, env=env)
    assert Path(where.strip()).is_relative_to(site)
    ruler = venv / "bin/ruler"
    shown = run(ruler, "quickstart", cwd=far, env={**env, "HF_HUB_OFFLINE": "1"})
    assert 'load_dataset("ruler-quickstart", "niah_mk_4k") gives 15 rows' in shown
    assert (far / "runs/quickstart/results.json").is_file()
    shown = run(ruler, "push", "ruler-quickstart", "--repo", "org/ruler", cwd=far, env=env)
    assert "Verified: 13 files." in shown
    shown = run(ruler, "push", "--metric", "--repo", "org/ruler_score", cwd=far, env=env)
    assert "Tagged" in shown
    assert len(hub.repos) == 2
    hub.close()


@pytest.mark.nightly
def test_the_files_are_found_where_an_installer_moved_them(wheel: Path, tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    target = tmp_path / "target"
    run(*pip, "install", "--no-deps", "--no-index", "--target", target, wheel, cwd=tmp_path)
    code = "from ruler_builder import project_files as p; print(p.project_file('CITATION.cff'))"
    env = {**os.environ, "PYTHONPATH": str(target)}
    found = Path(run(sys.executable, "-c", code, cwd=tmp_path, env=env).strip())
    assert found == target / SHARE / "CITATION.cff"
    shutil.rmtree(target / SHARE)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert "has no CITATION.cff: install it again" in done.stderr
