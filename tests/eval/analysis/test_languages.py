"""`ruler analyze`: what ONERULER's paper draws, from results whose answers are known."""

from __future__ import annotations

import json
import re

import pytest

from ruler_common.errors import RulerError
from ruler_common.languages import language_facts
from ruler_common.names import LANGUAGES
from ruler_eval.analysis.languages import HIGH_RESOURCE, analyze, none_ablation
from ruler_eval.figures.languages import language_figures
from ruler_eval.figures.series import ScoredRun, runs_of
from ruler_eval.frozen_release import Release
from ruler_eval.report.render import render
from ruler_eval.score.results import load
from tests.eval.scoring_helpers import (
    right,
    tagged,
    whole_results,
    write_oneruler,
    write_run_folder,
)
from tests.in_process import ruler, ruler_error, ruler_output

PAIRS = ("en", "ko", "pl", "sw", "en-ko", "ko-en")
RIGHT = {"en": 2, "ko": 1, "pl": 4, "sw": 0, "en-ko": 1, "ko-en": 3}
"""How many of the four rows of each niah task are answered rightly."""


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return write_oneruler(tmp_path_factory.mktemp("many") / "oneruler", PAIRS)


def write_counted_run(folder, root, counts, prompt_tokens):
    """A run in which a number of rows of each language are right, the others say none."""
    release = Release.open(str(root))

    def answer(config, row):
        parsed = release.parse(config)
        is_right = row["index"] < counts[parsed.languages]
        words = row["outputs"] if is_right or parsed.task == "niah_none" else [row["none_word"]]
        fields = {}
        if parsed.task == "cwe_easy":
            words = row["outputs"][: 10 - 2 * row["index"]]
            fields["finish_reason"] = "length" if row["index"] == 3 else "stop"
        usage = {"thinking_tokens": 100 if is_right else 900, "prompt_tokens": prompt_tokens}
        return {"prediction": tagged(release, config, ", ".join(words)), "usage": usage, **fields}

    write_run_folder(folder, root, answer)
    ruler_output("score", folder)
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory, release):
    folder = tmp_path_factory.mktemp("runs")
    low_scores = {**RIGHT, "pl": 1, "sw": 3}
    return [
        write_counted_run(folder / "first", release, RIGHT, 7000),
        write_counted_run(folder / "second", release, low_scores, 9000),
    ]


@pytest.fixture(scope="module")
def analysis(runs):
    return analyze({run.name: load(run) for run in runs})


def test_languages_are_ranked_with_intervals_and_pairs_are_left_out(analysis):
    ranking = analysis["models"]["first"]["languages"]
    assert [item["language"] for item in ranking] == ["pl", "en", "ko", "sw"]
    assert [item["rank"] for item in ranking] == [1, 2, 3, 4]
    assert [item["score"] for item in ranking] == pytest.approx([100, 200 / 3, 50, 100 / 3])
    for item in ranking:
        assert item["interval"][0] <= item["score"] <= item["interval"][1]
        assert item["interval"][0] < item["interval"][1]


def test_resource_groups_and_their_gap(analysis):
    (item,) = analysis["models"]["first"]["resources"]
    assert (item["high"]["languages"], item["low"]["languages"]) == (3, 1)
    assert item["high"]["score"] == pytest.approx((100 + 200 / 3 + 50) / 3)
    assert item["gap"] == pytest.approx(item["high"]["score"] - item["low"]["score"])
    low, high = item["gap_interval"]
    assert low < item["gap"] < high
    assert high - low < 100


def test_the_papers_figures_of_wikipedia_have_four_languages_of_low_resource():
    low = {code for code in LANGUAGES if language_facts(code).wikipedia_articles < HIGH_RESOURCE}
    assert low == {"hi", "st", "sw", "ta"}


def test_the_correlation_with_wikipedias_size(analysis):
    size = analysis["models"]["first"]["wikipedia"]
    assert size["languages"] == 4
    assert size["spearman"] == pytest.approx(0.8)  # of en, pl, ko, sw by size: 2, 1, 3, 4
    assert 0 < size["pearson"] < 1


def test_the_cross_lingual_matrix_has_texts_as_rows(analysis):
    matrix = analysis["models"]["first"]["cross_lingual"]
    assert set(matrix) == {"en", "ko"}
    assert matrix["en"]["ko"] == pytest.approx(50)
    assert matrix["ko"]["en"] == pytest.approx(250 / 3)
    assert matrix["en"]["en"] == pytest.approx(200 / 3)


def test_reasoning_tokens_of_right_and_of_wrong_answers(analysis):
    (item,) = analysis["models"]["first"]["reasoning"]
    assert item["wrong"] == 900
    assert 100 <= item["right"] < 900


