"""Every scoring rule of the metric, and the metric as `evaluate` loads it."""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.ruler_score import ruler_score as rules
from eval.ruler_score.ruler_score import score_row

ROOT = Path(__file__).parents[2]
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


def test_the_share_of_references_that_stand_in_the_prediction_is_the_score():
    assert score_row("abc DEF", ["ABC", "def", "ghi", "j"], "vt").score == 0.5


def test_without_a_task_every_reference_counts():
    assert score_row("a b", ["a", "x"]).score == 0.5


def test_control_characters_split_a_reference_as_in_the_reference_code():
    assert score_row("12\x0034", ["1234"]).score == 0
    assert rules.postprocess("\x00 a\tb \n") == "a\nb"


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
def test_strict_wants_all_and_nothing_else_of_the_kind(task, prediction, references, strict):
    references = references or ["c0ffee00-0000-4000-8000-000000000001"]
    assert score_row(prediction, references, task).strict == strict


@given(st.text(max_size=80), st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5))
def test_scores_lie_between_0_and_1_and_strict_is_never_above(prediction, references):
    for task in rules.RULER_TASKS:
        row = score_row(prediction, references, task)
        assert 0 <= row.strict <= row.score <= 1
        assert 0 <= row.found <= len(references)


# ---- Thinking --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prediction", "answer", "state"),
    [
        ("plain", "plain", "none"),
        ("a < b [1]", "a < b [1]", "none"),
        ("<think>no 1</think>yes", "yes", "ended"),
        ("<think>a</think>b<think>c</think>d", "bd", "ended"),
        ("the prompt opened it</think> yes", " yes", "ended"),
        ("<think>never ended 1234567", "", "cut"),
        ("yes <think>and then", "yes ", "cut"),
        ("[THINK]x[/THINK]y", "y", "ended"),
        ("<seed:think>x</seed:think>y", "y", "ended"),
        ("<think>a <think> b</think> c", " c", "ended"),
        ("<think></think>\n\n5", "\n\n5", "ended"),
    ],
)
def test_a_thought_is_taken_out_whole_opened_in_the_prompt_or_never_ended(
    prediction, answer, state
):
    assert rules.strip_thinking(prediction) == (answer, state)


def test_what_was_thought_scores_nothing(metric):
    result = metric.compute(
        predictions=["<think>1234567", "<think>1234567</think>no", "1234567"],
        references=[[NUMBER]] * 3,
    )
    assert result["score"] == pytest.approx(100 / 3)
    assert (result["thinking"], result["thinking_cut"]) == (2, 1)


# ---- ONERULER --------------------------------------------------------------------------------


def tagged(language: str, text: str, tag: str | None = None) -> str:
    tag = tag or rules.ANSWER_TAGS[language]
    return f"<{tag}> {text} </{tag}>"


LANGUAGES = pytest.mark.parametrize("language", sorted(rules.ANSWER_TAGS))


@LANGUAGES
def test_numbers_are_right_when_they_are_exactly_the_references(language):
    def score(text, references=(NUMBER, OTHER), task="niah_multivalue"):
        return score_row(text, list(references), task, language).score

    none = rules.NONE_WORDS[language][0]
    assert score(tagged(language, f"{OTHER}, {NUMBER}")) == 1
    assert score(tagged(language, f"{OTHER} {NUMBER}", "answer")) == 1
    assert score(f"{NUMBER}\n{OTHER}") == 1
    assert score(tagged(language, NUMBER)) == 0
    assert score(tagged(language, f"{NUMBER} {OTHER} 55")) == 0
    assert score(tagged(language, f"1. {NUMBER} 2. {OTHER}")) == 1
    assert score(tagged(language, f"{NUMBER} {OTHER} {none}")) == 0
    assert score(tagged(language, none)) == 0
    assert score("") == 0


@LANGUAGES
def test_the_none_word_is_right_where_there_is_no_answer(language):
    for none in rules.NONE_WORDS[language]:

        def score(text, none=none):
            return score_row(text, [none], "niah_none", language).score

        assert score(tagged(language, none)) == 1
        assert score(tagged(language, f"„{none.upper()}”.")) == 1
        assert score(tagged(language, f"«{none}»", "ANSWER")) == 1
        assert score(f"\u200b{none}\ufeff") == 1
        assert score(tagged(language, f"{none} {NUMBER}")) == 0
        assert score(tagged(language, NUMBER)) == 0
        assert score(tagged(language, f"x{none}x")) == 0


