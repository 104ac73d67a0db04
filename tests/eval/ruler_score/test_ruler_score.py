"""Every scoring rule of RULER, and the metric as `evaluate` loads it."""

from __future__ import annotations

import importlib.util
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruler_score import language_text
from ruler_score import ruler_score as rules
from ruler_score.language_text import _OR_SLASH, _SPACES, listed_items
from ruler_score.ruler_rules import postprocess
from ruler_score.ruler_score import score_row

ROOT = Path(__file__).parents[3]
NUMBER, OTHER = "1234567", "7654321"


@pytest.fixture(scope="module")
def metric():
    os.environ["HF_HUB_OFFLINE"] = "1"
    import evaluate

    return evaluate.load(str(ROOT / "eval/ruler_score"))


def cases_on_the_hub():
    spec = importlib.util.spec_from_file_location("cases", ROOT / "eval/ruler_score/tests.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.test_cases


# ---- RULER -----------------------------------------------------------------------------------


LISTS = st.text(alphabet="ab1 2.\n\t,;:()&-…'•、\u00a0\r\x0b|éا٣*/", max_size=40)


@settings(max_examples=300)
@given(LISTS, st.sampled_from(["", " (30 times)", "\n2) ", "...", "and b", " 1. a 2. b"]))
def test_the_quick_ways_of_reading_a_list_find_what_the_whole_ones_do(text, more):
    text += more + text[:7]
    assert _SPACES.sub(" ", text) == re.sub(r"[^\S\n]+", " ", text)
    quick = listed_items(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language_text, "_SEPARATOR", _OR_SLASH)
        patch.setattr(language_text, "_MAY_BE_NUMBERED", re.compile(""))
        assert listed_items(text) == quick


def test_the_score_is_the_share_of_references_in_the_prediction():
    assert score_row("abc DEF", ["ABC", "def", "ghi", "j"], "vt").score == 0.5


def test_control_characters_split_a_reference_as_in_the_reference_code():
    assert score_row("12\x0034", ["1234"]).score == 0
    assert postprocess("\x00 a\tb \n") == "a\nb"


def test_one_annotators_answer_is_enough_in_qa():
    assert score_row("in Paris, France", ["Paris", "the city of Paris"], "qa_1").score == 1
    assert score_row("in Paris", ["Paris", "the city of Paris"], "cwe").score == 0.5


def test_no_in_not_is_right_by_the_reference_rule_and_wrong_as_a_whole_word():
    row = score_row("It is not known", ["no"], "qa_2")
    assert (row.score, row.strict) == (1, 0)
    assert score_row("No, never", ["no"], "qa_2").strict == 1


@pytest.mark.parametrize(
    ("task", "prediction", "references", "strict"),
    [
        ("niah_single_1", " 1234567.", [NUMBER], 1),
        ("niah_single_1", "1234567 or 7654321", [NUMBER], 0),
        ("niah_single_1", "1. 1234567", [NUMBER], 1),
        ("niah_multivalue", "1234567, 7654321", [NUMBER, OTHER], 1),
        ("niah_multivalue", "1234567", [NUMBER, OTHER], 0),
        ("niah_single_3", "c0ffee00-0000-4000-8000-000000000001", None, 1),
        (
            "niah_single_3",
            "c0ffee00-0000-4000-8000-000000000001 c0ffee00-0000-4000-8000-000000000002",
            None,
            0,
        ),
        ("vt", "ABCDE FGHIJ", ["ABCDE", "FGHIJ"], 1),
        ("vt", "ABCDE, FGHIJ and KLMNO", ["ABCDE", "FGHIJ"], 0),
        ("vt", "VAR ABCDE = 12345, VAR FGHIJ", ["ABCDE", "FGHIJ"], 1),
        ("cwe", "1. pear 2. plum 3. fig", ["plum", "pear", "fig"], 1),
        ("cwe", "1. pear 2. plum 3. fig 4. nut", ["plum", "pear", "fig"], 0),
        ("cwe", "The top words are: pear, plum, and fig.", ["plum", "pear", "fig"], 1),
        ("fwe", "qzjwkd xwlupe abcdef", ["qzjwkd", "xwlupe", "abcdef"], 1),
        ("fwe", "1. ... 2. qzjwkd 3. xwlupe 4. abcdef", ["qzjwkd", "xwlupe", "abcdef"], 0),
        ("fwe", "**qzjwkd**\n**xwlupe**\n**abcdef**", ["qzjwkd", "xwlupe", "abcdef"], 1),
    ],
)
def test_strict_requires_all_references_and_nothing_else_of_their_kind(
    task, prediction, references, strict
):
    references = references or ["c0ffee00-0000-4000-8000-000000000001"]
    assert score_row(prediction, references, task).strict == strict


@given(st.text(max_size=80), st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5))
def test_scores_lie_between_0_and_1_and_strict_is_never_above(prediction, references):
    for task in rules.RULER_TASKS:
        row = score_row(prediction, references, task)
        assert 0 <= row.strict <= row.score <= 1
        assert 0 <= row.found <= len(references)


# ---- Reasoning -------------------------------------------------------------------------------


def test_text_in_the_reasoning_does_not_count(metric):
    result = metric.compute(
        predictions=["<think>1234567", "<think>1234567</think>no", "1234567"],
        references=[[NUMBER]] * 3,
    )
    assert result["score"] == pytest.approx(100 / 3)
    assert (result["thinking"], result["thinking_truncated"]) == (2, 1)


