"""What the figures say: in short, in words, and nothing that is not so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ruler_common.names import parse_length
from ruler_eval.figures.differences import pair_runs
from ruler_eval.figures.effective import effective_length
from ruler_eval.figures.series import open_runs, runs_of
from ruler_eval.figures.summary import breaking_length, summary
from ruler_eval.figures.task_scores import tasks
from ruler_eval.report.page.answers import open_answered_runs
from ruler_eval.report.page.rows import error_note
from ruler_eval.score.troubles import count_troubles
from tests.eval.analysis.test_compare import results
from tests.eval.figures_text import runs_of_results
from tests.eval.scoring_helpers import right, whole_results, write_oneruler
from tests.in_process import ruler, ruler_output

LENGTHS = ("4k", "8k", "16k", "32k", "64k", "128k")


def falling(model="m", **wrong):
    """Results of 100 rows for each task and length; of a task, wrong rows by length."""
    scores = {}
    for task, counts in wrong.items():
        for length, count in zip(LENGTHS, counts, strict=True):
            scores[f"{task}_{length}"] = [0.0] * count + [1.0] * (100 - count)
    result = results(model, **scores)
    for cell in result["configurations"].values():
        cell |= {"max_length": parse_length(cell["length"]), "strict": 0.0}
    return whole_results(result)


def in_short(*all_results):
    runs = runs_of_results(*all_results)
    return [*summary(runs, pair_runs(runs)).sentences]


def test_the_length_at_which_a_model_breaks_is_named_with_points_and_tasks():
    steep = falling(vt=(0, 0, 0, 80, 85, 90), cwe=(0, 1, 2, 3, 3, 4), fwe=(0, 0, 0, 0, 0, 0))
    (sentence,) = [text for text in in_short(steep) if " falls " in text]
    assert re.match(
        r"m falls 27\.7 points \[\d+\.\d, \d+\.\d\] between 4K and 32K, "
        r"mostly in vt \(80\.0 points\); by 128K it is 31\.3 points \[",
        sentence,
    )


def test_a_model_that_does_not_fall_is_not_said_to_break():
    flat = falling(vt=(10, 10, 11, 10, 9, 10), cwe=(5, 5, 5, 5, 5, 5))
    text = " ".join(in_short(flat))
    assert "m does not fall clearly between 4K and 128K: +0.0 points [" in text
    assert " falls " not in text
    rising = falling(vt=(60, 30, 10, 10, 9, 0), cwe=(5, 5, 5, 5, 5, 5))
    assert "does not fall clearly" in " ".join(in_short(rising))


def test_nothing_is_said_of_the_fall_of_a_run_without_valid_intervals():
    stopped = falling(vt=(10, 20, 30, 40, 50, 60))
    for loss in stopped["summary"]["tekken"]["en"]["all"]["losses"]:
        loss["interval"] = None  # as of a run that was stopped by its own scores
    assert not [text for text in in_short(stopped) if "fall" in text]


def test_a_loss_at_one_of_many_lengths_is_clear_only_after_an_adjustment_for_their_number():
    """Of equally good lengths, the interval of one in 40 is below zero by chance."""
    flat = {"difference": 0.1, "interval": [-1.9, 2.1]}
    by_chance = {"difference": -2.1, "interval": [-4.1, -0.1]}
    assert breaking_length([by_chance]) is by_chance
    assert breaking_length([flat, by_chance, flat, flat, flat]) is None
    clear = {"difference": -2.8, "interval": [-4.8, -0.8]}
    assert breaking_length([flat, clear, flat, flat, flat]) is clear


def test_a_gradual_fall_breaks_where_half_of_it_is_lost():
    gradual = falling(vt=(0, 10, 20, 30, 40, 50))
    (sentence,) = [text for text in in_short(gradual) if " falls " in text]
    assert "between 4K and 32K" in sentence


def test_each_of_several_models_breaks_at_its_length():
    early = falling("early", vt=(0, 60, 70, 70, 70, 70))
    late = falling("late", vt=(0, 0, 0, 0, 0, 70))
    sentences = [text for text in in_short(early, late) if " falls " in text]
    assert ["between 4K and 8K" in text for text in sentences] == [False, True]
    assert "late falls 70.0 points" in sentences[0]
    assert "between 4K and 128K" in sentences[0]


@pytest.mark.parametrize(
    ("name", "ends", "words", "brief"),
    [
        ("4K", [None, 4096], "below 4K to 4K", "4K (<4K–4K)"),
        (">16K", [16384, 16384], "", ">16K"),
        (">16K", [8192, 16384], "8K to more than 16K", ">16K (8K–>16K)"),
        ("<4K", [None, None], "", "<4K"),
        ("8K", None, "", "8K"),
        ("-", [None, 4096], "", "-"),
    ],
)
def test_an_effective_length_is_written_by_one_rule(name, ends, words, brief):
    names = {"2k": 2048, "4k": 4096, "8k": 8192, "16k": 16384}
    lengths = {length: {"tokens": tokens, "lacking": []} for length, tokens in names.items()}
    lengths["2k"]["lacking"] = ["qa_2"]  # a length without all tasks does not count
    group = {
        "effective_length_name": name,
        "effective_length_interval": ends,
        "lengths": lengths,
    }
    found = effective_length(group)
    assert found == (name, words)
    assert found.brief == brief


def truncated(config, row):
    """A base model's answer, which goes on to the token limit."""
    return {"prediction": f"{right(config, row)} and more", "finish_reason": "length"}


