"""Every answer ends in one of four states."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ruler_eval.run.backend import Completion
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.records import STATES, Records, read_records
from ruler_eval.run.row_state import over_context_window, record_of

PROMPT = Prompt(
    config="vt_4k",
    index=7,
    messages=(),
    text="raw",
    token_ids=None,
    max_new_tokens=30,
    row_tokens=4000,
)


def test_an_error_hides_the_key(monkeypatch):
    key = "sk-very/secret+12345678"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    record = record_of(Completion(PROMPT, error=f"bad key {key}."))
    assert "bad key ***." in str(record["error"])


@pytest.mark.parametrize("field", ["text", "error"])
def test_half_a_surrogate_pair_and_a_long_error_can_be_stored(field, tmp_path):
    records = Records(tmp_path)
    records.write(record_of(Completion(PROMPT, **{field: "\ud800" + "x" * 5000})))
    (record,) = read_records(records.path)
    assert (record["prediction"] + (record["error"] or "")).startswith("?xxx")
    assert len(record["error"] or "") <= 1000


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ({}, "stop"),
        ({"finish_reason": "length"}, "length"),
        ({"error": "too long", "failure": "too_long"}, "does_not_fit"),
        ({"error": "shortened", "failure": "truncated"}, "does_not_fit"),
        ({"error": "HTTP 500", "failure": "retry"}, "error"),
        ({"error": "HTTP 400", "failure": "refused"}, "error"),
    ],
)
def test_the_state_of_a_row(answer, state):
    record = record_of(Completion(PROMPT, "found it", **answer))
    assert record["finish_reason"] == state
    assert state in STATES
    assert record["prediction"] == ("found it" if state in ("stop", "length") else "")
    assert (record["error"] is None) == (state in ("stop", "length"))
    assert record.get("failure") == answer.get("failure")
    assert (record["config"], record["index"]) == ("vt_4k", 7)


@pytest.mark.parametrize(
    "end",
    [
        {"finish_reason": "length"},
        {"completion_tokens": 130, "at_limit": True},
        {"completion_tokens": 129},  # counted by a server that leaves the last token out
    ],
)
def test_reasoning_without_marks_that_used_all_tokens_is_never_an_answer(end):
    """A server's template may have opened it, and the server may call its end a stop."""
    prompt = replace(PROMPT, reasoning_tokens=100)
    record = record_of(Completion(prompt, "It may be 42, but", prompt_tokens=10, **end))
    assert (record["prediction"], record["thinking"]) == ("", "It may be 42, but")
    assert record["thinking_ended"] is False
    counted = record_of(Completion(prompt, "42", reasoning_tokens=90, prompt_tokens=10, **end))
    assert counted["prediction"] == "42"
    ended = Completion(prompt, "42", prompt_tokens=10, completion_tokens=60)
    assert record_of(ended)["prediction"] == "42"


def test_truncated_reasoning_that_a_gateway_copied_to_the_answer_is_none():
    copied = Completion(PROMPT, text="so 17", reasoning="so 17", finish_reason="length")
    record = record_of(copied)
    assert (record["prediction"], record["thinking_ended"]) == ("", False)
    ended = record_of(replace(copied, finish_reason="stop"))
    assert (ended["prediction"], ended["thinking_ended"]) == ("so 17", True)


@pytest.mark.parametrize("text", ["", "so 17"])
def test_separated_reasoning_that_used_all_tokens_did_not_end_although_it_is_called_a_stop(text):
    full = Completion(PROMPT, text=text, reasoning="so 17", at_limit=True)
    record = record_of(full)
    assert (record["prediction"], record["thinking_ended"]) == ("", False)
    assert record_of(replace(full, text="42"))["prediction"] == "42"


def test_the_summary_says_how_many_answers_used_all_their_tokens():
    summary = RunSummary()
    for text in ("cut off", "also"):
        summary.add(record_of(Completion(PROMPT, text, at_limit=True)))
    assert summary.lines()[1].startswith("2 answers reached the limit of max_new_tokens")


def test_the_summary_says_what_to_do_about_rows_that_do_not_fit():
    summary = RunSummary()
    prompts = [replace(PROMPT, counted_tokens=tokens) for tokens in (4080, 4090)]
    for prompt in prompts:
        summary.add(over_context_window(prompt, 4096))
    assert summary.lines()[:2] == [
        "2 of 2 rows did not fit the model's context window; the first: vt_4k row 7: "
        "4,080 prompt tokens + 30 for the answer are over the context window of 4,096.",
        "To find rows made for a model's tokenizer: ruler tokenizers --for MODEL",
    ]
