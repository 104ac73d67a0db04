"""Two models on the same rows."""

from __future__ import annotations

import json
import re
import shutil
from fractions import Fraction
from itertools import product
from operator import mul

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruler_common.errors import RulerError
from ruler_eval.analysis.compare import compare, decision
from ruler_eval.figures.comparisons import comparison_verdict
from ruler_eval.score.intervals import holm, mcnemar, signed_p
from ruler_eval.score.troubles import TROUBLES
from tests.eval.figures_text import comparison_text
from tests.eval.scoring_helpers import (
    change_column,
    right,
    row_table,
    whole_results,
    write_lines,
)
from tests.in_process import ruler, ruler_error, ruler_output


def results(model="a", digests=None, **cells):
    """A results.json with row scores: `results(vt_4k=[1, 0])`."""
    configurations = {
        name: {
            "task": name.rsplit("_", 1)[0],
            "length": name.rsplit("_", 1)[1],
            "tokenizer": "tekken",
            "n": len(scores),
            **dict.fromkeys(TROUBLES, 0),
            "proof": "rows",
            "rows_requested": len(scores),
            "rows_available": len(scores),
            "language": "en",
            "instruction_language": "en",
        }
        for name, scores in cells.items()
    }
    rows = {
        name: {"index": list(range(len(scores))), "score": list(scores)}
        for name, scores in cells.items()
    }
    return {
        "model": model,
        "mode": None,
        "predictions": {},
        "partial": False,
        "score_version": "1",
        "rules": {},
        "dataset": {
            "name": "ruler",
            "data_version": "1.0.0",
            "rows": digests or {},
            "custom_because": None,
        },
        "configurations": configurations,
        "rows": row_table(configurations, rows),
        "run": {},
    }


def test_the_difference_is_paired_and_its_interval_holds_it():
    rng = np.random.default_rng(1)
    hard = rng.random(500) < 0.3  # rows both models fail on
    a = np.where(hard, 0, rng.random(500) < 0.98).astype(float)
    b = np.where(hard, 0, rng.random(500) < 0.90).astype(float)
    cell = compare(results(vt_4k=a), results("b", vt_4k=b))["configurations"]["vt_4k"]
    assert cell["difference"] == pytest.approx(100 * (a - b).mean())
    low, high = cell["interval"]
    assert 0 < low < cell["difference"] < high
    unpaired = 2 * 196 * np.sqrt(a.var() / 500 + b.var() / 500)
    assert high - low < 0.6 * unpaired
    assert cell["p"] < 0.001
    normal = 2.8016 * 100 * (a - b).std() / 500**0.5
    assert normal < cell["detectable"] < 1.2 * normal


def test_mcnemar_is_the_exact_sign_test_of_the_rows_that_differ():
    assert mcnemar(0, 0) == 1
    assert mcnemar(6, 0) == pytest.approx(2 / 64)
    assert mcnemar(5, 0) > 0.05
    assert mcnemar(10, 2) == pytest.approx(0.03857, abs=1e-5)
    cell = compare(results(vt_4k=[1, 1, 0]), results(vt_4k=[1, 0, 1]))["configurations"]["vt_4k"]
    assert (cell["only_a"], cell["only_b"], cell["p"]) == (1, 1, 1)


def test_p_values_are_adjusted_for_their_number_by_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]) == [1, 1]
    assert holm([]) == []
    fails = {"vt_4k": 12, "cwe_4k": 6, "fwe_4k": 0}
    a = results(**{name: [1.0] * 50 for name in fails})
    b = results(**{name: [0.0] * n + [1.0] * (50 - n) for name, n in fails.items()})
    cells = compare(a, b)["configurations"]
    assert [cells[name]["p_holm"] for name in fails] == pytest.approx([6 / 4096, 4 / 64, 1])
    assert [cells[name]["better"] for name in fails] == ["a", None, None]
    assert compare(a, b)["configurations"]["cwe_4k"]["p"] < 0.05  # of one test alone


