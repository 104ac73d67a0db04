"""Custom suites, and invalid ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ruler_builder.tasks.registry import Suite, read_suite
from ruler_common.errors import RulerError
from ruler_common.names import GROUPS
from tests.builder.tasks.row_reading import custom_task, task_of
from tests.in_process import ruler_output
from tests.project import ROOT

ENOUGH = re.compile(r"give the task max_new_tokens = (\d+) in a custom suite")


def suite_of(folder: Path, toml: str) -> Suite:
    path = folder / "suite.toml"
    path.write_text(toml, encoding="utf-8")
    return read_suite(path)


def refusal_of(folder: Path, toml: str) -> str:
    with pytest.raises(RulerError) as refusal:
        suite_of(folder, toml)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_a_custom_suite_defines_tasks_and_groups(tmp_path):
    suite = suite_of(
        tmp_path,
        '[tasks.chains]\nfamily = "variable_tracking"\nchains = 3\nhops = 2\n'
        '[tasks.brief]\nfamily = "question_answering"\nmax_new_tokens = 8\n'
        '[groups]\nmine = ["brief", "chains"]\n',
    )
    assert suite.names.expand("mine") == ("brief", "chains")
    assert suite.names.expand("all") == suite.names.tasks == ("chains", "brief")
    assert suite.names.parse("chains_4k").max_length == 4096
    assert suite.params["brief"].max_new_tokens == 8
    assert suite.described()["chains"] == {
        "family": "variable_tracking",
        "max_new_tokens": 30,
        "chains": 3,
        "hops": 2,
    }


def test_a_custom_suite_extends_the_suite_of_its_dataset(tmp_path):
    vt = '[tasks.vt]\nfamily = "variable_tracking"\nchains = 2\nhops = 2\n'
    niah = '[tasks.niah_words]\nfamily = "niah"\nhaystack = "essay"\nvalue_type = "words"\n'
    suite, usual = suite_of(tmp_path, f'extends = "ruler"\n{vt}{niah}'), read_suite("ruler")
    changed = {"vt", "niah_words"}
    assert list(suite.params) == [*usual.params, "niah_words"]
    for task in usual.params.keys() - changed:
        assert suite.params[task] == usual.params[task]
    assert (suite.described()["vt"]["chains"], suite.described()["vt"]["hops"]) == (2, 2)
    assert suite.names.expand("niah") == usual.names.expand("niah")
    assert "niah_words" in suite.names.expand("all")


@pytest.mark.parametrize("dataset", ["ruler", "oneruler"])
def test_all_means_the_benchmarks_tasks_in_a_suite_that_adds_none(tmp_path, dataset):
    suite = suite_of(tmp_path, f'dataset = "{dataset}"\nextends = "{dataset}"\n')
    assert suite.names.expand("all") == GROUPS[dataset]["all"]


def test_the_suite_in_the_guide_is_built_as_it_says(tmp_path):
    guide = (ROOT / "docs/build.md").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(guide.partition("```toml\n")[2].partition("```")[0])
    command = ("build", "out", "--suite", "mine.toml", "--tasks", "mine,qa_1", "--lengths", "all")
    printed = ruler_output(*command, "--rows", "1", "--sources", "embedded", "--yes", cwd=tmp_path)
    for task in ("vt", "niah_words", "qa_1"):
        assert f"{task}_4k" in printed
        assert f"{task}_16k" in printed


def test_a_custom_suite_can_reword_a_family(embedded, tmp_path):
    suite = suite_of(
        tmp_path,
        '[families.question_answering]\nprefix = " A:"\n'
        '[tasks.short]\nfamily = "question_answering"\nmax_new_tokens = 5\n',
    )
    row = task_of(embedded, "short", "2k", suite).row(0).columns
    assert (row["answer_prefix"], row["max_new_tokens"]) == (" A:", 5)
    assert row["input"].startswith("Answer the question based on the given documents.")


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (custom_task("niah", haystak="noise"), "parameter of task 'mine': 'haystak'. Did you"),
        (custom_task("niah", haystack="grass"), "haystack must be one of noise, essay, needles"),
        (custom_task("niah", key_type="colours"), "key_type and value_type must be one of words"),
        (custom_task("niah", keys=0), "keys, values, queries start at 1"),
        (custom_task("niah", keys="4"), "Task 'mine': keys must be int, not '4'"),
        (custom_task("niah", keys=4.5), "keys must be int, not 4.5"),
        (custom_task("niah", keys=True), "keys must be int, not True"),
        (custom_task("niah", keys=2, queries=3), "queries cannot be more than keys"),
        (custom_task("niah", keys=9, values=5), "keys x values cannot be more than 40"),
        (custom_task("niah", max_new_tokens=0), "max_new_tokens must be at least 1"),
        (custom_task("variable_tracking", chains=0), "chains must be 1 to 100"),
        (custom_task("variable_tracking", hops=101), "hops must be 1 to 100"),
        (custom_task("common_words", num_cw=201), "num_cw must be 1 to 200"),
        (custom_task("common_words", freq_cw=3), "freq_cw must be greater than freq_ucw"),
        (custom_task("common_words", short_freq_ucw=6), "short_freq_cw must be greater than"),
        (custom_task("frequent_words", alpha=1.0), "alpha must be above 1"),
        (custom_task("frequent_words", words=11), "words must be 1 to 10"),
        (
            custom_task("question_answering", dataset="trivia"),
            "dataset must be one of squad",
        ),
        (custom_task("question_answering", documents=-1), "documents must be 1 or more, or 0"),
        (custom_task("needle"), "Unknown family 'needle'."),
        ("[tasks.mine]\nkeys = 2", "Task 'mine' names no family: add family ="),
        ("[tasks.mine]\nfamily = 3", "Unknown family '3'."),
        ('extends = "ruler"\n[tasks.vt]\nhops = 2', "'vt' names no family: add family"),
        ('extends = "ruler_2024"', "Unknown suite to extend 'ruler_2024'. Did you mean 'ruler'?"),
        ("tasks = 3", "tasks should be a valid dictionary"),
        ("[tasks]\nmine = 3", "tasks.mine should be a valid dictionary"),
        ("", "defines no task: add a table [tasks.NAME]"),
        ("[task.mine]\nkeys = 2", "Unknown suite key 'task'. Did you mean 'tasks'?"),
        (
            'dataset = "oneruler"\n[tasks.mine]\nfamily = "niah"',
            "Unknown family 'niah'. Known: multilingual_niah",
        ),
        ('[tasks.mine_4k]\nfamily = "niah"', "'mine_4k' cannot name a task: begin with a letter"),
        ('[tasks."../mine"]\nfamily = "niah"', "'../mine' cannot name a task: begin with a letter"),
        (custom_task("niah") + '\n[groups]\nall_of = ["yours"]', "in group 'all_of': 'yours'"),
        (
            custom_task("niah") + '\n[groups]\nall_of = "mine"',
            "groups.all_of should be a valid",
        ),
        (custom_task("niah") + '\n[groups]\nmine = ["mine"]', "names both a task and a group"),
        (custom_task("niah") + "\n[groups]\nnone = []", "The group 'none' has no task"),
        (custom_task("niah") + '\n[groups]\nMine = ["mine"]', "differ only in case"),
        (custom_task("niah") + '\n[groups]\nx = ["mine", "mine"]', "has 'mine' more than once"),
        (
            custom_task("niah") + "\n[families.nia]\nneedle = 3",
            "Unknown family 'nia'. Did you",
        ),
        (
            'extends = "ruler"\n[groups]\nqa = ["qa_1"]',
            "'qa' is a group of ruler, of qa_1, qa_2: give the group another name",
        ),
        ('extends = "ruler"\n[groups]\nall = ["vt", "cwe"]', "'all' is a group of ruler"),
        ("[tasks.mine", "is not valid TOML"),
    ],
)
def test_an_invalid_suite_is_refused_in_one_sentence(tmp_path, toml, message):
    assert message in refusal_of(tmp_path, toml)


def test_a_folder_named_like_a_suite_does_not_hide_the_suite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ruler").mkdir()  # as `ruler quickstart` makes it
    assert read_suite("ruler") == read_suite()


@pytest.mark.parametrize(
    ("toml", "needed"),
    [
        (custom_task("variable_tracking", chains=4, hops=12), range(45, 70)),
        (custom_task("niah", keys=8, values=4, queries=8, value_type="uuids"), range(700, 1200)),
        (custom_task("niah", max_new_tokens=8, value_type="uuids"), range(25, 40)),
        (custom_task("question_answering", max_new_tokens=1), range(2, 20)),
    ],
)
def test_too_few_tokens_for_an_answer_are_refused_with_the_number_that_is_enough(
    embedded, tmp_path, toml, needed
):
    def message_of(text: str) -> str:
        try:
            task_of(embedded, "mine", "4k", suite_of(tmp_path, text)).check_answers(40)
        except RulerError as error:
            return str(error)
        return ""

    number = int(ENOUGH.search(message_of(toml))[1])
    assert number in needed
    without = re.sub(r"\nmax_new_tokens = .*", "", toml)
    too_few = f"{without}\nmax_new_tokens = {number - 1}"
    assert int(ENOUGH.search(message_of(too_few))[1]) == number
    assert message_of(f"{without}\nmax_new_tokens = {number}") == ""


@pytest.mark.parametrize(
    ("wording", "message"),
    [
        (
            '[families.niah]\nneedle = "{types} {key} is {valeu}."',
            "must have {types}, {key}, {value}, each as often",
        ),
        ('[families.niah]\nneedle = "{types} {key:d} is {value}."', "not {types}, {key:d}"),
        ('[families.niah]\nneedle = "The {types} is {value}."', "not {types}, {value}."),
        ('[families.niah.one]\nquestion = "Which?"', "give a text for one of needle."),
        ('[families.niah]\nneedel = "{key}: {value}"', "'families.niah.needel' cannot be rewo"),
        (
            '[families.common_words]\ninput = "{question} {context}"',
            "must have {question} after {context}",
        ),
        ("[families.common_words]\nmax_new_tokens = 5", "give a text for one of input, question"),
        ('[families.common_words]\ninput = "no context"', "must have {context}, {question}, each"),
        ("[families.common_words]\nprefix = 7", "cannot be reworded: give a text"),
        ('[families.common_words]\nprefix = " {n"', "malformed"),
    ],
)
def test_an_invalid_template_is_refused(tmp_path, wording, message):
    assert message in refusal_of(tmp_path, f'[tasks.mine]\nfamily = "niah"\n{wording}\n')
