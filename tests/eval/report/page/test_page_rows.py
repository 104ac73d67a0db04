"""The rows behind the page: which texts are read, and the runtime that draws the charts."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

from ruler_eval.figures.series import runs_of
from ruler_eval.frozen_release import Release
from ruler_eval.report.page import rows as page_rows
from ruler_eval.report.page.answers import AnsweredRun, open_answered_runs
from ruler_eval.report.page.build import VEGA
from ruler_eval.report.page.rows import count_errors, error_note, read_page_rows, show_command
from tests.eval.scoring_helpers import right
from tests.in_process import ruler_output


def errors_of(page, **options):
    """The kinds of errors of a page, and its note about them."""
    errors = count_errors(runs_of(page), read_page_rows(page, **options).by_run)
    return errors, error_note(page, errors)


def test_of_a_large_release_the_first_rows_are_sorted_and_the_page_says_how_many(
    two_runs, monkeypatch
):
    monkeypatch.setattr(page_rows, "SORTED_CHARACTERS", 1)
    page = open_answered_runs(two_runs)
    errors, note = errors_of(page)
    assert [(task.wrong, task.kinds.total()) for task in errors] == [
        *[(60, 25)] * 4,
        *[(40, 17)] * 4,
    ]
    assert "168 of 400 wrong rows were sorted, those among the first rows of every" in note
    errors, note = errors_of(page, every_error=True)
    assert all(task.wrong == task.kinds.total() for task in errors)
    assert "were sorted" not in note


def test_every_shown_row_has_its_kind_and_the_text_around_its_evidence(two_runs, monkeypatch):
    monkeypatch.setattr(page_rows, "SORTED_CHARACTERS", 1)
    monkeypatch.setattr(page_rows, "MIN_SORTED_ROWS", 1)
    rows = read_page_rows(open_answered_runs(two_runs))
    dialog_rows = rows.dialog["niah_single_8k_pl_cl100k"]
    assert len(dialog_rows) == 20
    assert len(rows.by_run[0]["niah_single_8k_pl_cl100k"].kinds) == 1  # counted in the bars
    for row in dialog_rows:
        assert row["references"]
        assert all(span["text"] for span in row["evidence"])
        assert row["answers"].keys() == {"Worse-2", "Worse-3"}
        for answer in row["answers"].values():
            assert (answer["kind"] is None) == (answer["score"] == 1)
    scores = [tuple(answer["score"] for answer in row["answers"].values()) for row in dialog_rows]
    assert sum(first != second for first, second in scores) >= 15  # only one of the two is right
    assert sum(first == second == 0 for first, second in scores) >= 1


def test_the_runtime_of_the_charts_is_the_one_whose_parts_are_listed():
    listed = VEGA.with_name("VEGA_LICENSES.md").read_text(encoding="utf-8")
    assert hashlib.sha256(gzip.decompress(VEGA.read_bytes())).hexdigest() in listed


def test_of_several_samples_of_a_row_the_first_is_shown_and_sorted(write_run):
    """Rows 0 and 1 are right in one sample of two, row 2 in none, rows 3 and 4 in both."""
    run = write_run(right, configs=["vt_4k"])
    right_samples = {0: {0}, 1: {1}, 2: set(), 3: {0, 1}, 4: {0, 1}}
    lines = []
    for line in map(json.loads, (run / "vt_4k.jsonl").read_text().splitlines()):
        for sample in (0, 1):
            is_right = sample in right_samples[line["index"]]
            text = line["prediction"] if is_right else "It is 7654321."
            lines.append(json.dumps({**line, "sample": sample, "prediction": text}) + "\n")
    (run / "vt_4k.jsonl").write_text("".join(lines))
    settings = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**settings, "repeats": 2}))
    ruler_output("score", run)
    page = open_answered_runs([run])
    rows = read_page_rows(page)
    (task,), note = errors_of(page)
    assert (task.rows, task.wrong, task.kinds.total()) == (5, 2, 2)
    assert "were sorted" not in note
    assert "only the first counts" in note
    answers = {row["index"]: row["answers"]["run"] for row in rows.dialog["vt_4k"]}
    assert [(answers[i]["score"], answers[i]["kind"] is None) for i in range(5)] == [
        *[(0.5, True), (0.5, False), (0, False), (1, True), (1, True)]
    ]
    assert answers[0]["state"] == "the first of 2 samples: ended"


def test_a_command_names_folders_from_here_or_from_home(built, monkeypatch, tmp_path):
    def command(*places):
        release = Release.open(str(built))
        run = AnsweredRun(label="me", results={}, release=release, places=places)
        return show_command(run)

    monkeypatch.chdir(built.parent)
    monkeypatch.setenv("HOME", str(tmp_path))
    home = command(tmp_path / "my runs/qwen")
    assert home == {"release": f"--dataset {built.name}", "run": "--run ~/'my runs/qwen'"}
    assert command(Path("a"), Path("b"))["run"] == ""
    assert command(Path("/else/run"))["run"] == "--run /else/run"
    assert show_command(AnsweredRun(label="no release", results={})) is None