def test_a_difference_whose_exact_p_is_not_below_005_is_never_called_better():
    a, b = results(vt_4k=[1.0] * 20), results(vt_4k=[0.0] * 5 + [1.0] * 15)
    comparison = compare(a, b)
    cell = comparison["configurations"]["vt_4k"]
    assert (cell["p"], cell["better"]) == (0.0625, None)
    text = comparison_text(comparison, a, b).splitlines()
    first, *_ = [line.split() for line in text if line.startswith("vt_4k")]
    assert first.count("0.062") == 2
    assert not {"A", "B"} & {*first}


def test_a_comparison_begins_with_its_verdict_and_explains_its_columns():
    a, b = results(vt_4k=[1.0] * 20), results("b", vt_4k=[0.0] * 12 + [1.0] * 8)
    comparison = compare(a, b)
    text = comparison_text(comparison, a, b).splitlines()
    low, high = comparison["all"]["interval"]
    assert text[0] == (
        f"a (A) leads b (B) by 60.0 points over 1 configuration, 95 % interval "
        f"[{low:.1f}, {high:.1f}]."
    )
    assert " detectable: " in text[-1]
    assert " smallest: " in text[-1]
    worse = " ".join(comparison_verdict(compare(*loses()[::-1])))
    assert "b (B) leads a (A) by 70.0 points over 2 configurations, 95 % interval [" in worse
    assert (
        "A is better in 0 configurations and B in 2, after Holm's adjustment for 2 tests." in worse
    )
    equal = results(vt_4k=[1.0] * 20), results("b", vt_4k=[1.0] * 20)
    text = comparison_text(compare(*equal), *equal)
    assert text.startswith("a (A) and b (B) do not differ clearly over 1 configuration: A − B is")
    assert "  better" not in text  # a column without a word


def test_failed_rows_are_counted_with_the_verdict_and_left_out_of_a_second_one(write_run):
    """One model fails at a gateway, not at the task."""

    def failing(config, row):
        if row["index"] < 3:
            return {"finish_reason": "error", "error": "HTTP 504"}
        if (config, row["index"]) == ("vt_4k", 3):
            return None
        if (config, row["index"]) == ("vt_4k", 4):
            return {"prediction": right(config, row), "finish_reason": "length"}
        return right(config, row)

    configs = [f"{task}_4k" for task in ("vt", "fwe", "cwe", "niah_single_1", "niah_single_2")]
    good, failed = write_run(right, "good", configs), write_run(failing, "bad", configs)
    out = failed / "comparison.json"
    stdout, error, code = ruler("compare", good, failed, "--max-drop", 15, "--out", out)
    assert code == 1, error
    text = " ".join(stdout.split())
    assert "good (A) leads bad (B) by 64.0 points" in text
    assert "Rows of A: all answered. Rows of B: 1 missing, 15 failed." in text
    assert "A row without a whole answer counts as wrong." in text
    assert "Without the 16 rows that failed or are missing, A − B is +0.0 points, [" in text
    result = json.loads(out.read_text(encoding="utf-8"))
    counts = {"failed": 15, "missing": 1, "truncated_scored": 1}
    assert (result["b"]["counts"], result["answered"]["unanswered"]) == (counts, 16)
    assert result["decision"]["verdict"] == "larger"
    assert result["decision"]["answered"] == "unknown"  # 9 rows are too few for a verdict
    assert "which does not show whether it is below 15." in text


def loses():
    """Two results, b of which loses 12 and 16 rows of 20."""
    names = {"vt_4k": 12, "cwe_4k": 16}
    right = results("b", **{name: [1.0] * 20 for name in names})
    wrong = results("a", **{name: [0.0] * n + [1.0] * (20 - n) for name, n in names.items()})
    return right, wrong


