"""The files of `ruler report`: the page's size and its scripts, the figures, real answers."""

from __future__ import annotations

import copy
import json
import random
import re
from pathlib import Path

import pytest

from ruler_eval.report.page.build import page_data
from ruler_eval.report.page.charts import colour, text_colour
from ruler_eval.report.page.rows import fitted
from ruler_eval.report.page.runs import open_runs
from tests.eval import real_predictions as real
from tests.eval.report.page.page_helpers import figures_without_table
from tests.in_process import ruler

EXAMPLE = Path(__file__).resolve().parents[4] / "eval/ruler_eval/example"
MORE = ("16k", "32k", "64k", "128k")


@pytest.fixture
def large(page_file):
    """The model of three models, six lengths and 13 tasks, with texts that do not compress."""
    page = json.loads(page_file.with_suffix(".json").read_text(encoding="utf-8"))
    noise = random.Random(0)
    full = next(heat for heat in page["heat_maps"] if heat["series"] == 1)
    page["heat_maps"] = [{**copy.deepcopy(full), "series": series} for series in range(3)]
    depth = [one for one in page["depth"] if one["series"] == 1]
    page["depth"] = [{**copy.deepcopy(one), "series": s} for s in range(3) for one in depth]
    for number, name in enumerate(MORE):
        page["lengths"].append({"name": name, "tokens": 16384 << number, "label": name.upper()})
        for heat in page["heat_maps"]:
            for row in heat["cells"]:
                row.append({**row[0], "configurations": [f"{row[0]['configurations'][0]}_{name}"]})
        for one in page["depth"]:
            one["lengths"][name] = next(iter(one["lengths"].values()))
        for row in (row for group in page["groups"] for row in group["rows"]):
            if row["lengths"]:
                row["lengths"][name] = next(iter(row["lengths"].values()))
        for pair in page["pairs"]:
            of_4k = [one for one in pair["differences"] if one["length"] == "4k"]
            pair["differences"] += [{**one, "length": name} for one in of_4k]
    row = page["rows"]["1"]["niah_single_2_4k"]["rows"][0]
    for series, heat in zip("012", page["heat_maps"], strict=True):
        for cell in (cell for cells in heat["cells"] for cell in cells):
            rows = [{**row, "answer": noise.randbytes(500).hex()} for _ in range(20)]
            page["rows"][series][cell["configurations"][0]] = {"n": 500, "wrong": 20, "rows": rows}
    return page


@pytest.mark.nightly
def test_three_models_six_lengths_and_13_tasks_are_under_two_megabytes(large):
    from ruler_eval.report.page.figures import figures
    from ruler_eval.report.page.render import render

    assert sum(len(row) for heat in large["heat_maps"] for row in heat["cells"]) == 3 * 6 * 13
    html = render(large, figures(large))
    assert len(html.encode()) < 2_000_000
    shown = re.search(r"At most (\d+) rows of a configuration.*?(\d+) characters", html)
    assert shown is not None
    assert int(shown[1]) >= 5


def test_rows_that_fit_are_all_there():
    row = {"index": 0, "score": 0, "answer": "x" * 900}
    rows = {"0": {"vt_4k": {"n": 20, "wrong": 20, "rows": [row] * 20}}}
    assert fitted(rows, 100_000).sentence == (
        "At most 20 rows of a configuration are in the page, their answers shortened to 1,200 "
        "characters."
    )


def test_every_figure_has_its_numbers_in_a_table_to_fold_out(page_file):
    html = page_file.read_text(encoding="utf-8")
    assert html.count("<figure") > 30
    assert figures_without_table(html) == []


def test_the_page_names_nothing_to_load_and_allows_its_own_scripts_alone(page_file):
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
    _, error, code = ruler("score", EXAMPLE / "run", *how, "--out", scored)
    assert code == 0, error
    _, error, code = ruler("report", scored, *how, "--out", tmp_path / "report.html")
    assert code == 0, error
    rows = page_data(open_runs([scored], references=references))["rows"]["0"]
    assert len(rows) == 13
    assert all(len(known["rows"]) == 20 for known in rows.values())


@pytest.mark.nightly
def test_two_real_runs_of_kvpress_are_compared(tmp_path):
    files = []
    for ratio, run in real.kvpress_runs().items():
        files.append(tmp_path / f"{ratio}.json")
        _, error, code = ruler("score", run, "--out", files[-1])
        assert code == 0, error
    page = page_data(open_runs(files, ["a", "b"]))
    assert page["pairs"][0]["problem"] is None
    assert sum(task["wrong"] for task in page["errors"]["tasks"]) > 1000
    assert [len(rows) for rows in page["rows"].values()] == [13, 13]


def test_colours_run_from_dark_to_light_with_readable_numbers():
    assert (colour(0), text_colour(0)) == ("#002051", "#ffffff")
    assert (colour(100), text_colour(100)) == ("#fdea45", "#000000")
    assert len({colour(score) for score in range(101)}) == 101
