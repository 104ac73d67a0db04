"""The tables of `ruler score`: what a mean is over is to be seen beside it."""

from __future__ import annotations

import itertools
import json

import pytest

from ruler_common.names import TASKS
from ruler_eval.figures.series import open_runs
from ruler_eval.frozen_release import Release
from ruler_eval.score.results import load
from tests.eval.scoring_helpers import (
    record,
    right,
    standard_suite,
    tagged,
    write_lines,
    write_oneruler,
    write_run_folder,
)
from tests.in_process import ruler, ruler_output


def rows_of(stdout):
    return {line.split("  ")[0].strip(): line.split() for line in stdout.splitlines() if line}


def test_columns_averaged_over_different_tasks_are_marked(write_run):
    run = write_run(right, configs=["vt_4k", "cwe_4k", "vt_8k"])
    stdout, _, _ = ruler("score", run, "--all")
    assert rows_of(stdout)["mean of 1 to 2 of 13 tasks"][-3:] == ["100.0", "100.0*", "-"]
    averages = {name: row[-1] for name, row in rows_of(stdout).items() if name in ("vt", "cwe")}
    assert averages == {"vt": "100.0", "cwe": "-"}
    assert "* a mean over different tasks than the other means of this row" in stdout
    lengths = load(run / "results.json")["summary"]["tekken"]["en"]["all"]["lengths"]
    assert "cwe" in lengths["8k"]["lacking"]
    assert "cwe" not in lengths["4k"]["lacking"]


def test_models_that_answered_other_tasks_are_marked_in_the_table_of_models(write_run):
    """At one length no column of averages says so."""
    runs = [
        write_run(right, name, configs)
        for name, configs in (("wide", ["vt_4k", "cwe_4k"]), ("narrow", ["vt_4k"]))
    ]
    stdout = ruler_output("score", *runs)
    table = stdout[stdout.index("All tasks (2 of 13 tasks), mean in percent") :]
    assert [rows_of(table)[name][-1] for name in ("wide", "narrow")] == ["100.0", "100.0‡"]
    assert (
        "‡ means over other tasks or languages than those of wide, which cannot be compared: narrow"
        in table
    )
    assert r"100.0$^{\ddagger}$" in ruler_output("score", *runs, "--format", "latex")
    same = ruler_output("score", runs[1], write_run(right, "other", ["vt_4k"]))
    assert "‡" not in same


def test_a_model_in_fewer_languages_is_marked_in_the_table_of_models(tmp_path):
    root = write_oneruler(tmp_path / "release", languages=("pl", "en"), tasks=("niah_single",))
    runs = []
    for name, languages in (("both", ("pl", "en")), ("one", ("pl",))):
        configs = [f"niah_single_8k_{language}_cl100k" for language in languages]
        runs.append(write_run_folder(tmp_path / name, root, right, configs))
    stdout = ruler_output("score", *runs)
    assert "which cannot be compared: one (1 task in pl)" in stdout


def test_a_mean_over_fewer_languages_than_at_other_lengths_is_marked(tmp_path):
    root = write_oneruler(tmp_path / "release", ("pl", "en"), ("8k", "32k"), tasks=["niah_single"])
    configs = [f"niah_single_{place}_cl100k" for place in ("8k_pl", "8k_en", "32k_en")]
    run = write_run_folder(
        tmp_path / "run", root, lambda c, row: "" if "32k" in c else right(c, row), configs
    )
    stdout = ruler_output("score", run)
    table = rows_of(stdout[stdout.index("Languages by lengths") :])
    assert [word[-1] == "*" for word in table["mean over languages"][-3:]] == [False, False, True]
    assert "* a mean over different tasks or languages than the other means" in stdout
    lengths = load(run / "results.json")["summary"]["cl100k"]["*"]["niah"]["lengths"]
    assert ["pl" in lengths[length]["lacking"] for length in ("8k", "32k")] == [False, True]


def test_the_mean_of_a_category_says_over_how_many_of_its_tasks_it_is(write_run):
    run = write_run(right, configs=["vt_4k", "cwe_4k", "cwe_8k", "fwe_8k"])
    stdout, _, _ = ruler("score", run, "--all")
    aggregates = stdout[stdout.index("Means by length") :].split("\n\n")[1]
    lines = [line.split("  ") for line in aggregates.splitlines()]
    names = [line[0] for line in lines if line[0].partition(",")[0] in ("all", "aggregation")]
    assert names == ["all, mean of 2 of 13 tasks", "aggregation, mean of 1 to 2 of 2 tasks"]
    lines = aggregates.splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith(names[1]))
    assert "100.0* " in "".join(lines[place : place + 2])  # a name that is too long is above
    assert "\n* a mean over different tasks than the other means of this row" in stdout
    (whole,) = [line for line in lines if line.startswith("multi-hop")]
    assert whole.startswith("multi-hop tracing  ")
    assert "*" not in whole