def test_a_comparison_fits_80_columns_and_cuts_no_name(tmp_path):
    tasks = [f"niah_single_nonone_{length}_en-ko_qwen2.5" for length in ("8k", "128k")]
    scores = {name: [1.0] * 20 for name in (*tasks, "vt_4k")}
    long = "o/" + "a-model-with-a-long-name-" * 3
    a, b = (results(f"{long}{end}", **scores) for end in "12")
    for name in tasks:
        change_column(a, "score", name, [0.0] * 20)
    text = comparison_text(compare(a, b), a, b)
    tables = [line for line in text.splitlines() if "  " in line or "--" in line]
    assert max(map(len, tables)) <= 80
    whole = "".join(text.split())
    assert f"{long}1(A)" in whole
    assert f"{long}2(B)" in whole
    assert [text.count(task) for task in tasks] == [2, 2]
    assert tasks[1] in text.splitlines()  # its numbers stand below


def test_models_of_one_name_are_called_by_their_files_too(write_run):
    runs = [write_run(right, "one", ["vt_4k"]), write_run(lambda *_: "none", "two", ["vt_4k"])]
    for run in runs:
        ruler_output("score", run, "--name", "qwen")
    stdout, error, _ = ruler("compare", *runs)
    assert all(f"qwen ({run})" in " ".join(stdout.split()) for run in runs), error


@pytest.mark.parametrize("command", ["compare", "score", "report", "analyze", "decide"])
def test_a_run_and_its_copy_are_refused(write_run, tmp_path, command):
    run, copy, link = write_run(right, "run", configs=["vt_4k"]), tmp_path / "copy", tmp_path / "li"
    ruler_output("score", run)
    shutil.copytree(run, copy)
    link.symlink_to(run)
    more = {"report": ["--out", tmp_path / "a.html"], "decide": ["--max-drop", 2]}.get(command, [])
    assert "are copies of the same run: name two runs." in ruler_error(command, run, copy, *more)
    assert "are the same run: name two runs." in ruler_error(command, run, link, *more)


@pytest.mark.parametrize("command", ["compare", "score", "report"])
def test_equal_files_of_another_tool_under_two_names_are_noted(built, tmp_path, command):
    line = {"config": "vt_4k", "index": 0, "prediction": "none"}
    scored = []
    for name in ("a", "b"):
        file = tmp_path / f"{name}.jsonl"
        write_lines(file, line)
        scored.append(tmp_path / f"{name}.results.json")
        ruler_output("score", file, "-d", built, "--name", name, "--out", scored[-1])
    more = {"report": ["--out", tmp_path / "a.html"]}.get(command, [])
    _, stderr, code = ruler(command, *scored, *more)
    stderr = " ".join(stderr.split())
    assert (code, "b.results.json' are scores of equal files of predictions" in stderr) == (0, True)


def test_a_run_scored_by_two_rules_is_shown_side_by_side(write_run, tmp_path):
    run, other = write_run(right, "run", configs=["vt_4k"]), tmp_path / "other.json"
    ruler_output("score", run)
    ruler_output("score", run, "--truncated", "wrong", "--out", other)
    assert "truncated wrong" in ruler_output("score", run, other)


def test_with_fewer_than_ten_rows_neither_is_better_and_there_is_no_verdict():
    comparison = compare(results(vt_4k=[1.0] * 9), results("b", vt_4k=[0.0] * 9))
    low, high = comparison["configurations"]["vt_4k"]["interval"]
    assert 0 < low < 100 == high
    assert comparison["configurations"]["vt_4k"]["better"] is comparison["all"]["better"] is None
    decided = decision(comparison, 1.5)
    assert decided["verdict"] == "unknown"
    ten = compare(results(vt_4k=[1.0] * 10), results("b", vt_4k=[0.0] * 10))
    assert (ten["all"]["better"], decision(ten, 1.5)["verdict"]) == ("a", "larger")


