"""Answers that hold their prompt: it is cut off and the notes say so, or the file is refused."""

from __future__ import annotations

import json
import re

import pytest

from ruler_common.errors import RulerError
from ruler_eval.score.results import load
from tests.eval.scoring_helpers import column, read, record, write_lines
from tests.in_process import ruler, ruler_output

COLUMNS = ("index", "input", "answer_prefix", "outputs")
CONFIG = "niah_single_2_4k"
ANSWERS = {
    "raw text": lambda row, text: row["input"] + row["answer_prefix"] + text,
    "without the answer prefix": lambda row, text: row["input"] + text,
    "a chat template": lambda row, text: (
        f"<s>[INST] You are helpful.\n\n{row['input']} [/INST]{row['answer_prefix']}{text}</s>"
    ),
    "a template without its marks": lambda row, text: (
        f"system\nYou are helpful.\nuser\n{row['input']}\nassistant\n{row['answer_prefix']}{text}"
    ),
    "other white space": lambda row, text: " ".join((row["input"] + " " + text).split()),
}


@pytest.fixture
def rows(frozen):
    return list(frozen.rows(CONFIG, COLUMNS))


def score(path, tmp_path, *arguments):
    out = tmp_path / "r.json"
    stdout = ruler_output("score", path, "--out", out, *arguments)
    return column(load(out), "score", CONFIG), " ".join(stdout.split())


@pytest.mark.parametrize("form", ANSWERS)
def test_the_prompts_of_the_release_are_cut_off(form, rows, built, tmp_path):
    lines = []
    for row in rows:
        text = f" {row['outputs'][0]}." if row["index"] == 0 else " I do not know."
        lines.append({"index": row["index"], "prediction": ANSWERS[form](row, text)})
    path = write_lines(tmp_path / f"{CONFIG}.jsonl", *lines)
    scores, stdout = score(path, tmp_path, "--dataset", built)
    assert scores == [1, 0, 0, 0, 0]
    assert "5 predictions held the prompt, which was cut off (the first at" in stdout


def test_the_prompts_of_the_file_are_cut_off(rows, tmp_path):
    lines = [
        {
            "index": row["index"],
            "input": row["input"],
            "outputs": row["outputs"],
            "pred": row["input"] + " I do not know.",
        }
        for row in rows
    ]
    path = write_lines(tmp_path / "4096/pred/niah_single_2.jsonl", *lines)
    scores, stdout = score(path, tmp_path)
    assert scores == [0, 0, 0, 0, 0]
    assert "held the prompt, which was cut off" in stdout


