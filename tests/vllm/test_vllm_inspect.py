"""Inspect's tasks on the real vLLM server: its providers send the prompts of `ruler run`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruler_eval.score.inspect_log import predictions

pytest.importorskip("vllm.version", reason="vLLM has its own environment: setup.sh")
inspect_ai = pytest.importorskip("inspect_ai", reason="the inspect extra is not installed")
pytestmark = pytest.mark.vllm


@pytest.mark.parametrize(
    ("provider", "mode"),
    [("vllm", "prefill"), ("vllm", "chat"), ("vllm-completions", "completion")],
)
def test_each_mode_gives_the_answers_of_transformers(
    provider, mode, server, small, transformers_answers, tmp_path
):
    from ruler_release.inspect_tasks import ruler

    (log,) = inspect_ai.eval(
        ruler(str(small), "some_4k", mode=mode),
        model=f"{provider}/tiny",
        model_base_url=server,
        log_dir=str(tmp_path),
        display="none",
    )
    assert log.status == "success"
    result = {(row.config, row.index): row.text.strip() for row in predictions(Path(log.location))}
    wanted = {key: text.strip() for key, text in transformers_answers[mode].items()}
    assert result == wanted