def counted(differences):
    """p by listing every way to sign the differences and two rows of 1."""
    sizes = [abs(value) for value in differences] + [1, 1]
    sums = [abs(sum(map(mul, ways, sizes))) for ways in product((1, -1), repeat=len(sizes))]
    return sum(item >= abs(sum(differences)) for item in sums) / len(sums)


@given(st.lists(st.sampled_from([0, 2, 5, 10, 15, -2, -5, -20]), min_size=1, max_size=8))
def test_p_of_partial_credit_counts_every_way_to_sign_the_rows(twentieths):
    exact = [Fraction(value, 20) for value in twentieths]
    result = signed_p(np.array(exact, dtype=float))
    assert result == pytest.approx(counted(exact))


def test_partial_credit_has_a_p_and_holms_adjusted_p():
    a = {"vt_4k": [1.0] * 40, "cwe_4k": [1.0] * 40}
    b = {"vt_4k": [0.8] * 20 + [1.0] * 20, "cwe_4k": [0.0] * 8 + [1.0] * 32}
    vt, cwe = compare(results(**a), results("b", **b))["configurations"].values()
    assert (vt["only_a"], vt["smallest"]) == (None, None)
    assert vt["p"] < 0.05
    assert cwe["p"] == mcnemar(8, 0)
    assert vt["p_holm"] == cwe["p_holm"] == pytest.approx(2 * cwe["p"])


def test_the_smallest_difference_that_rows_can_show_is_six_rows():
    comparison = compare(results(vt_4k=[1.0] * 50), results(vt_4k=[1.0] * 50))
    assert comparison["configurations"]["vt_4k"]["smallest"] == 12
    comparison = compare(results(vt_4k=[1.0] * 5), results(vt_4k=[1.0] * 5))
    assert comparison["configurations"]["vt_4k"]["smallest"] is None


def one_task_failed(rows=20):
    """Six tasks without a wrong answer; in B all of one is wrong. The mean's spread is rounding."""
    good = {f"task{i}_4k": [1.0] * rows for i in range(6)}
    return results(**good), results("b", **{**good, "task0_4k": [0.0] * rows})


def test_a_task_that_failed_whole_leaves_the_interval_of_rows_not_seen():
    """No row differs from the others of its task, and 120 rows have been seen."""
    comparison = compare(*one_task_failed())
    low, high = comparison["all"]["interval"]
    assert comparison["all"]["difference"] == pytest.approx(100 / 6)
    rest = 100 * (1 - 0.025 ** (1 / 120))
    assert low < 100 / 6 - rest
    assert high > 100 / 6 + rest
    assert decision(comparison, 19)["verdict"] == "unknown"


def test_a_task_of_few_rows_counts_as_what_it_weighs():
    """Of 20 rows without a loss a sixth may be lost; as 1 of 6 tasks, that is 3 points."""
    many = {f"task{i}_4k": [1.0] * 500 for i in range(5)}
    few = results(**many, task5_4k=[1.0] * 20)
    assert decision(compare(few, few), 2.5)["verdict"] == "unknown"
    same = results(**many, task5_4k=[1.0] * 500)
    assert decision(compare(same, same), 2.5)["verdict"] == "smaller"


def with_documents(result, name, rows_of_a_document):
    """The results, with rows that share documents."""
    documents = [f"{index // rows_of_a_document}" for index in range(500)]
    change_column(result, "document", name, documents)
    return result


def test_rows_of_one_document_count_as_one_if_none_differs():
    base = with_documents(results(qa_1_4k=[1.0] * 500), "qa_1_4k", 5)
    alone = results(qa_1_4k=[1.0] * 500)
    assert (
        compare(base, base)["all"]["interval"][1] > 4 * compare(alone, alone)["all"]["interval"][1]
    )
    assert decision(compare(base, base), 3)["verdict"] == "unknown"
    assert decision(compare(alone, alone), 3)["verdict"] == "smaller"