def test_words_right_of_ten_with_truncated_rows_apart(analysis):
    (item,) = analysis["models"]["first"]["words_right"]  # nothing of cwe_hard is in the release
    assert item["task"] == "cwe_easy"
    rows = (item["right_rows"], item["wrong_rows"], item["truncated_rows"])
    assert rows == (6, 12, 6)
    assert (item["wrong"], item["truncated"]) == (7, 4)


def test_the_same_texts_under_several_tokenizers(analysis):
    assert analysis["prompt_tokens"]["first"]["8k"]["pl"] == 7000
    assert analysis["prompt_tokens"]["second"]["8k"]["pl"] == 9000


def test_kendalls_tau_between_two_models_rankings(analysis, runs):
    value = analysis["rankings"]["first | second"]
    assert value["languages"] == 4
    assert -1 <= value["tau"] < 0.5
    same = analyze({"a": load(runs[0]), "b": load(runs[0])})
    assert same["rankings"]["a | b"]["tau"] == pytest.approx(1)


def cell(task, scores, references=None):
    return {
        "task": task,
        "length": "8k",
        "max_length": 8000,
        "tokenizer": "cl100k",
        "language": "en",
        "instruction_language": "en",
        "score": 100 * sum(scores) / len(scores),
        "rows": {
            "index": list(range(len(scores))),
            "score": scores,
            "references": references or ["same"] * len(scores),
        },
    }


def offers(cells):
    result = whole_results({"dataset": {"name": "oneruler"}, "configurations": cells})
    return none_ablation(result, result["configurations"])


def test_the_offer_of_none_is_a_paired_difference_within_a_model():
    cells = {
        "a": cell("niah_single", [1, 0, 0, 1] * 10),
        "b": cell("niah_single_nonone", [1, 1, 1, 1] * 10),
    }
    (result,) = offers(cells)
    assert result["difference"] == -50
    assert result["interval"][0] < -50 < result["interval"][1] < 0
    apart = cell("niah_single_nonone", [1] * 40, ["x"] * 40)
    apart["rows"]["index"] = list(range(40, 80))
    assert offers({**cells, "b": apart}) == []
    changed = {**cells, "b": cell("niah_single_nonone", [1] * 40, ["else"] * 40)}
    with pytest.raises(RulerError, match="do not ask the same"):
        offers(changed)


def test_the_command_prints_a_table_of_each_and_the_kinds_of_errors(runs, release, tmp_path):
    first, second, out = tmp_path / "1.jsonl", tmp_path / "2.jsonl", tmp_path / "analysis.json"
    ruler_output("errors", runs[0], "--dataset", release, "--out", first)
    ruler_output("errors", runs[1], "--dataset", release, "--out", second)
    errors = ["--errors", first, "--errors", second]
    arguments = [*errors, "--name", "one", "--name", "two", "--out", out]
    stdout = ruler_output("analyze", *runs, *arguments)
    for title in (
        "Languages by their mean over the niah tasks",
        "one, mean of the niah tasks",
        "Correlation with the logarithm of Wikipedia's size, 4 languages",
        "Languages of high and of low resource",
        "Text and instruction in two languages",
        "Reasoning tokens of niah answers",
        "Words right of ten in cwe",
        "Do two models rank the languages alike?",
        "The same texts under several tokenizers: mean prompt tokens",
        "Kinds of errors by language",
        "Kinds of errors by task and length",
        "The best languages (pl, en) and the worst (ko, sw), chosen by these same scores:",
        "niah_single: the largest Wikipedias (en, pl) and the smallest (ko, sw)",
        "Tasks in English and by resource",
        "Mean over 2 models, and the lowest and highest of them: languages",
    ):
        assert title in stdout
    kinds = json.loads(out.read_text())["errors"]
    assert kinds["sw"]["refused"] == 8 + 2
    assert kinds["pl"]["refused"] == 6
    by_task = json.loads(out.read_text())["errors_by_task"]
    assert by_task["niah_single 8k"]["refused"] > 0
    assert sum(sum(kind.values()) for kind in by_task.values()) == sum(
        sum(kind.values()) for kind in kinds.values()
    )
    _, error, code = ruler("analyze", runs[0], "--lengths", "64k")
    assert "There are no results at 64k: choose --lengths from 8k." in error
    assert code == 2


def test_the_command_says_how_many_rows_were_not_answered_to_the_end(runs):
    stderr = ruler("analyze", *runs).stderr
    assert re.search(r"Not answered to the end: .* \d+ truncated \(of \d+ rows\)", stderr)