def test_answers_with_most_of_their_prompt_are_refused(rows, built, tmp_path):
    lines = [
        {"index": row["index"], "prediction": row["input"][len(row["input"]) // 4 :] + " No."}
        for row in rows
    ]
    path = write_lines(tmp_path / f"{CONFIG}.jsonl", *lines)
    _, error, code = ruler("score", path, "--dataset", built)
    assert code == 2
    assert "5 predictions that hold the prompt or most of it" in error
    assert "keep the generated text alone" in " ".join(error.split())


@pytest.mark.parametrize("config", ["niah_single_2_4k", "vt_4k", "cwe_4k", "fwe_4k", "qa_1_4k"])
def test_prompts_that_nothing_can_cut_off_are_refused_without_a_release(config, frozen, tmp_path):
    lines = [
        {
            "index": row["index"],
            "outputs": row["outputs"],
            "prediction": row["input"] + row["answer_prefix"] + " I do not know.",
        }
        for row in frozen.rows(config, COLUMNS)
    ]
    with pytest.raises(RulerError, match="or name the release, whose prompts are cut off"):
        read(write_lines(tmp_path / f"{config}.jsonl", *lines))


PARTS = {
    "the end of the prompt": lambda text: text[-len(text) // 3 :],
    "the beginning": lambda text: text[: len(text) // 3],
    "the prompt without punctuation": lambda text: " ".join(re.findall(r"\w+", text)),
    "the prompt twice": lambda text: text + text,
}


@pytest.mark.parametrize("part", PARTS)
def test_answers_after_a_part_of_their_prompt_or_two_prompts_are_refused(
    part, rows, built, tmp_path
):
    lines = [
        {"index": row["index"], "prediction": PARTS[part](row["input"]) + " No."} for row in rows
    ]
    path = write_lines(tmp_path / f"{CONFIG}.jsonl", *lines)
    assert "that hold the prompt or most of it" in ruler("score", path, "--dataset", built)[1]


def test_prompts_in_other_letters_are_refused(rows, built, tmp_path):
    lines = [{"index": row["index"], "prediction": row["input"].upper() + " No."} for row in rows]
    path = write_lines(tmp_path / f"{CONFIG}.jsonl", *lines)
    assert "that hold the prompt or most of it" in ruler("score", path, "--dataset", built)[1]


def test_answers_as_long_as_prompts_that_are_unknown_are_noted(tmp_path):
    lines = [{"index": 0, "outputs": ["1234567"], "prediction": "słowo " * 4000}]
    path = write_lines(tmp_path / "niah_single_8k_pl.jsonl", *lines)
    (note,) = read(path).damaged
    assert "1 prediction that may hold a part of the prompt" in note


SOME = {
    "a fifth": lambda text: text[len(text) // 2 : len(text) // 2 + len(text) // 5],
    "lines of the middle": lambda text: text[len(text) // 3 : len(text) // 2],
}


@pytest.mark.parametrize("part", SOME)
@pytest.mark.parametrize("config", ["niah_single_2_4k", "vt_4k", "cwe_4k", "fwe_4k", "qa_1_4k"])
def test_answers_that_may_hold_a_part_of_a_prompt_that_is_unknown_are_noted(
    part, config, frozen, tmp_path
):
    lines = [
        {
            "index": row["index"],
            "outputs": row["outputs"],
            "prediction": SOME[part](row["input"]) + " I do not know.",
        }
        for row in frozen.rows(config, COLUMNS)
    ]
    (note,) = read(write_lines(tmp_path / f"{config}.jsonl", *lines)).damaged
    assert "that may hold a part of the prompt, in which a wrong answer finds the refer" in note


def test_the_assignments_of_a_prompt_are_noted_however_short(frozen, tmp_path):
    """All variables of the prompt have those of the chain among them, and score 100."""
    lines = []
    for row in frozen.rows("vt_4k", COLUMNS):
        assignments = re.findall(r"VAR [A-Z]+ = [^.\n]+", row["input"])
        text = "; ".join(assignments) + " I do not know."
        lines.append({"index": row["index"], "outputs": row["outputs"], "prediction": text})
    path = write_lines(tmp_path / "vt_4k.jsonl", *lines)
    (note,) = read(path).damaged
    assert "that may hold a part of the prompt" in note


def test_right_answers_and_long_reasoning_are_not_noted(frozen, tmp_path):
    for config in ("niah_single_2_4k", "vt_4k", "cwe_4k", "fwe_4k", "qa_1_4k"):
        lines = []
        for row in frozen.rows(config, COLUMNS):
            text = f"<think>{'so it is. ' * 300}</think> The answer: {', '.join(row['outputs'])}"
            lines.append({"index": row["index"], "outputs": row["outputs"], "prediction": text})
        assert read(write_lines(tmp_path / f"{config}.jsonl", *lines)).damaged == []


def test_an_answer_as_the_run_has_it_is_never_cut(rows, write_run, tmp_path):
    """The model itself may repeat its prompt."""
    run = write_run(lambda config, row: "", configs=[CONFIG])
    lines = [record(CONFIG, row["index"], row["input"] + " No.") for row in rows]
    write_lines(run / f"{CONFIG}.jsonl", *lines)
    ruler_output("score", run)
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    assert results["notes"] == []


def test_one_long_answer_that_copies_its_prompt_is_noted(rows, built, tmp_path):
    lines = [{"index": row["index"], "prediction": "no"} for row in rows[1:]]
    start = len(rows[0]["input"]) // 4
    lines.append({"index": 0, "prediction": rows[0]["input"][start:]})
    path = write_lines(tmp_path / f"{CONFIG}.jsonl", *lines)
    _, stdout = score(path, tmp_path, "--dataset", built)
    assert "1 prediction with most of the prompt in the text (the first at" in stdout
