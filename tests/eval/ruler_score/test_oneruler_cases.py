"""Golden cases of ONERULER's rules in each of its 26 languages: oneruler_cases/<language>.toml."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ruler_common.files import read_toml
from ruler_score.language_text import normalize, numbers
from ruler_score.oneruler_rules import NONE_WORDS, WordList, read_list
from ruler_score.ruler_score import ANSWER_TAGS, score_row

ROOT = Path(__file__).parents[3]
FOLDER = Path(__file__).with_name("oneruler_cases")
LANGUAGES = pytest.mark.parametrize("language", sorted(ANSWER_TAGS))
EVERYWHERE = {
    "niah_multiquery": {
        *("right", "right_in_a_sentence", "no_tag", "answer_tag", "wrong_tag", "corrected"),
        *("wrong_tag_and_a_page", "page_outside_the_tag", "zero_width", "full_width_digits"),
        *("grouped", "none_inside_a_word", "wrong", "one_missing", "one_more", "nothing"),
        *("none_though_there", "none_beside", "the_other_way_round"),
    },
    "niah_none": {
        *("right", "right_in_a_sentence", "no_tag", "answer_tag", "wrong_tag", "zero_width"),
        *("number_outside_the_tag", "number", "number_beside", "full_width_number_beside"),
        *("inside_a_word", "nothing"),
    },
    "cwe_easy": {
        *("right", "in_another_order", "numbered", "with_and", "other_separators", "bulleted"),
        *("no_tag", "answer_tag", "wrong_tag", "wrong_tag_and_a_sentence", "zero_width"),
        *("one_wrong", "one_missing", "one_more", "one_twice_for_another", "nothing"),
    },
}
"""The cases that every language's file must have."""


class Case(NamedTuple):
    """The answer, what it scores (0 or 1) and, of words, how many of the ten are right."""

    task: str
    name: str
    references: list[str]
    answer: str
    score: int
    found: int | None = None


def table(language: str) -> dict[str, Any]:
    """The language's file, read."""
    return read_toml(FOLDER / f"{language}.toml")


def cases(language: str) -> list[Case]:
    """All cases of a language, with the references that each task's share."""
    read = table(language)
    references = {
        "niah_multiquery": ["1234567", "7654321"],
        "niah_none": [read["none"]],
        "cwe_easy": read["words"],
    }
    return [
        Case(task, name, asked, *case)
        for task, asked in references.items()
        for name, case in read[task].items()
    ]


@pytest.fixture(scope="module")
def metric():
    os.environ["HF_HUB_OFFLINE"] = "1"
    import evaluate

    return evaluate.load(str(ROOT / "eval/ruler_score"))


def test_every_language_has_a_file_with_the_cases_that_none_may_lack():
    assert {path.stem for path in FOLDER.iterdir()} == set(ANSWER_TAGS)
    for language in ANSWER_TAGS:
        read = table(language)
        assert {task for task in EVERYWHERE if EVERYWHERE[task] - set(read[task])} == set()
        assert read["none"] == NONE_WORDS[language][0]
        assert len(set(read["words"])) == 10
        tag = f"<{ANSWER_TAGS[language]}>"
        assert all(read[task]["right"][0].startswith(tag) for task in EVERYWHERE)


@LANGUAGES
def test_every_case_scores_what_its_file_says(language):
    for case in cases(language):
        row = score_row(case.answer, case.references, case.task, language)
        assert (row.score, row.strict) == (case.score, case.score), case
        assert case.found is None or row.found == case.found, case


@LANGUAGES
def test_compat_authors_gives_what_their_script_gave(language):
    theirs = read_toml(FOLDER.with_name("authors_scores.toml"))[language]
    assert set(theirs) == {f"{task}{end}" for task in EVERYWHERE for end in ("", "_deepseek")}
    for name, expected in theirs.items():
        task, model = name.removesuffix("_deepseek"), "deepseek-r1" * name.endswith("_deepseek")
        options = [case for case in cases(language) if case.task == task]
        for case, score in zip(options, expected, strict=True):
            row = score_row(
                case.answer, case.references, task, language, compat="authors", model=model
            )
            assert row.score == int(score), (name, case)


