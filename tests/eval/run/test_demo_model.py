"""The demonstration model: what it needs, and that it is converted once. Answers: tests/vllm."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run import demo_model

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("missing", ["accelerate", "gguf"])
def test_without_a_package_the_command_names_the_extra_and_writes_nothing(
    missing: str, tmp_path: Path
) -> None:
    """In a process that does not find the package, installed or not."""
    code = (
        "import importlib.util, sys\n"
        "found = importlib.util.find_spec\n"
        f"hide = lambda name, package=None: None if name == {missing!r} else found(name, package)\n"
        "importlib.util.find_spec = hide\n"
        "import ruler_release.app\n"
        "sys.argv = ['ruler', 'quickstart', '--real']\n"
        "ruler_release.app.main()\n"
    )
    environment = {**os.environ, "RULER_CACHE": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT, ROOT / "builder", ROOT / "eval")))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("Error: A real model needs ")
    assert missing in done.stderr
    assert done.stderr.endswith("pip install 'ruler-release[demo]'\n")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_was_converted_is_not_converted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_model, "NEEDED", ())
    folder = tmp_path / "models/some-model"
    folder.mkdir(parents=True)
    assert demo_model.convert(tmp_path / "no file", folder) == folder


@pytest.mark.hf
def test_a_file_that_is_no_model_leaves_nothing_behind(tmp_path: Path) -> None:
    pytest.importorskip("gguf", reason="the demo extra is not installed")
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(b"no model")
    with pytest.raises(RulerError, match="Cannot convert the model"):
        demo_model.convert(wrong, tmp_path / "models/some-model")
    assert [path.name for path in (tmp_path / "models").iterdir()] == [".some-model.lock"]
