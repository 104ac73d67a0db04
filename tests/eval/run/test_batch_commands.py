"""`ruler batch write` and `ruler batch read`, as processes."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

from tests.eval.run.test_batch import answer
from tests.in_process import ruler

pytestmark = pytest.mark.skipif(
    find_spec("transformers") is None, reason="the openai extra is not installed"
)


def test_requests_are_written_and_their_answers_read(small, tmp_path):
    run, answers = tmp_path / "RUN", tmp_path / "answers.jsonl"
    release = ("--dataset", small, "--configs", "vt_4k", "--model", "m", "--out", run)
    stdout, _, code = ruler("batch", "write", *release, "--provider", "openai", "--limit", 2)
    assert (code, "2 rows in 1 file:" in stdout) == (0, True)
    lines = (run / "batch/requests-001.jsonl").read_text().splitlines()
    names = [json.loads(line)["custom_id"] for line in lines]
    answers.write_text(json.dumps(answer(names[0])) + "\n")
    stdout, _, code = ruler("batch", "read", run, answers)
    assert (code, "1 row has no answer yet." in " ".join(stdout.split())) == (1, True)
    assert "Next: write the missing rows again with the same `ruler batch write`" in stdout
    answers.write_text(json.dumps(answer(names[1])) + "\n")
    stdout, _, code = ruler("batch", "read", run, answers)
    assert (code, "No failures: 2 rows answered." in stdout) == (0, True)


def test_failed_rows_are_written_again_with_retry_failed(small, tmp_path):
    run, answers = tmp_path / "RUN", tmp_path / "answers.jsonl"
    release = ("--dataset", small, "--configs", "vt_4k", "--model", "m", "--out", run)
    write = ("batch", "write", *release, "--provider", "openai", "--limit", 1)
    ruler(*write)
    name = json.loads((run / "batch/requests-001.jsonl").read_text())["custom_id"]
    answers.write_text(json.dumps({"custom_id": name, "response": None, "error": "no"}) + "\n")
    stdout, _, code = ruler("batch", "read", run, answers)
    output = " ".join(stdout.split())
    assert (code, "the same `ruler batch write` and --retry-failed" in output) == (1, True)
    assert "ruler batch read" not in output  # which has no such flag
    stdout, _, code = ruler(*write, "--retry-failed")
    assert (code, "1 row in 1 file:" in stdout) == (0, True)