def test_an_average_over_lengths_says_over_which_of_them_it_is(tmp_path):
    """Not over fewer tasks: a length that lacks a task is in no average."""
    lines = []
    for task, length in itertools.product(TASKS["ruler"], ("2k", "4k")):
        if (task, length) != ("qa_2", "2k"):
            lines.append(record(f"{task}_{length}", 0, "1000000", outputs=["1000000"]))
    stdout = ruler_output("score", write_lines(tmp_path / "answers.jsonl", *lines))
    averages = rows_of(stdout[stdout.index("Averages (") :].partition("Change from")[0])
    assert {"all 13 tasks, at 4K", "question answering, at 4K", "retrieval"} <= averages.keys()


def test_a_changed_suite_with_the_standard_names_gets_no_threshold(tmp_path, built):
    suite = tmp_path / "mine.toml"
    suite.write_text(standard_suite().replace("hops = 4", "hops = 2"), encoding="utf-8")
    root = tmp_path / "mine"
    arguments = ["--lengths", "4k", "--rows", "2", "--tasks", "vt,fwe", "--sources", "embedded"]
    ruler_output("build", root, "--suite", suite, *arguments)
    configs = ["--configs", "vt_4k,fwe_4k", "--backend", "oracle", "--out", tmp_path / "run"]
    ruler_output("run", "--dataset", root, *configs)
    stdout, _, _ = ruler("score", tmp_path / "run", "--all")
    results = load(tmp_path / "run/results.json")
    groups = results["summary"]["tekken"]["en"]
    assert results["dataset"]["standard"] is False
    assert {group["threshold"] for group in groups.values()} == {None}
    assert "mean of 2 of 13 tasks" in stdout
    assert "effective" not in stdout


def test_the_means_of_a_custom_suite_are_over_the_tasks_of_its_own_groups(tmp_path, suite_release):
    root = suite_release("ruler_complexity")  # 2 rows of each task
    run = write_run_folder(tmp_path / "run", root, right)
    ruler_output("score", run)
    cells, _, _ = ruler("score", run, "--figure", "cells", "--format", "json")
    means = [r for r in json.loads(cells)[0]["records"] if r["task"] == "mean of 35 tasks"]
    assert [record["rows"] for record in means] == [70, 70]  # at 0k and 4k
    groups = Release.open(str(root)).names.groups
    (series,) = open_runs([run]).series
    assert {name: list(tasks) for name, tasks in series.members.items()} == groups


@pytest.fixture(scope="module")
def languages(tmp_path_factory):
    """Polish and Korean, and two pairs of languages without cwe, all answered in full."""
    root = write_oneruler(tmp_path_factory.mktemp("release"), ("pl", "ko", "en-ko", "pl-en"))
    release = Release.open(str(root))
    pairs = ("cwe_easy_8k_en-ko_cl100k", "cwe_easy_8k_pl-en_cl100k")
    configs = [config for config in release.configs if config not in pairs]

    def answer(config, row):
        languages = release.parse(config).languages
        if languages == "en-ko" or (languages == "ko" and row["index"] < 2):
            return ""
        return tagged(release, config, ", ".join(row["outputs"]))

    run = write_run_folder(tmp_path_factory.mktemp("runs") / "run", root, answer, configs)
    out = run / "results.json"
    stdout = ruler_output("score", run, "--dataset", root, "--out", out, "--all")
    return load(out), stdout


def test_the_mean_over_languages_excludes_pairs_of_languages(languages):
    results, stdout = languages
    summary = results["summary"]["cl100k"]
    assert list(summary) == ["en-ko", "ko", "pl", "pl-en", "*", "*-*"]
    assert summary["*"]["niah"]["lengths"]["8k"]["score"] == 75
    assert summary["*-*"]["niah"]["lengths"]["8k"]["score"] == 50
    assert summary["*"]["all"]["lengths"]["8k"]["score"] == 75
    assert "mean over languages" in stdout
    assert "mean over pairs of languages" in stdout


def test_the_group_all_of_pairs_has_only_the_tasks_that_pairs_have(languages):
    summary = languages[0]["summary"]["cl100k"]
    assert summary["*"]["all"]["tasks"] == summary["pl"]["all"]["tasks"] == 7
    for pair in ("en-ko", "pl-en", "*-*"):
        assert summary[pair]["all"] == summary[pair]["niah"]
        assert summary[pair]["all"]["tasks"] == 5
