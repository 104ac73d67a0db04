"""A run says at its end what its answers have in common."""

from __future__ import annotations

from typing import Any

import pytest

from ruler_eval.run.answer_counts import AnswerCounts
from ruler_eval.run.backend import Completion
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.row_state import record_of

GOOD = {"text": "It is 1234567.", "completion_tokens": 9}


def summary_of(
    completions: list[dict[str, Any]], thinks: bool = False, mode: str = "chat"
) -> list[str]:
    """Return the sentences at the end of a run with these answers."""
    summary = RunSummary(answers=AnswerCounts(thinks=thinks, mode=mode))
    prompt = Prompt(
        config="vt_4k",
        index=0,
        messages=({"role": "user", "content": "?"},),
        text=None,
        token_ids=None,
        max_new_tokens=30,
        reasoning_tokens=100 if thinks else 0,
    )
    for fields in completions:
        record = record_of(Completion(**{"prompt": prompt, "prompt_tokens": 10, **fields}))
        summary.count_session(record, prompt)
        summary.add(record)
    return summary.lines()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"text": "", "reasoning": "It is 1.", "completion_tokens": 9}, "--reasoning-parser"),
        ({"text": "<mm:think>a</mm:think>1", "completion_tokens": 9}, "--thinking is off"),
        ({"text": "1", "reasoning": "a", "completion_tokens": 9}, "--thinking is off"),
        ({"text": "<think>It is 1", "completion_tokens": 9}, "--thinking is off"),
        (  # a provider that keeps the reasoning to itself
            {"finish_reason": "length", "completion_tokens": 30, "reasoning_tokens": 30},
            "--thinking is off",
        ),
        ({"text": " \n", "completion_tokens": 1}, "empty"),
        ({"text": "", "completion_tokens": None}, "empty"),
    ],
)
def test_each_sign_is_one_sentence_with_its_number(answer, sentence):
    lines = [line for line in summary_of([answer] * 3 + [GOOD] * 7) if sentence in line]
    assert len(lines) == 1
    assert lines[0].startswith("3 of 10 answers")
    assert not any("No failures" in line for line in summary_of([answer] * 3 + [GOOD] * 7))


def test_one_text_in_place_of_many_answers_is_reported():
    busy = {"text": "Sorry, the service is busy. Please try again later.", "completion_tokens": 9}
    lines = summary_of([busy] * 5 + [GOOD] * 20)
    assert lines[0].startswith("5 of 25 answers are word for word the same, 'Sorry, the service")
    assert summary_of([busy] * 4 + [GOOD] * 10)[0].startswith("No failures")


def test_none_in_long_tags_is_not_taken_for_a_text_of_a_gateway():
    """The right answer to every row of niah_none in German."""
    none = {"text": "<Antwort> Keine vorhanden </Antwort>", "completion_tokens": 9}
    assert not any("word for word" in line for line in summary_of([none] * 25))


@pytest.mark.parametrize("end", [{"finish_reason": "length"}, {"at_limit": True}])
def test_answers_that_all_use_all_their_tokens_are_reported(end):
    full = {"text": "and so on", "completion_tokens": 30, **end}
    line = "Every answer ended at its token limit (4 answers)"
    assert any(found.startswith(line) for found in summary_of([full] * 4))
    assert not any("Every answer" in found for found in summary_of([full] * 4 + [GOOD]))
    # a raw prompt is always continued
    assert not any("Every answer" in found for found in summary_of([full] * 4, mode="completion"))


def test_a_run_without_a_sign_says_that_there_are_no_failures():
    assert summary_of([GOOD] * 20)[0] == "No failures: 20 rows answered."
    few = [{"text": "", "completion_tokens": 1}] * 2 + [GOOD] * 18  # a tenth
    assert summary_of(few)[0] == "No failures: 20 rows answered."
    asked = {"text": "1", "reasoning": "a", "completion_tokens": 9}
    assert summary_of([asked] * 5, thinks=True)[0] == "No failures: 5 rows answered."


def test_reasoning_that_was_asked_for_and_leaves_no_answer_is_reported():
    lines = summary_of([{"text": "", "reasoning": "1", "completion_tokens": 9}] * 5, thinks=True)
    assert lines[0].startswith("5 of 5 answers are empty")


def test_reasoning_that_was_asked_for_and_never_came_is_reported():
    line = "None of 5 answers had reasoning"
    assert any(line in found for found in summary_of([GOOD] * 5, thinks=True))
    for some in ({"text": "1", "reasoning": "a"}, {"text": "1", "reasoning_tokens": 7}):
        mixed = [GOOD] * 4 + [{**some, "completion_tokens": 9}]
        assert not any("None of" in found for found in summary_of(mixed, thinks=True))
    assert not any("None of" in found for found in summary_of([GOOD] * 5))