def test_rare_whole_losses_may_be_missing_beside_frequent_small_gains():
    """In 500 rows, 30 gains of a tenth and no loss: equal models if 1 row in 166 is lost whole."""
    a = results(cwe_4k=[1.0] * 30 + [0.9] * 470)
    b = results("b", cwe_4k=[0.9] * 500)
    assert compare(a, b)["all"]["better"] is None


def test_lengths_are_marked_after_an_adjustment_for_their_number():
    scores = [0.0] * 12 + [1.0] * 488
    lengths = ("4k", "8k", "16k", "32k", "64k", "128k")
    a = results(**{f"vt_{length}": [1.0] * 500 for length in lengths})
    b = results("b", **{f"vt_{length}": [1.0] * 500 for length in lengths})
    change_column(b, "score", "vt_4k", scores)
    several = compare(a, b)["lengths"]["4k"]
    one = compare(results(vt_4k=[1.0] * 500), results("b", vt_4k=scores))["lengths"]["4k"]
    assert several["interval"] == one["interval"]
    assert (one["better"], several["better"]) == ("a", None)


def test_no_figure_in_points_is_beyond_100():
    tie = compare(results(vt_4k=[1.0] * 3), results(vt_4k=[1.0] * 3))["all"]
    assert tie["detectable"] <= 100
    assert -100 <= tie["interval"][0] < 0 < tie["interval"][1] <= 100


def test_the_verdict_and_the_decision_show_one_interval(tmp_path):
    paths = []
    for name, lost in (("base", 0), ("quantised", 6)):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(whole_results(results(name, vt_4k=[0.0] * lost + [1.0] * 494))))
        paths.append(path)
    stdout, _, _ = ruler("compare", *paths, "--max-drop", 1.5)
    shown = re.findall(r"\[[^\]]+\]", " ".join(stdout.split("A: base,")[0].split()))
    assert len(shown) == 2
    assert len(set(shown)) == 1


def test_a_task_lost_at_one_length_is_named_and_may_have_a_margin():
    lengths = ("4k", "8k", "16k", "32k", "64k", "128k")
    names = [f"task{task}_{length}" for task in range(13) for length in lengths]
    a = results(**{name: [1.0] * 500 for name in names})
    b = results("b", **{**{name: [1.0] * 500 for name in names}, "task3_64k": [0.0] * 500})
    compared = compare(a, b)
    assert decision(compared, 2)["verdict"] == "smaller"  # 1.28 points of the mean
    decided = decision(compared, 2, 5)
    assert (decided["mean"], decided["tasks"], decided["verdict"]) == (
        "smaller",
        "larger",
        "larger",
    )
    text = " ".join(comparison_verdict({**compared, "decision": decided}))
    assert "--max-task-drop 5: at least one lost more (97.5 % confidence)." in text
    assert "Largest loss of a configuration: task3_64k, 100.0 points [" in text
    same = compare(a, a)
    assert decision(same, 2, 5)["verdict"] == "smaller"
    assert decision(same, 2, 1)["tasks"] == "unknown"


def test_a_row_keeps_its_lengths_together():
    """The same rows fail at both lengths: two lengths then know no more than one."""
    rng = np.random.default_rng(0)
    a, zero = (rng.random(200) < 0.5).astype(float), np.zeros(200)
    comparison = compare(results(vt_4k=a, vt_8k=a), results(vt_4k=zero, vt_8k=zero))
    alone, both = comparison["configurations"]["vt_4k"], comparison["all"]
    assert both["interval"] == pytest.approx(alone["interval"])
    apart = compare(results(vt_4k=a, cwe_4k=a), results(vt_4k=zero, cwe_4k=zero))["all"]
    assert np.ptp(apart["interval"]) < 0.8 * np.ptp(both["interval"])