def test_a_row_that_its_text_was_scored_by_is_neither_doubtful_nor_counted_twice(write_run):
    run = write_run(truncated, "base")
    stdout = ruler_output("score", run)
    rows = 13 * 2 * 5
    assert f"{rows} rows: {rows} truncated but scored (by configuration: --all)." in stdout
    assert "Not answered to the end" not in stdout
    runs = open_runs([run])
    assert count_troubles(runs.runs[0].results["configurations"].values()) == {
        "truncated_scored": rows
    }
    assert not any(record["is_flawed"] for record in tasks(runs)[0].records)
    ruler_output("score", run, "--truncated", "wrong")
    runs = open_runs([run])
    assert count_troubles(runs.runs[0].results["configurations"].values()) == {"truncated": rows}
    assert all(record["is_flawed"] for record in tasks(runs)[0].records)
    assert f"Not answered to the end: base {rows} truncated (of {rows} rows)." in "".join(
        summary(runs, []).sentences
    )


def test_a_table_for_a_paper_comes_with_the_number_of_failed_rows(write_run):
    run = write_run(
        lambda config, row: (
            {"prediction": "", "finish_reason": "error", "error": "HTTP 500"}
            if row["index"]
            else right(config, row)
        ),
        "base",
    )
    rows = 13 * 2 * 5
    text = f"{rows * 4 // 5} failed (of {rows} rows)."
    latex = ruler_output("score", run, "--format", "latex")
    assert f"\n% Not answered to the end: base {text}\n" in latex
    assert f"Not answered to the end: {text}" in ruler_output("score", run, "--cite")
    for options in (["--format", "csv"], ["--figure", "tasks", "--format", "latex"]):
        stderr = ruler("score", run, *options).stderr
        assert f"Not answered to the end: base {text}" in stderr
    summary = ruler("score", run, "--figure", "summary")
    assert (summary.stdout + summary.stderr).count("Not answered to the end") == 1


def dashes(text: str) -> list[str]:
    """The lines of tables that have only dashes behind their name."""
    lines = []
    for line in text.splitlines():
        cells = re.split(r"  +", line.strip())
        if len(cells) > 1 and set(cells[1:]) == {"-"}:
            lines.append(line)
    return lines


def test_no_row_and_no_column_has_only_dashes(write_run, tmp_path):
    one_task = write_run(right, configs=["vt_4k", "vt_8k"])
    for flags in ((), ("--all",)):
        stdout = ruler_output("score", one_task, *flags)
        assert dashes(stdout) == [line for line in dashes(stdout) if line.startswith("all, mean")]
    assert dashes(ruler_output("score", one_task)) == []
    root = write_oneruler(tmp_path / "oneruler", ("pl",), ("8k",))
    run = tmp_path / "polish"
    ruler_output("run", "-d", root, "-c", "all", "-b", "oracle", "-o", run)
    ruler_output("score", run)
    stdout = ruler_output("analyze", run)
    assert dashes(stdout) == []
    for block in stdout.split("\n\n"):
        rows = [re.split(r"  +", line.strip()) for line in block.splitlines()[2:]]
        if rows and "--" in block.splitlines()[1]:
            assert all(set(column) != {"-"} for column in zip(*rows, strict=False)), block


def test_no_language_is_called_the_best_of_equal_ones(tmp_path):
    root = write_oneruler(tmp_path / "oneruler", ("pl", "ko"), ("8k",))
    run = tmp_path / "equal"
    ruler_output("run", "-d", root, "-c", "all", "-b", "oracle", "-o", run)
    ruler_output("score", run)
    stdout = ruler_output("analyze", run)
    assert "Languages by " in stdout
    assert "best languages" not in stdout


def test_a_page_whose_release_has_moved_away_says_that_errors_are_missing(write_run, tmp_path):
    run = write_run(right, "good")
    ruler_output("score", run)
    file = run / "results.json"
    content = json.loads(file.read_text())
    content["dataset"]["source"] = "/gone"
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / "results.json").write_text(json.dumps(content))
    (moved / "rows.parquet").write_bytes((run / "rows.parquet").read_bytes())
    answered = open_answered_runs([moved])
    note = error_note(answered, [])
    assert note.startswith("The rows of good and their errors are missing: ")
    assert "/gone" in note
    out = tmp_path / "page.html"
    ruler_output("report", moved, "--out", out)
    section = out.read_text().split('<section id="errors"')[1].split("</section>")[0]
    assert "The rows of good and their errors are missing" in section
    assert runs_of(answered).series


def test_published_models_are_the_ten_nearest_each_once(write_run):
    run = write_run(lambda config, row: right(config, row) if row["index"] % 2 else "")
    stdout = ruler_output("score", run, "--published")
    start = stdout.index("published models (all")
    names = re.findall(r"^(?!model )(.+?)  +\d", stdout[start:], re.MULTILINE)
    assert len({*names}) == 11
    assert max(names.count(name) for name in names) <= 2  # once in each part of a wide table
    assert "The 10 of 44 models nearest to the run." in stdout


def test_base_models_are_beside_runs_scored_as_base_models_only(write_run):
    runs = [write_run(right, "a"), write_run(right, "b")]
    ruler_output("score", runs[0], "--threshold", "base")
    ruler_output("score", runs[1])
    pages = []
    for run in runs:
        out = run / "page.html"
        ruler_output("report", run, "--out", out)
        pages.append(out.read_text())
    assert 'data-model-name="Mixtral-base (8x7B)"' in pages[0]
    assert 'data-model-name="GPT-4-1106-preview"' not in pages[0]
    assert 'data-model-name="Mixtral-base (8x7B)"' not in pages[1]


def test_every_table_that_the_experiments_name_exists(write_run):
    run = write_run(right)
    shown = ruler_output("score", run, "--all")
    text = (Path(__file__).parents[3] / "docs/experiments.md").read_text(encoding="utf-8")
    named = re.findall(r"`ruler score [^`]*`: its table \"([^\"]+)\"", text)
    assert named
    for title in named:
        assert title in shown