def test_flags_without_an_effect_and_one_run_twice_are_refused(runs):
    error = ruler_error("analyze", runs[0], "--configs", "niah_single_8k_pl")
    assert "--configs and --limit choose the rows whose tokens are counted" in error
    assert "are the same run: name two runs" in ruler_error("analyze", runs[0], runs[0])


def test_errors_of_another_run_are_refused(runs, release, tmp_path):
    errors = tmp_path / "errors.jsonl"
    ruler_output("errors", runs[0], "--dataset", release, "--out", errors)
    ruler_output("analyze", runs[0], "--errors", errors)
    error = ruler_error("analyze", runs[1], "--errors", errors)
    assert "which is right in the results: give the errors of the same runs" in error


def test_right_answers_with_something_extra_may_be_among_the_errors(release, tmp_path):
    opened, run, errors = Release.open(str(release)), tmp_path / "run", tmp_path / "errors.jsonl"

    def answer_in_reasoning(config, row):
        text = "<think>" + ", ".join(row["outputs"]) + " or something else"
        return {"prediction": text, "finish_reason": "length"}

    write_run_folder(run, opened.source, answer_in_reasoning)
    ruler_output("score", run, "--compat", "authors")
    ruler_output("errors", run, "--strict", "--out", errors)
    assert "Kinds of errors by language" in ruler_output("analyze", run, "--errors", errors)


@pytest.mark.parametrize("kept_lines", [0, 5])
def test_errors_that_lack_a_wrong_row_are_refused(runs, release, tmp_path, kept_lines):
    errors = tmp_path / "errors.jsonl"
    ruler_output("errors", runs[0], "--dataset", release, "--out", errors)
    whole = errors.read_text().splitlines(keepends=True)
    errors.write_text("".join(whole[:kept_lines]))
    error = ruler_error("analyze", runs[0], "--errors", errors)
    assert "which is wrong in the results: give the whole file of each run" in error


def test_errors_of_one_of_two_runs_and_a_file_that_is_named_twice_are_refused(
    runs, release, tmp_path
):
    errors = tmp_path / "errors.jsonl"
    ruler_output("errors", runs[0], "--dataset", release, "--out", errors)
    error = ruler_error("analyze", *runs, "--errors", errors)
    assert "which is wrong in the results: give the whole file of each run" in error
    error = ruler_error("analyze", runs[0], "--errors", errors, "--errors", errors)
    assert "more often than it is wrong in the results: give the file of each run once" in error


def test_the_best_languages_against_the_worst(analysis):
    sides = analysis["models"]["first"]["best_and_worst"]
    assert (sides["best"], sides["worst"]) == (["pl", "en"], ["ko", "sw"])
    (item,) = sides["lengths"]
    assert item["best"]["score"] == pytest.approx((100 + 200 / 3) / 2)
    assert item["worst"]["score"] == pytest.approx((50 + 100 / 3) / 2)


def test_means_over_models_have_their_spread(analysis):
    (pl,) = [r for r in analysis["over_models"]["languages"] if r["language"] == "pl"]
    assert (pl["lowest"], pl["highest"]) == (pytest.approx(50), pytest.approx(100))
    assert pl["score"] == pytest.approx(75)


def test_a_language_scored_on_other_cells_is_shown_without_a_rank(runs):
    results = load(runs[0])
    cells = results["configurations"].items()
    name = next(n for n, c in cells if (c["task"], c["language"]) == ("niah_single", "pl"))
    results["configurations"].pop(name)
    result = analyze({"first": results})
    entry = result["models"]["first"]
    assert [(item["language"], item["rank"]) for item in entry["languages"]] == [
        *(("en", 1), ("ko", 2), ("sw", 3), ("pl", None))
    ]
    assert "pl" not in entry["best_and_worst"]["best"] + entry["best_and_worst"]["worst"]
    assert entry["wikipedia"]["languages"] == 3
    text = "Not ranked, because their tasks and lengths differ from most languages': pl ("
    runs = runs_of([ScoredRun(label="first", results=results)])
    assert text in render(language_figures(runs, result), "text")


def test_results_of_two_datasets_and_missing_errors_are_refused(runs, tmp_path, write_run):
    run = write_run(right, configs=["vt_4k"])
    ruler("score", run)
    assert "of oneruler and ruler: show them separately" in ruler("analyze", run, runs[0])[1]
    assert "--lengths are for ONERULER" in ruler("analyze", run, "--lengths", "4k")[1]
    assert (
        "Write it with: ruler errors RUN"
        in ruler("analyze", runs[0], "--errors", tmp_path / "x")[1]
    )
