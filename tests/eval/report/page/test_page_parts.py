"""What the page shows once, what it says about a run, and what can be saved from it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.doctor.folder import STATE_FILE
from ruler_eval.report.options import ReportOptions
from ruler_release.api import write_page
from tests.eval.scoring_helpers import right
from tests.in_process import ruler_output


def test_with_one_length_a_score_is_shown_once(write_run, tmp_path):
    html = page(write_run(right, "good", configs=["vt_4k", "fwe_4k"]), tmp_path)
    (head,) = re.findall(r'<table class="scores">.*?<thead>(.*?)</thead>', html, re.DOTALL)[:1]
    assert re.findall(r'class="sort"[^>]*>([^<]+)<', head) == ["model", "4K", "effective"]
    assert '<a href="#curves">By category</a>' in html


def test_the_page_says_when_and_how_a_run_was_made(write_run, tmp_path):
    html = page(write_run(right, "good"), tmp_path)
    for name in ("Date", "Sampling", "Engine settings", "Speed", "Price"):
        assert f'<th scope="row">{name}</th>' in html


def test_the_latency_of_a_server_is_shown_with_its_concurrency(write_run, tmp_path):
    def answer(config: str, row: Mapping[str, Any]) -> dict[str, object]:
        return {"prediction": right(config, row), "seconds": 3 if row["index"] == 4 else 1.25}

    run = write_run(answer, "served", configs=["vt_4k"])
    file = run / "run.json"
    settings = json.loads(file.read_text(encoding="utf-8"))
    settings["sessions"][0]["concurrency"] = 32
    file.write_text(json.dumps(settings), encoding="utf-8")
    html = page(run, tmp_path)
    output = "median 1.25 s, 95th percentile 2.65 s (at concurrency 32)"
    assert f'<th scope="row">Latency</th><td>{output}</td>' in html


def test_every_table_below_a_figure_can_be_saved(write_run, tmp_path):
    html = page(write_run(right, "good"), tmp_path)
    tables = html.count('<table class="plain"><caption>')
    assert tables > 3
    others = html.count('<table class="scores">') + html.count('<table class="facts">')
    assert html.count('<button type="button" class="csv">') == tables + others


def page(run: Path, folder: Path, **options: Any) -> str:
    """Score a run and return its page."""
    ruler_output("score", run)
    out = write_page(ReportOptions(run, out=folder / "page.html", **options))
    return out.read_text(encoding="utf-8")


def test_the_verdict_of_the_doctor_is_a_section(write_run, tmp_path):
    condition = {
        "name": "cache",
        "title": "Cold against cached",
        "state": "engine",
        "sentence": "Answers get worse on cache hits: 14 of 200 rows <only> cold.",
    }
    suspect = {**condition, "state": "suspect", "title": "Under load"}
    verdict = {
        "model": "good", "outcome": "engine", "headline": "Look at the cache.",
        "conditions": [condition, suspect],
    }  # fmt: skip
    state = {"format": 2, "started": "2026-11-27", "salt": "s", "settings": {}, "verdict": verdict}
    (tmp_path / STATE_FILE).write_text(json.dumps(state), encoding="utf-8")
    run = write_run(right, "good")
    html = page(run, tmp_path, doctor=tmp_path)
    assert "<li>Engine. Look at the cache.</li>" in html
    assert "<td>changes answers</td><td>Answers get worse on cache hits: 14 of" in html
    assert "<td>cannot tell</td>" in html
    assert "&lt;only&gt;" in html
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(RulerError, match="has no verdict"):
        page(run, tmp_path, doctor=empty)
    state["verdict"] = {**verdict, "model": "another"}
    (empty / STATE_FILE).write_text(json.dumps(state), encoding="utf-8")
    with pytest.raises(RulerError, match="examined the model 'another', and the report is about"):
        page(run, tmp_path, doctor=empty)
