"""Missing packages of a backend are named before the model is read."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.runner import run
from tests.eval.run.run_options import model_options


def test_missing_vllm_is_named_before_the_model_is_read(small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    monkeypatch.setenv("PATH", "")
    options = model_options("./nowhere", "vllm", dataset=small, out=tmp_path / "RUN")
    with pytest.raises(
        RulerError,
        match=r"The vllm backend needs packages that are not installed \(extra `vllm`\): .*'vllm>=",
    ):
        run(options)


def test_only_the_doctor_of_a_server_needs_the_packages_of_the_extra_openai(tmp_path):
    """Without the extra `openai` there is no httpx."""

    def ruler(*arguments: str) -> str:
        program = f"import sys; sys.modules['httpx'] = None; sys.argv = ['ruler', *{arguments}]"
        program += "; from ruler_release.app import main; main()"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.returncode == 2, done.stderr
        return done.stderr

    assert "'none'" in ruler("batch", "read", "none", "none.jsonl")
    error = ruler("doctor", "--base-url", "http://localhost:9/v1", "-m", "m", "--dry-run")
    assert "needs packages that are not installed (extra `openai`): pip install" in error
    assert f"'{tmp_path}/none'" in ruler("doctor", f"{tmp_path}/none")
