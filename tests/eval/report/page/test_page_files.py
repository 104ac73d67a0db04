"""The files of `ruler report`: the page's size and its scripts, the figures, real answers."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.example.write_example import RUNS
from ruler_eval.figures.differences import pair_runs
from ruler_eval.figures.series import runs_of
from ruler_eval.report.page.answers import open_answered_runs
from ruler_eval.report.page.rows import count_errors, fit_rows, read_page_rows
from ruler_eval.run.records import Records
from tests.eval import real_predictions as real
from tests.eval.report.page.page_helpers import figures_without_table
from tests.in_process import ruler_output

EXAMPLE = Path(__file__).resolve().parents[4] / "eval/ruler_eval/example"


def noisy_rows(configs: int, runs: int) -> dict[str, list[dict[str, Any]]]:
    """Return rows with texts that do not compress."""
    noise = random.Random(0)
    rows_by_config = {}
    for number in range(configs):
        rows = []
        for index in range(20):
            answers = {}
            for run in range(runs):
                text = noise.randbytes(500).hex()
                answers[f"run {run}"] = {
                    "text": text,
                    "state": "ended",
                    "score": 0,
                    "kind": "other",
                }
            rows.append(
                {
                    "index": index,
                    "question": noise.randbytes(40).hex(),
                    "references": ["1234567"],
                    "evidence": [],
                    "answers": answers,
                }
            )
        rows_by_config[f"vt_{number}"] = rows
    return rows_by_config


def test_rows_of_three_models_six_lengths_and_13_tasks_fit_the_page():
    text, sentence = fit_rows(noisy_rows(6 * 13, 3), 1_000_000)
    assert len(text) <= 1_000_000
    match = re.search(r"At most (\d+) rows of a configuration.*?(\d+) characters", sentence)
    assert match is not None
    assert int(match[1]) >= 5


def test_a_page_without_space_for_rows_says_so():
    for rows, max_bytes in ((noisy_rows(1, 1), 10), ({}, 100_000)):
        sentence = fit_rows(rows, max_bytes)[1]
        assert sentence == "The rows behind the numbers are not in the page."


def test_every_figure_has_its_numbers_in_a_table_to_fold_out(page_file):
    html = page_file.read_text(encoding="utf-8")
    assert html.count("<figure") > 30
    assert figures_without_table(html) == []


def test_the_page_loads_nothing_and_allows_only_its_own_scripts(page_file):
    html = page_file.read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)=[\"'](?!#)", html)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1]
    assert policy[1].count("sha256-") == 2
    assert "unsafe-eval" not in policy[1]
    assert "script-src &#39;unsafe-inline" not in policy[1]


def test_a_real_models_answers_have_their_page(tmp_path):
    scored, references = tmp_path / "scored.json", EXAMPLE / "references"
    how = ["--references", references]
    ruler_output("score", EXAMPLE / RUNS[0], *how, "--out", scored)
    ruler_output("report", scored, *how, "--out", tmp_path / "report.html")
    rows = read_page_rows(open_answered_runs([scored], references=references)).dialog
    counts = Counter(line["config"] for line in Records(EXAMPLE / RUNS[0]).read())
    assert {config: len(views) for config, views in rows.items()} == counts


@pytest.mark.nightly
def test_two_real_runs_of_kvpress_are_compared(tmp_path):
    files = []
    for ratio, run in real.kvpress_runs().items():
        files.append(tmp_path / f"{ratio}.json")
        ruler_output("score", run, "--out", files[-1])
    answered = open_answered_runs(files, ["a", "b"])
    page = runs_of(answered)
    assert pair_runs(page)[0].comparison is not None
    rows = read_page_rows(answered)
    assert sum(task.wrong for task in count_errors(page, rows.by_run)) > 1000
    assert len(rows.dialog) == 13