@LANGUAGES
def test_only_the_last_answer_counts_and_what_stands_outside_it_does_not(language):
    format_shown = tagged(language, "List all numbers here 99")
    text = f"{format_shown}\nIt is 42.\n{tagged(language, NUMBER)}\n(see page 77)"
    assert score_row(text, [NUMBER], "niah_single", language).score == 1


@LANGUAGES
def test_ten_words_and_nothing_else(language):
    words = [f"słowo{letter}" for letter in "abcdefghi"] + ["two parts"]

    def row(text):
        return score_row(text, words, "cwe_easy", language)

    last = rules.AND[language].split()[0]
    assert row(tagged(language, ", ".join(words))).score == 1
    assert row(tagged(language, "、".join(words))).score == 1
    assert row(tagged(language, "\n".join(f"{i}. {w}" for i, w in enumerate(words, 1)))).score == 1
    assert row(tagged(language, " ".join(words).upper())).score == 1
    assert row(tagged(language, f"{', '.join(words[:-1])} {last} {words[-1]}")).score == 1
    assert row(tagged(language, ", ".join([*words, "jedenáste"]))).score == 0
    assert row(tagged(language, ", ".join(words[:9]))) == rules.RowScore(0, 0, "none", 9)


def test_the_words_the_published_prompts_put_into_the_tag_are_no_answer():
    words = ["nhà", "trả lời", "núi"]
    lead = "Câu trả lời: 10 từ xuất hiện nhiều nhất trong danh sách là"
    assert score_row(tagged("vi", f"{lead} {', '.join(words)}"), words, "cwe_hard", "vi").score == 1
    lead = "答案：列表中最常出现的十个词语是"
    assert score_row(tagged("zh", f"{lead}天、地、人"), list("天地人"), "cwe_easy", "zh").score == 1


@pytest.mark.parametrize(
    "written",
    [
        "１２３４５６７",  # full width
        "١٢٣٤٥٦٧",  # Arabic-Indic
        "۱۲۳۴۵۶۷",  # Persian
        "१२३४५६७",  # Devanagari
        "௧௨௩௪௫௬௭",  # Tamil
        "123\u200b4567",
        "1,234,567",
        "1.234.567",
        "1\u202f234\u202f567",
    ],
)
def test_digits_of_every_script_are_read(written):
    for language in ("en", "fa", "hi", "ta", "ja"):
        answer = tagged(language, written)
        assert score_row(answer, [NUMBER], "niah_single", language).score == 1


def test_a_persian_none_word_may_have_a_space_or_a_joiner_or_arabic_letters():
    for written in ("هیچ کدام", "هیچ‌کدام", "هیچکدام", "هيچ كدام"):
        assert score_row(tagged("fa", written), ["هیچ کدام"], "niah_none", "fa").score == 1


def test_a_none_word_inside_another_word_is_none():
    assert score_row("<Ответ>планета 1234567</Ответ>", [NUMBER], "niah_single", "ru").score == 1
    assert score_row("<Ответ>планета</Ответ>", ["нет"], "niah_none", "ru").score == 0
    assert score_row("<答案>无法找到</答案>", ["无"], "niah_none", "zh").score == 0
    assert score_row("<答案>答案是无。</答案>", ["无"], "niah_none", "zh").score == 1
    assert score_row("<답변>없음입니다.</답변>", ["없음"], "niah_none", "ko").score == 1
    assert score_row("<答え>おはなし</答え>", ["なし"], "niah_none", "ja").score == 0


def test_the_rows_own_none_word_is_accepted_beside_the_languages():
    assert score_row("nada", ["nada"], "niah_none", "es", "nada").score == 1


def test_a_tag_may_be_full_width_spaced_or_never_closed():
    assert score_row("＜答案＞1234567＜/答案＞ 99", [NUMBER], "niah_single", "zh").score == 1
    spaced = "< Câu  trả lời >1234567</ Câu trả lời>99"
    assert score_row(spaced, [NUMBER], "niah_single", "vi").score == 1
    assert score_row("99 <Answer>1234567", [NUMBER], "niah_single", "en").score == 0
    assert score_row("<Answer>1234567", [NUMBER], "niah_single", "en").score == 1


def test_a_task_of_both_benchmarks_is_rulers_unless_a_language_is_given():
    assert score_row("1234567 99", [NUMBER, OTHER], "niah_multivalue").score == 0.5
    assert score_row("1234567 99", [NUMBER, OTHER], "niah_multivalue", "en").score == 0