def test_only_common_rows_of_the_same_data_by_the_same_rules_are_compared():
    a = results(vt_4k=[1, 1, 1], cwe_4k=[1])
    comparison = compare(a, results(vt_4k=[0]))
    assert list(comparison["configurations"]) == ["vt_4k"]
    assert comparison["configurations"]["vt_4k"]["n"] == 1
    with pytest.raises(RulerError, match="share no rows"):
        compare(a, results(fwe_4k=[1]))
    first, second = ({"vt_4k": digest} for digest in "12")
    with pytest.raises(RulerError, match="different rows"):
        compare(results(digests=first, vt_4k=[1]), results(digests=second, vt_4k=[1]))
    with pytest.raises(RulerError, match="differ in rules"):
        compare(a, {**a, "rules": {"truncated": "wrong"}})


def test_the_command_compares_two_runs(write_run, tmp_path):
    def worse(config, row):
        return "" if row["index"] < 3 else right(config, row)

    for run in (write_run(right, "good"), write_run(worse, "bad")):
        ruler_output("score", run)
    out = tmp_path / "compared.json"
    good, bad = tmp_path / "good", tmp_path / "bad/results.json"
    stdout = ruler_output("compare", good, bad, "--out", out)
    assert stdout.startswith("good (A) leads bad (B) by 60.0 points over 26 configurations")
    assert "\nA: good, custom rows: " in stdout
    assert "\nB: bad, custom rows: " in stdout
    line, _ = [line for line in stdout.splitlines() if line.startswith("mean over all")]
    assert "+60.0" in line
    assert json.loads(out.read_text())["all"]["difference"] == pytest.approx(60)


def scored_alone(tmp_path, name, lines):
    """The results.json of one reference-code file that holds its own prompts and references."""
    path = tmp_path / name / "4096/pred/vt.jsonl"
    write_lines(path, *lines)
    out = tmp_path / f"{name}.json"
    ruler_output("score", path, "--out", out, "--name", name)
    return out


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"outputs": ["C"]}, "another reference in A than in B"),
        ({"input": "Another prompt."}, "another prompt in A than in B"),
    ],
)
def test_two_models_that_were_asked_differently_are_not_paired(tmp_path, changed, words):
    lines = [{"index": i, "pred": "A", "input": f"Ask {i}.", "outputs": ["A"]} for i in range(4)]
    a = scored_alone(tmp_path, "a", lines)
    same = scored_alone(tmp_path, "same", lines)
    second = scored_alone(tmp_path, "other", [*lines[:3], {**lines[3], **changed}])
    ruler_output("compare", a, same)
    assert f"Row 3 of 'vt_4k' has {words} (1 rows differ)" in ruler_error("compare", a, second)


def test_settings_that_differ_are_named_in_one_line():
    a, b = results(vt_4k=[1.0] * 20), results("b", vt_4k=[1.0] * 20)
    common = {"backend": "vllm", "model": "m", "sessions": [{}], "revision": None}
    a["run"] = {**common, "sampling": {"temperature": 0.0, "seed": 0}, "mode": "prefill"}
    b["run"] = {**common, "model": "n", "sampling": {"temperature": 0.6, "seed": 0}}
    b["run"] |= {"mode": "prefill", "engine": {"kv_cache_dtype": "fp8"}}
    comparison = compare(a, b)
    assert comparison["settings"] == {
        "sampling.temperature": ["0.0", "0.6"],
        "engine.kv_cache_dtype": ["not recorded", "fp8"],
    }
    text = comparison_text(comparison, a, b)
    assert "Settings that differ: sampling.temperature 0.0 / 0.6; engine" in text
    b["run"]["server"] = {f"field {number}": number for number in range(60)}
    text = " ".join(comparison_text(compare(a, b), a, b).split())
    assert (
        "differ: sampling.temperature 0.0 / 0.6; 61 that only one of them records (--json" in text
    )
    assert compare(a, a)["settings"] == {}
    del b["run"]["backend"]  # not a run.json of this project
    assert compare(a, b)["settings"] == {}
