"""Rows that lm-evaluation-harness made itself, at a length of no release: scored, and called own.

Its tasks `niah_single_1`, `ruler_vt` and so on make rows of any length: `--metadata
'{"max_seq_lengths": [500], "tokenizer": …}'`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.in_process import ruler_output

TOKENS = 500


@pytest.mark.nightly
def test_what_the_harness_itself_writes_for_500_tokens_is_scored(trained_tokenizer, tmp_path):
    pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed")
    (tmp_path / "nltk/tokenizers/punkt_tab").mkdir(parents=True)  # else it asks the network
    metadata = json.dumps(
        {"max_seq_lengths": [TOKENS], "tokenizer": str(trained_tokenizer("gpt2"))}
    )
    arguments = ["--model", "dummy", "--tasks", "niah_single_1", "--metadata", metadata]
    arguments += ["--limit", "3", "--log_samples", "--output_path", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-m", "lm_eval", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "NLTK_DATA": str(tmp_path / "nltk")},
    )
    assert done.returncode == 0, done.stderr
    output = ruler_output("score", tmp_path / "out")
    assert "custom rows: scored without a release" in output
    assert "niah_single_1" in output
