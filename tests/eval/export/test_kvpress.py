"""The kvpress view: its three texts are the prompt, and its data set loads as kvpress loads it."""

from __future__ import annotations

import re

import pytest

from ruler_common.names import TASKS
from ruler_eval.export.row_files import KVPRESS_COLUMNS, RELEASE_COLUMNS, kvpress_view
from tests.eval.scoring_helpers import write_oneruler
from tests.in_process import ruler_output

QUESTIONS = {
    "niah": r"What (is|are all) the special magic \w+ for .+ mentioned in the provided text\? ",
    "vt": r"Question: Find all variables that are assigned the value \d+ in the text above\. ",
    "cwe": r"Question: What are the 10 most common words in the above list\? ",
    "fwe": r"Question: Do not provide any explanation\. .+ in the above coded text\? ",
    "qa": r"Answer the question based on .+ other words\.\n\nQuestion: .+ ",
}
"""Where kvpress's data set cuts the prompts of the reference code."""


@pytest.fixture(scope="module")
def exported(built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kvpress") / "ruler-kvpress"
    out = ruler_output("export", built, "--format", "kvpress", "--to", folder)
    assert "--data_dir 8192" in out
    return folder


def views(release, length="4k"):
    for task in TASKS["ruler"]:
        for row in release.rows(f"{task}_{length}", RELEASE_COLUMNS):
            yield row, kvpress_view(row)


def test_the_three_texts_are_the_prompt_to_the_character(frozen):
    for row, view in views(frozen):
        text = view["context"] + view["question"] + view["answer_prefix"]
        assert text == row["input"] + row["answer_prefix"]


def test_the_question_begins_where_kvpress_cuts_the_reference_codes_prompts(frozen):
    for row, view in views(frozen):
        assert re.fullmatch(QUESTIONS[row["task"].split("_")[0]], view["question"])
        assert not view["answer_prefix"].startswith(" ")
        assert view["context"].endswith((".\n", "\n", "\n\n"))


@pytest.mark.parametrize("how", [{"name": "4096"}, {"data_dir": "4096"}])
def test_the_folder_loads_as_evaluate_py_loads_its_data_set(exported, frozen, how):
    from datasets import load_dataset

    result = load_dataset(str(exported), split="test", **how)
    assert result.column_names == list(KVPRESS_COLUMNS)
    assert result.to_list() == [view for _, view in views(frozen)]


def test_a_language_of_oneruler_is_a_configuration(tmp_path):
    from datasets import load_dataset

    release = write_oneruler(tmp_path / "oneruler")
    arguments = ["--format", "kvpress", "--to", tmp_path / "out"]
    ruler_output("export", release, *arguments)
    result = load_dataset(str(tmp_path / "out"), "8000-en-ko", split="test")
    assert set(result["task"]) == {"niah_single", "niah_multivalue", "niah_none", "cwe_easy"}
    assert set(result["answer_prefix"]) == {""}
    assert "ruler score" in (tmp_path / "out/README.md").read_text(encoding="utf-8")