@pytest.mark.parametrize("language", ["en", "sr", "zh"])
def test_the_metric_of_evaluate_counts_them_in_the_same_way(metric, language):
    all_cases = cases(language)
    result = metric.compute(
        predictions=[case.answer for case in all_cases],
        references=[case.references for case in all_cases],
        tasks=[case.task for case in all_cases],
        languages=[language] * len(all_cases),
        none_words=[table(language)["none"]] * len(all_cases),
    )
    for task in EVERYWHERE:
        scores = [case.score for case in all_cases if case.task == task]
        assert result["per_task"][task]["n"] == len(scores)
        assert result["per_task"][task]["score"] == pytest.approx(100 * sum(scores) / len(scores))
    results = [case.found for case in all_cases if case.found is not None]
    words = result["per_task"]["cwe_easy"]["words_right"]
    assert words == pytest.approx(sum(results) / len(results))


@pytest.mark.parametrize(
    "task", ["niah_single", "niah_multikey", "niah_multivalue", "niah_single_nonone"]
)
def test_the_other_tasks_of_numbers_have_the_same_rule(task):
    for language in ANSWER_TAGS:
        for case in cases(language):
            if case.task == "niah_multiquery":
                assert score_row(case.answer, case.references, task, language).score == case.score


def read(text: str, words: list[str], language: str) -> tuple[int, bool]:
    """Return how many of the words are in a text, and whether it is a list of exactly them."""
    listed: WordList = read_list(normalize(text, language), words, language)
    return len(listed.found), listed.exact


def test_an_and_inside_a_word_does_not_divide_items():
    assert read("共和国、と、火と", ["共和国", "と", "火と"], "ja") == (3, True)
    assert read("和平、共和国", ["和平", "共和国"], "zh") == (2, True)
    assert read("사과, 배", ["사", "배"], "ko") == (1, False)
    assert read("sand, and", ["sand"], "en") == (1, True)


def test_a_word_with_digits_or_a_separator_in_it_is_whole():
    assert read("1. mp3 2. 4x4", ["mp3", "4x4"], "en") == (2, True)
    assert read("1. mp34, 2. 4x4", ["mp3", "4x4"], "en") == (1, False)
    assert read("アイデア; アイディア、火", ["アイデア; アイディア", "火"], "ja") == (2, True)


def test_a_lead_in_may_hold_a_word_of_the_list():
    words = ["list", "word", "time", "answer"]
    for text in ("Answer: list, word, time, answer", "list: 30\nword: 30\ntime: 30\nanswer: 30"):
        assert read(text, words, "en") == (4, True)
    assert read("most, common, list, word, time, answer", words, "en") == (4, False)


def test_a_count_before_the_list_is_not_a_lead_in():
    assert read("tree: 30\nriver: 30\nstone: 30", ["river", "stone"], "en") == (2, False)
    assert read("The words, as asked:\nriver: 30\nstone: 30", ["river", "stone"], "en") == (2, True)


def test_a_list_of_short_numbers_is_not_one_grouped_number():
    assert numbers("12,34,567") == {"1234567"}
    assert numbers("12,34,567,89") == {"12", "34", "567", "89"}
    assert numbers("11,22,33") == {"11", "22", "33"}


def test_an_answer_that_is_all_in_angle_brackets_is_read():
    assert score_row("<1234567>", ["1234567"], "niah_single", "pl").score == 1
    assert score_row("<brak>", ["brak"], "niah_none", "pl").score == 1


# ---- The published prompts -------------------------------------------------------------------


@LANGUAGES
def test_the_tag_and_the_none_words_are_those_of_the_published_prompts(mirror, language):
    folder = mirror / "oneruler/prompt" / language
    parts = json.loads((folder / "niah.txt").read_text(encoding="utf-8-sig"))
    tag = f"<{ANSWER_TAGS[language]}>"
    assert parts["answer_numbers"].startswith(tag)
    assert parts["answer_numbers"].rstrip().endswith(tag.replace("<", "</"))
    assert tag in (folder / "cwe.txt").read_text(encoding="utf-8-sig")
    assert parts["none"] == NONE_WORDS[language][0]
    quoted = re.findall(r"[\"“„«「](.+?)[\"”“»」]", parts["if_no_numbers"])
    assert len(quoted) == 1
    assert quoted[0] in NONE_WORDS[language]


@LANGUAGES
def test_the_published_form_itself_is_not_an_answer(mirror, language):
    folder = mirror / "oneruler/prompt" / language
    parts = json.loads((folder / "niah.txt").read_text(encoding="utf-8-sig"))
    form = parts["answer_numbers"]
    assert score_row(form, ["1234567"], "niah_single", language).score == 0
    assert score_row(form, [parts["none"]], "niah_none", language).score == 0
    text = (folder / "cwe.txt").read_text(encoding="utf-8-sig")
    form = text[text.index(f"<{ANSWER_TAGS[language]}>") :]
    row = score_row(form, table(language)["words"], "cwe_hard", language)
    assert (row.score, row.found) == (0, 0)
