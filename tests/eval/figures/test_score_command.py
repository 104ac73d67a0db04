"""`ruler score`, `compare` and `errors`: which figures they show, in which formats and files."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest

import ruler_release as api
from ruler_eval.score.results import load
from tests.eval.scoring_helpers import right
from tests.in_process import ruler, ruler_error, ruler_output


def half(config, row):
    """Right in every second row."""
    return right(config, row) if row["index"] % 2 else " It is 7654321, I think."


@pytest.fixture
def two(write_run) -> list[Path]:
    """A run that is right and one that is right in every second row, scored."""
    runs = [write_run(right, "good"), write_run(half, "bad")]
    for run in runs:
        ruler_output("score", run)
    return runs


def table_of(stdout: str, first: str) -> list[list[str]]:
    """The cells of the table whose header begins with a word."""
    lines = stdout.splitlines()
    (start,) = [place for place, line in enumerate(lines) if line.startswith(f"{first}  ")]
    rows = []
    for line in lines[start:]:
        if not line:
            break
        if not line.startswith("--"):
            rows.append(line.split())
    return rows


def test_several_runs_are_the_papers_table_of_models_by_lengths(two):
    stdout = ruler_output("score", *two)
    header, good, bad = table_of(stdout, "model")
    assert header[:4] == ["model", "4K", "8K", "Avg."]
    assert header[-2:] == ["effective", "relative"]
    assert (good[0], bad[0]) == ("good", "bad")
    assert good[1:4] == ["100.0"] * 3
    groups = [load(run)["summary"]["tekken"]["en"]["all"] for run in two]
    for row, group in zip((good, bad), groups, strict=True):
        scores = [mean["score"] for mean in group["lengths"].values()]
        scores += [group[name]["score"] for name in ("average", "weighted_inc", "weighted_dec")]
        assert [cell.rstrip("†") for cell in row[1:6]] == [f"{score:.1f}" for score in scores]
        assert row[-2] == group["effective_length_name"]
    results = ruler_output("score", *(run / "results.json" for run in two))
    assert table_of(results, "model") == [header, good, bad]
    single = ruler_output("score", two[0] / "results.json")
    assert single.startswith("good · ruler · ")


def test_a_lower_score_is_marked_after_holms_adjustment_and_a_chance_difference_is_not(two):
    stdout = ruler_output("score", *two)
    _, good, bad = table_of(stdout, "model")
    assert "†" not in "".join(good)
    assert [cell.endswith("†") for cell in bad[1:4]] == [True, True, True]
    assert (
        "† lower than good, on the same rows (5 %, after Holm's adjustment for 3 tests)." in stdout
    )


def test_equal_scores_have_no_marks(two, write_run):
    same = write_run(right, "same")
    ruler_output("score", same)
    assert "†" not in ruler_output("score", two[0], same)


def on_other_rows(run: Path, other: Path) -> Path:
    """The results of a run, copied to another folder as those of other rows."""
    other.mkdir()
    for name in ("results.json", "rows.parquet"):
        shutil.copyfile(run / name, other / name)
    results = json.loads((other / "results.json").read_text())
    results["dataset"]["rows"] = dict.fromkeys(results["dataset"]["rows"], "0" * 64)
    (other / "results.json").write_text(json.dumps(results))
    return other / "results.json"


def test_losses_say_over_how_many_tasks_they_are(write_run):
    names = [f"{task}_{length}" for task in ("vt", "cwe") for length in ("4k", "8k")]
    run = write_run(half, "two", names)
    table = ruler_output("score", run, "--figure", "losses", "--format", "markdown")
    assert "| 2 of 13 tasks " in table
    assert "all tasks" not in table
    assert "| aggregation (CWE/FWE), 1 of 2 tasks " in table


def test_means_over_fewer_tasks_say_so(write_run, tmp_path):
    runs = [
        write_run(right, "two", ["vt_4k", "cwe_4k"]),
        write_run(half, "one", ["vt_4k", "vt_8k"]),
    ]
    for run in runs:
        ruler_output("score", run)
    stdout = ruler_output("score", *runs)
    means = "than those of two, which cannot be compared: one (1 task)."
    assert means in " ".join(stdout.split())
    unpaired = ruler_output("score", runs[0], on_other_rows(runs[1], tmp_path / "other"))
    assert re.search(r"two scores 100\.0 \[[0-9., ]+\] at 4K \(2 of 13 tasks\)\.", unpaired)
    assert "not paired" not in unpaired


def test_runs_that_cannot_be_paired_have_no_marks_and_the_reason(two, tmp_path):
    stdout = ruler_output("score", two[0], on_other_rows(two[1], tmp_path / "other"))
    assert "†" not in stdout
    assert (
        "bad and good cannot be paired: 'niah_single_1_4k' was scored on different rows" in stdout
    )


def test_an_average_over_fewer_lengths_is_not_ranked_beside_the_others(write_run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    short = write_run(right, "short", [f"{task}_4k" for task in ALL])
    whole = write_run(half, "whole")
    stdout = ruler_output("score", short, whole)
    _, first, second = table_of(stdout, "model")
    assert (first[0], second[0]) == ("whole", "short")  # though its average is higher
    assert (first[-5:-2], second[-5:-2]) == (["2", "of", "2"], ["1", "of", "2"])
    assert "Averages over fewer lengths cannot be compared with the others" in stdout


ALL = (
    *("niah_single_1", "niah_single_2", "niah_single_3", "niah_multikey_1", "niah_multikey_2"),
    *("niah_multikey_3", "niah_multivalue", "niah_multiquery", "vt", "cwe", "fwe", "qa_1", "qa_2"),
)


def test_models_with_other_thresholds_have_a_column_of_thresholds(two, write_run):
    base = write_run(right, "base")
    ruler_output("score", base, "--threshold", "base")
    stdout = ruler_output("score", two[0], base, "--format", "markdown")
    (row,) = [line for line in stdout.splitlines() if line.startswith("| base ")]
    assert " 79.4 " in row
    (title,) = [line for line in stdout.splitlines() if line.startswith("All tasks (13 tasks)")]
    assert "threshold" not in title


def test_no_file_replaces_the_records_of_a_run_or_an_input(built, tmp_path):
    runs = [tmp_path / name for name in "ab"]
    for run in runs:
        api.run(built, configs="vt_4k", backend="oracle", out=run)
        api.score(run)
    answers, results = runs[0] / "answers.jsonl", [run / "results.json" for run in runs]
    guesses, manifest = tmp_path / "guesses.jsonl", tmp_path / "manifest.json"
    shutil.copy(answers, guesses)
    shutil.copy(built / "manifest.json", manifest)
    read = "is read by this command and would be lost: name another file with --out."
    for arguments, file, why in (
        (("errors", runs[0]), answers, "is a record of a run"),
        (("score", runs[0]), answers, "is a record of a run"),
        (("score", *runs, "--format", "json"), runs[0] / "run.json", "is a record of a run"),
        (("compare", *runs), manifest, "is the manifest of a release"),
        (("score", guesses, "--dataset", built), guesses, read),
        (("errors", guesses, "--dataset", built), guesses, read),
        (("compare", *results), results[0], read),
        (("compare", *runs), results[0], read),
        (("analyze", *runs), results[0], read),
        (("score", *runs, "--format", "json"), results[0], read),
    ):
        before = file.read_bytes()
        assert f"'{file}' {why}" in ruler_error(*arguments, "--out", file)
        assert file.read_bytes() == before
    before = answers.read_bytes()
    for call in (api.score, api.errors, api.report):
        with pytest.raises(api.RulerError, match="is a record of a run"):
            call(runs[0], out=answers)
    assert answers.read_bytes() == before


def test_a_table_is_written_to_a_file_in_its_format_and_results_stay_in_their_folder(two, tmp_path):
    for form, name, beginning in (
        ("latex", "table.tex", "% \\usepackage{booktabs}"),
        ("csv", "table.csv", "model,tasks,4K,4K mark,4K low,4K high"),
        ("markdown", "table.md", "good · ruler"),
        ("json", "table.json", "["),
    ):
        file = tmp_path / name
        stdout, stderr, code = ruler("score", *two, "--format", form, "--out", file)
        assert (code, stdout) == (0, f"Written: {file}\n"), stderr
        assert file.read_text(encoding="utf-8").startswith(beginning)
    before = (two[0] / "results.json").read_bytes()
    ruler_output("score", two[0], "--figure", "tasks", "--out", tmp_path / "tasks.txt")
    assert (two[0] / "results.json").read_bytes() == before
    assert (tmp_path / "tasks.txt").read_text().startswith("good, ruler, tekken")
    error = ruler_error("score", two[0], "--format", "latex", "--out", tmp_path / "results.json")
    assert "is a name for JSON, and the file is LaTeX: name a .tex file with --out" in error
    assert not (tmp_path / "results.json").exists()


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["score", "--out", "a.csv"], "JSON: name a .json file"),
        (["score", "--format", "json", "--out", "a.csv"], "JSON: name a .json file"),
        (["score", "--markdown", "--out", "a.csv"], "Markdown: name a .md file"),
        (["report", "--out", "a.pdf"], "HTML: name a .html file"),
        (["analyze", "--out", "a.md"], "JSON: name a .json file"),
        (["errors", "--out", "a.csv"], "JSON: name a .jsonl file"),
    ],
)
def test_a_file_whose_suffix_is_of_another_kind_is_not_written(two, arguments, kind, tmp_path):
    command, *flags = arguments
    error = ruler_error(command, two[0], *flags, cwd=tmp_path)
    assert f"and the file is {kind} with --out." in error
    assert not list(tmp_path.glob("a.*"))


def test_markdown_of_one_run_is_written_as_markdown(two, tmp_path):
    ruler_output("score", two[0], "--markdown", "--out", tmp_path / "a.md")
    assert (tmp_path / "a.md").read_text(encoding="utf-8").startswith("good · ruler")


def test_one_figure_can_be_chosen_by_its_name_in_any_format(two):
    rows = list(
        csv.reader(io.StringIO(ruler_output("score", *two, "--figure", "tasks", "--format", "csv")))
    )
    assert rows[0][:4] == ["model", "task", "length", "score"]
    assert {row[0] for row in rows[1:]} == {"good", "bad"}
    tasks = ruler_output("score", *two, "--figure", "tasks-1")
    assert tasks.startswith("bad, ruler, tekken")
    assert "Did you mean 'losses'" in ruler_error("score", two[0], "--figure", "lossess")
    latex = ruler_output("score", two[0], "--figure", "losses", "--format", "latex")
    assert r"\begin{tabular}{lr}" in latex


def test_json_on_standard_output_is_the_whole_result(two):
    printed = json.loads(ruler_output("score", two[0], "--json"))
    stored = json.loads((two[0] / "results.json").read_text())
    assert printed["configurations"] == stored["configurations"]
    both = json.loads(ruler_output("score", *two, "--json"))
    assert [results["model"] for results in both] == ["good", "bad"]
    comparison = json.loads(ruler_output("compare", *two, "--json"))
    assert comparison["all"]["better"] == "a"
    out = two[0] / "comparison.json"
    stdout, _, code = ruler("compare", *two, "--max-drop", 1, "--json", "--out", out)
    assert code == 1
    assert json.loads(stdout) == json.loads(out.read_text())
    wrong = json.loads(ruler_output("errors", two[1], "--json"))
    assert {error["kind"] for error in wrong} >= {"wrong words"}
    assert json.loads(ruler_output("errors", two[0], "--json")) == []
    assert "leave --format, --figure and --cite out" in ruler_error(
        "score", two[0], "--json", "--format", "csv"
    )


def test_a_short_comparison_is_its_verdict(two, write_run):
    stdout, _, code = ruler("compare", *two, "--short", "--max-drop", 1)
    lines = stdout.splitlines()
    assert lines[0].startswith("good (A) leads bad (B) by ")
    assert not any(line.startswith(("A:", "B:", "niah", "--- ")) for line in lines)
    assert code == 1
    whole, _, whole_code = ruler("compare", *two, "--max-drop", 1)
    assert whole.startswith(stdout.rstrip("\n"))
    assert whole_code == code
    third = write_run(right, "third")
    ruler_output("score", third)
    ranks = ruler_output("compare", *two, third, "--short")
    assert len(ranks.splitlines()) == 1


def test_a_comparison_has_every_format(two):
    rows = list(csv.reader(io.StringIO(ruler_output("compare", *two, "--format", "csv"))))
    assert rows[0][1:4] == ["task", "length", "language"]
    assert {"A", "B", "low", "high", "p", "p (Holm)"} <= {*rows[0]}
    assert "\\begin{tabular}" in ruler_output("compare", *two, "--format", "latex")


def test_a_paragraph_for_a_paper_names_data_digest_rules_settings_and_papers(two):
    text = ruler_output("score", two[0], "--cite")
    results = load(two[0])
    for part in (
        f"scored by ruler-release's rules, version {results['score_version']}",
        "good was evaluated on RULER (custom rows: embedded texts",
        "sha256:",
        "tokenizer tekken",
        "Prompt mode: completion",
        "sampling: ",
        "engine: ",
        "@article{hsieh2024ruler,",
        "@article{kim2025oneruler,",
    ):
        assert part in text, part
    assert text == ruler_output("score", two[0], "--cite")


def test_the_average_of_each_of_several_runs_is_checked(two, write_run):
    assert ruler("score", *two, "--fail-under", 99)[2] == 1
    same = write_run(right, "same")
    ruler_output("score", same)
    assert ruler("score", two[0], same, "--fail-under", 99)[2] == 0


def test_flags_that_change_scores_score_every_run_again_and_refuse_a_results_json(two):
    ruler_output("score", *two, "--threshold", "base")
    assert load(two[0])["options"]["threshold"] == "base"


def test_a_results_json_that_cannot_be_scored_again_is_refused_before_a_run_is_scored(two):
    ruler_output("score", *two)
    error = ruler_error("score", two[0], two[1] / "results.json", "--threshold", "base")
    assert "is scored already: leave --threshold out" in error
    assert load(two[0])["options"]["threshold"] == "chat"