# ---- The metric ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases_on_the_hub())
def test_the_cases_of_the_hub_module_hold(metric, case):
    inputs = {name: value for name, value in case.items() if name != "result"}
    result = metric.compute(**inputs)
    assert {name: result[name] for name in case["result"]} == case["result"]


def test_mixed_tasks_are_averaged_as_tasks_and_reported_one_by_one(metric):
    result = metric.compute(
        predictions=["a", "a", "x"], references=[["a"]] * 3, tasks=["vt", "vt", "qa_1"]
    )
    assert (result["score"], result["n"]) == (50, 3)
    assert result["per_task"]["vt"]["score"] == 100
    assert result["per_task"]["qa_1"]["n"] == 1


def test_both_benchmarks_fit_into_one_call(metric):
    result = metric.compute(
        predictions=["1234567 1", "brak"],
        references=[[NUMBER], ["brak"]],
        tasks=["niah_single_1", "niah_none"],
        languages=[None, "pl"],
        none_words=[None, "brak"],
    )
    assert result["score"] == 100


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"predictions": ["a"], "references": ["a"]}, r"references\[0\] must be a list"),
        (
            {"predictions": ["a"], "references": [["a"], ["b"]]},
            "predictions has 1 items and references 2",
        ),
        ({"predictions": "a", "references": [["a"]]}, "predictions must be a list"),
        ({"predictions": {"a": "b"}, "references": [["a"]]}, "predictions must be a list"),
        ({"predictions": ["a"], "references": {"a": ["b"]}}, "references must be a list"),
        (
            {"predictions": ["text"], "references": [{"text": ["a"], "answer_start": [0]}]},
            r"references\[0\] must be a list",
        ),
        ({"predictions": ["a"], "references": [["['a', 'b']"]]}, "has the text of a list"),
        ({"predictions": [1], "references": [["a"]]}, r"predictions\[0\] is not a string"),
        ({"predictions": ["a"], "references": [[]]}, r"references\[0\] must have at least one"),
        (
            {"predictions": ["a"], "references": [["b", " "]]},
            r"references\[0\] has an empty string, which every answer contains",
        ),
        ({"predictions": ["a"], "references": [["a"]], "tasks": "vtt"}, "Unknown task 'vtt'"),
        ({"predictions": ["a"], "references": [["a"]], "tasks": ["vt"] * 2}, "tasks has 2 items"),
        ({"predictions": ["a"], "references": [["a"]], "languages": ["xx"]}, "Unknown language"),
        ({"predictions": ["a"], "references": [["a"]], "languages": "en"}, "languages is a string"),
        ({"predictions": ["a"], "references": [["a"]], "compat": "theirs"}, "Unknown compat"),
        (
            {"predictions": ["a", None], "references": [["a"]] * 2},
            r"predictions\[1\] is None: use",
        ),
        ({"predictions": [None], "references": [["a"]]}, r"predictions\[0\] is None: use"),
        (
            {"predictions": ["a"], "references": [["a"]], "languages": [float("nan")]},
            r"languages\[0\] is nan: pass a string, or None",
        ),
        (
            {"predictions": ["a"], "references": [["a"]], "tasks": "niah_none"},
            "niah_none is a task of ONERULER: add languages=",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence_and_leaves_nothing_behind(metric, inputs, words):
    with pytest.raises(ValueError, match=words) as error:
        metric.compute(**inputs)
    assert "\n" not in str(error.value)
    assert metric.compute(predictions=["a"], references=[["a"]])["n"] == 1


def test_the_authors_leave_out_an_answer_that_is_none_in_any_row(metric):
    result = metric.compute(
        predictions=[None, "12"],
        references=[["12"]] * 2,
        tasks="niah_single",
        languages=["en", "en"],
        compat="authors",
        model=None,
    )
    assert (result["n"], result["dropped"], result["score"]) == (1, 1, 100)


def test_no_rows_give_nan_and_a_warning(metric):
    with pytest.warns(UserWarning, match="No rows"):
        assert math.isnan(metric.compute(predictions=[], references=[])["score"])


def test_rows_can_be_added_in_batches_and_a_failed_one_is_empty(metric):
    metric.add_batch(predictions=["a", ""], references=[["a"], ["b"]])
    assert metric.compute(tasks=["vt", "vt"])["score"] == 50


def test_rows_can_be_added_one_by_one_and_need_a_list_of_references(metric):
    with pytest.raises(ValueError, match=r"references\[0\] must be a list"):
        metric.add(prediction="It is 7", reference="1234567")  # not the letters of the text
    metric.add(prediction="It is 7", reference=["1234567"])
    assert metric.compute()["score"] == 0


def test_a_filtered_column_of_pandas_is_read(metric):
    import pandas as pd

    table = pd.DataFrame({"text": ["x", "a"], "outputs": [["y"], ["a"]]})
    row = table[table.text == "a"]
    assert metric.compute(predictions=row.text, references=row.outputs)["score"] == 100


def test_the_rules_load_without_evaluate_and_its_seconds():
    code = "import sys, ruler_score.ruler_score; print('datasets' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.stdout.strip() == "False", result.stderr


def test_the_readme_example_holds(metric):
    result = metric.compute(
        predictions=["It is 1234567."], references=[[NUMBER]], tasks="niah_single_1"
    )
    text = (ROOT / "eval/ruler_score/README.md").read_text(encoding="utf-8")
    assert f"# {result}" in text


def test_the_examples_of_its_documentation_hold(metric, monkeypatch):
    import doctest

    monkeypatch.chdir(ROOT)
    examples = doctest.DocTestParser().get_doctest(metric.inputs_description, {}, "usage", None, 0)
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0
