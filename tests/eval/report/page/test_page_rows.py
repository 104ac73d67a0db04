"""The rows behind the page: which texts are read, and the runtime that draws the charts."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from ruler_eval.analysis.errors import error_of
from ruler_eval.example.write_example import write_example
from ruler_eval.frozen_release import Release
from ruler_eval.report.page import rows as page_rows
from ruler_eval.report.page.build import page_data
from ruler_eval.report.page.render import VEGA
from ruler_eval.report.page.rows import fair_shares, show_command
from ruler_eval.report.page.runs import ReportedRun, open_runs
from tests.in_process import ruler


def test_of_a_large_release_some_texts_are_read_and_the_page_says_how_many(two_runs, monkeypatch):
    monkeypatch.setattr(page_rows, "READ_CHARACTERS", 1)
    runs = open_runs(two_runs)
    errors = page_data(runs)["errors"]
    assert [(one["wrong"], one["sorted"]) for one in errors["tasks"]] == [
        *[(60, 25)] * 4,
        *[(40, 17)] * 4,
    ]
    (note,) = errors["notes"]
    assert note.startswith("168 of 400 wrong rows were sorted, an even share of every")
    errors = page_data(runs, every_error=True)["errors"]
    assert all(
        one["wrong"] == one["sorted"] == sum(one["kinds"].values()) for one in errors["tasks"]
    )
    assert errors["notes"] == []


def test_shown_rows_beyond_the_texts_that_were_read_have_their_references(two_runs, monkeypatch):
    monkeypatch.setattr(page_rows, "READ_CHARACTERS", 1)
    page = page_data(open_runs(two_runs))
    shown = [page["rows"][series]["niah_single_8k_pl_cl100k"]["rows"] for series in ("0", "1")]
    wrong = [{row["index"] for row in rows if row["score"] == 0} for rows in shown]
    for rows, own, others in zip(shown, wrong, reversed(wrong), strict=True):
        assert len(rows) == 20
        assert all(row["references"] and row["evidence"] for row in rows)
        beside = {row["index"] for row in rows} - own  # right here, wrong in the other
        assert len(own) >= 10
        assert beside <= others


def test_a_budget_is_shared_evenly_and_small_needs_leave_the_rest():
    assert fair_shares([10, 100, 1000], 300) == [10, 100, 190]
    assert fair_shares([50, 50], 60) == [30, 30]
    assert fair_shares([], 5) == []


def test_the_runtime_of_the_charts_is_the_one_whose_parts_are_listed():
    listed = VEGA.with_name("VEGA_LICENSES.md").read_text(encoding="utf-8")
    assert hashlib.sha256(gzip.decompress(VEGA.read_bytes())).hexdigest() in listed


@pytest.mark.parametrize("by", ["release", "references"])
def test_an_answer_that_two_runs_give_to_a_row_is_sorted_once(two_runs, tmp_path, monkeypatch, by):
    """And the kinds are those of each run's own page, also where their answers differ."""
    how = {}
    paths = list(two_runs)
    if by == "references":
        example = tmp_path / "example"
        write_example(example)
        paths = [example / "run", example / "first-line"]
        how = {"references": example / "references"}
        for path in paths:
            assert ruler("score", path, "--references", how["references"])[2] == 0
    calls = []

    def counted(joined):
        calls.append((joined.row["outputs"], joined.prediction.text))
        return error_of(joined)

    def kinds(runs):
        page = page_data(open_runs(runs, [f"run {n}" for n in range(len(runs))], **how))
        return [one["kinds"] for one in page["errors"]["tasks"]], len(calls)

    monkeypatch.setattr(page_rows, "error_of", counted)
    alone = [kinds([path]) for path in paths]
    apart = len(calls)
    calls.clear()
    together, taken = kinds(paths)
    assert together == [kind for found, _ in alone for kind in found]
    assert 0 < taken < apart


def test_a_command_names_folders_from_here_or_from_home(built, monkeypatch, tmp_path):
    def command(*places):
        release = Release.open(str(built))
        run = ReportedRun(label="me", results={}, release=release, places=places)
        return show_command(run)

    monkeypatch.chdir(built.parent)
    monkeypatch.setenv("HOME", str(tmp_path))
    home = command(tmp_path / "my runs/qwen")
    assert home == {"release": f"--dataset {built.name}", "run": "--run ~/'my runs/qwen'"}
    assert command(Path("a"), Path("b"))["run"] == ""
    assert command(Path("/else/run"))["run"] == "--run /else/run"
    assert show_command(ReportedRun(label="no release", results={})) is None
