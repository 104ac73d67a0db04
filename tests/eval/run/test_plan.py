"""The plan and the estimate of a run, before the first row."""

from __future__ import annotations

import io
import sys
import time
from dataclasses import replace

import pytest

import ruler_dataset
from ruler_common.errors import RulerError
from ruler_common.manifest import read_manifest
from ruler_eval.frozen_release import Release
from ruler_eval.run.options import parse_price
from ruler_eval.run.plan import PROMPT_COLUMNS, Estimate, read_rows
from ruler_eval.run.progress import Progress
from ruler_eval.run.records import Record
from ruler_eval.run.runner import estimate_run, run
from tests.in_process import ruler


def test_rows_and_tokens_are_those_that_are_missing(options, small):
    whole = estimate_run(replace(options, backend="vllm", model="m", thinking="100"))
    rows = [
        row
        for entry in read_manifest(small)["files"].values()
        for row in ruler_dataset.load(small, entry["config"])
    ]
    assert (whole.rows, whole.configs) == (20, 4)
    assert whole.prompt_tokens == sum(row["length"] - row["max_new_tokens"] for row in rows)
    assert whole.output_tokens == sum(row["max_new_tokens"] + 100 for row in rows)
    assert not options.out.exists()
    run(replace(options, configs=("some_4k",), limit=3))
    rest = estimate_run(options)
    assert (rest.rows, rest.configs) == (14, 4)
    run(options)
    assert estimate_run(options) == Estimate()


def test_the_estimate_in_words():
    result = Estimate(rows=6500, configs=13, prompt_tokens=1_000_000, output_tokens=500_000)
    assert result.lines((2.0, 8.0)) == [
        "To do: 6,500 rows of 13 configurations, 1,000,000 prompt tokens as the release counts "
        "them, up to 500,000 tokens of answers.",
        "Cost: 2.00 for the prompts and up to 4.00 for the answers, 6.00 at most; cached "
        "tokens may cost less.",
    ]


def test_a_dry_run_shows_the_estimate_and_needs_no_server(small, tmp_path):
    flags = ["--dataset", str(small), "--configs", "all_4k", "--out", str(tmp_path / "RUN")]
    flags += ["--backend", "openai", "--model", "m", "--base-url", "http://127.0.0.1:1/v1"]
    result = ruler("run", *flags, "--dry-run", "--price", "1,2")
    assert result.code == 0, result.stderr
    output = " ".join(result.stdout.split())
    assert output.startswith("To do: 20 rows of 4 configurations, ")
    assert " Cost: " in output
    assert not (tmp_path / "RUN").exists()


def test_the_bar_moves_by_tokens(monkeypatch):
    record: Record = {
        "config": "vt_4k",
        "index": 0,
        "prediction": "",
        "thinking": None,
        "finish_reason": "stop",
        "usage": None,
        "error": None,
        "thinking_ended": None,
    }
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", stream)
    progress = Progress(Estimate(rows=2, configs=1, prompt_tokens=1000))
    time.sleep(0.15)  # a bar is drawn ten times a second
    progress.add(record, 900)
    assert "\r#########" in stream.getvalue()
    assert stream.getvalue().endswith(" 00:00 rows 1/2, 0 tokens/s")


def test_a_price_is_two_numbers():
    assert parse_price("0.15,0.60") == (0.15, 0.60)
    for wrong in ("1", "1,2,3", "-1,2", "nan,1", "a,b"):
        with pytest.raises(RulerError, match=r"such as 0\.15,0\.60"):
            parse_price(wrong)


def test_rows_are_read_as_the_release_has_them(small):
    sent = list(read_rows(Release.open(str(small)), {"vt_4k": [3, 0], "cwe_4k": [4]}))
    assert sorted((config, row["index"]) for config, row in sent) == [
        ("cwe_4k", 4),
        ("vt_4k", 0),
        ("vt_4k", 3),
    ]
    for config, row in sent:
        whole = ruler_dataset.load(small, config)[row["index"]]
        assert row == {name: whole[name] for name in PROMPT_COLUMNS}


def test_a_row_that_is_missing_from_its_file_is_named(small):
    with pytest.raises(RulerError, match="'vt_4k' has no row 5"):
        list(read_rows(Release.open(str(small)), {"vt_4k": [0, 5]}))