# ---- The authors' script ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prediction", "references", "task", "language", "authors", "ours"),
    [
        ("<Ответ>1234567 планета</Ответ>", [NUMBER], "niah_single", "ru", 0, 1),
        ("none, but 1234567", ["none"], "niah_none", "en", 1, 0),
        ("nonexistent", ["none"], "niah_none", "en", 1, 0),
        ("<Antwort>1234567</Antwort> S. 42", [NUMBER], "niah_single", "de", 0, 1),
        ("<Answer>1234567</Answer> S. 42", [NUMBER], "niah_single", "de", 1, 1),
        ("<Answer>1234567</Answer>, not 1111111", [NUMBER], "niah_single", "en", 1, 1),
        ("a, b, c and more", ["a", "b", "c"], "cwe_easy", "en", 1, 0),
        ("a, b, c", ["a", "b", "c"], "cwe_easy", "en", 1, 1),
        ("۱۲۳۴۵۶۷", [NUMBER], "niah_single", "fa", 1, 1),
        ("5", [NUMBER], "niah_single", "fa", 0, 0),
        ("هیچ‌کدام", ["هیچ کدام"], "niah_none", "fa", 1, 1),
    ],
)
def test_compat_authors_reproduces_the_published_script(
    prediction, references, task, language, authors, ours
):
    row = score_row(prediction, references, task, language, compat="authors")
    assert (row.score, row.strict) == (authors, ours)


def test_compat_authors_drops_cut_answers_from_the_denominator():
    result = rules.compute(
        ["<think>…", "1234567"], [[NUMBER]] * 2, "niah_single", ["en"] * 2, compat="authors"
    )
    assert (result["score"], result["n"], result["dropped"]) == (100, 1, 1)


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
        ({"predictions": ["a"], "references": [["a"], ["b"]]}, "1 predictions, 2 references"),
        ({"predictions": "a", "references": [["a"]]}, "predictions must be a list"),
        ({"predictions": [1], "references": [["a"]]}, r"predictions\[0\] is no string"),
        ({"predictions": ["a"], "references": [[]]}, r"references\[0\] must hold one"),
        ({"predictions": ["a"], "references": [["a"]], "tasks": "vtt"}, "Unknown task 'vtt'"),
        ({"predictions": ["a"], "references": [["a"]], "tasks": ["vt"] * 2}, "tasks has 2 items"),
        ({"predictions": ["a"], "references": [["a"]], "languages": ["xx"]}, "Unknown language"),
        ({"predictions": ["a"], "references": [["a"]], "languages": "en"}, "languages is a string"),
        ({"predictions": ["a"], "references": [["a"]], "compat": "theirs"}, "Unknown compat"),
    ],
)
def test_bad_input_is_refused_in_one_sentence_and_leaves_nothing_behind(metric, inputs, words):
    with pytest.raises(ValueError, match=words) as error:
        metric.compute(**inputs)
    assert "\n" not in str(error.value)
    assert metric.compute(predictions=["a"], references=[["a"]])["n"] == 1


def test_no_rows_give_nan_and_a_warning(metric):
    with pytest.warns(UserWarning, match="No rows"):
        assert math.isnan(metric.compute(predictions=[], references=[])["score"])


def test_rows_can_be_added_in_batches_and_a_failed_one_is_empty(metric):
    metric.add_batch(predictions=["a", None], references=[["a"], ["b"]])
    assert metric.compute(tasks=["vt", "vt"])["score"] == 50


def test_it_combines_with_other_metrics():
    import evaluate

    path = str(ROOT / "eval/ruler_score")
    both = evaluate.combine({"one": evaluate.load(path), "two": evaluate.load(path)})
    assert both.compute(predictions=["a"], references=[["a"]])["one_score"] == 100


def test_39000_rows_take_less_than_3_seconds(metric):
    rows = 39_000
    numbers = [[str(1_000_000 + 7 * row + i) for i in range(4)] for row in range(rows)]
    predictions = [f" the magic numbers are {', '.join(values)}." * 4 for values in numbers]
    start = time.process_time()
    result = metric.compute(predictions=predictions, references=numbers, tasks="niah_multivalue")
    assert result["score"] == 100
    assert time.process_time() - start < 3


def test_the_rules_load_without_evaluate_and_its_seconds():
    code = "import sys, eval.ruler_score.ruler_score; print('datasets' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert found.stdout.strip() == "False", found.stderr


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
