"""Every answer ends in one of four states, and token counts outrank a server's finish_reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ruler_eval.run.backends.backend import Completion
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.records import STATES, Records, read_lines
from ruler_eval.run.row_state import over_limit, record_of

PROMPT = Prompt(
    config="vt_4k",
    index=7,
    messages=(),
    text="raw",
    token_ids=None,
    max_new_tokens=30,
    row_tokens=4000,
)


@pytest.mark.parametrize("field", ["finish_reason", "error"])
def test_an_error_hides_the_key(field, monkeypatch):
    key = "sk-very/secret+12345678"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    record = record_of(Completion(PROMPT, **{field: f"bad key {key}."}))
    assert "bad key ***." in str(record["error"])


@pytest.mark.parametrize("field", ["text", "error"])
def test_half_a_surrogate_pair_and_a_long_error_can_be_stored(field, tmp_path):
    records = Records(tmp_path)
    records.write(record_of(Completion(PROMPT, **{field: "\ud800" + "x" * 5000})))
    (record,) = read_lines(records.path("vt_4k"))
    assert (record["prediction"] + (record["error"] or "")).startswith("?xxx")
    assert len(record["error"] or "") <= 1000


@pytest.mark.parametrize(
    ("answer", "counted_and_limit", "state"),
    [
        ({"prompt_tokens": 4000, "completion_tokens": 9}, (4000, 8192), "stop"),
        ({"prompt_tokens": 4000, "completion_tokens": 30, "finish_reason": "length"},
         (4000, 8192), "length"),
        # the server shortened max_tokens without a word (vLLM's /v1/completions)
        ({"prompt_tokens": 4000, "completion_tokens": 12, "finish_reason": "length"},
         (4000, None), "does_not_fit"),
        # … and calls it a stop
        ({"prompt_tokens": 4080, "completion_tokens": 16}, (4080, 4096), "does_not_fit"),
        # the server dropped the beginning of the prompt
        ({"prompt_tokens": 2048, "completion_tokens": 9}, (4000, None), "does_not_fit"),
        ({"prompt_tokens": 1024, "completion_tokens": 9}, (None, None), "does_not_fit"),
        # another tokenizer than the file's
        ({"prompt_tokens": 3100, "completion_tokens": 9}, (None, None), "stop"),
        # no usage at all
        ({"finish_reason": "length"}, (None, None), "length"),
        ({"finish_reason": None, "prompt_tokens": 4000, "completion_tokens": 30},
         (4000, 8192), "length"),
        ({"finish_reason": None}, (None, None), "stop"),
        ({"finish_reason": "content_filter"}, (None, None), "error"),
        ({"finish_reason": "abort"}, (None, None), "error"),
        ({"error": "429"}, (None, None), "error"),
    ],
)  # fmt: skip
def test_the_state_of_a_row(answer, counted_and_limit, state):
    counted, limit = counted_and_limit
    prompt = replace(PROMPT, counted_tokens=counted)
    record = record_of(Completion(prompt, "found it", **answer), limit)
    assert record["finish_reason"] == state
    assert state in STATES
    assert record["prediction"] == ("found it" if state in ("stop", "length") else "")
    assert (record["error"] is None) == (state in ("stop", "length"))
    assert (record["config"], record["index"]) == ("vt_4k", 7)


def test_the_summary_says_what_to_do_about_rows_that_do_not_fit():
    summary = RunSummary()
    prompts = [replace(PROMPT, counted_tokens=tokens) for tokens in (4080, 4090)]
    summary.add("vt_4k", [over_limit(prompt, 4096) for prompt in prompts])
    assert summary.lines()[:2] == [
        "2 of 2 rows did not fit the model's window; the first: vt_4k row 7: 4,080 prompt tokens + "
        "30 for the answer are over the limit of 4,096.",
        "To find rows made for a model's tokenizer: ruler tokenizers --for MODEL",
    ]
