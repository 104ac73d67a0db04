"""Every answer ends in one of four states, and token counts outrank a server's finish_reason."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from ruler_eval.run.backends.backend import Completion
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.prompts import Prompt
from ruler_eval.run.records import STATES
from ruler_eval.run.row_state import Expected, over_limit, record_of

PROMPT = Prompt(
    config="vt_4k",
    index=7,
    messages=(),
    text="raw",
    token_ids=None,
    max_new_tokens=30,
    row_tokens=4000,
)


KEY = "sk-very/secret+1234"
FORMS = {
    "as it is": KEY,
    "backwards": KEY[::-1],
    "hexadecimal": KEY.encode().hex(),
    "escaped for an address": "sk-very%2Fsecret%2B1234",
    "every byte escaped": "".join(f"%{byte:02X}" for byte in KEY.encode()),
    "escaped for JSON": "".join(f"\\u{ord(sign):04x}" for sign in KEY),
    **{
        f"base64 behind {before!r}": base64.b64encode(f"{before}{KEY} and more".encode()).decode()
        for before in ("", "a", "Bearer ", "Authorization: Bearer ")
    },
    "base64 for addresses": base64.urlsafe_b64encode(f"Bearer {KEY}".encode()).decode(),
}


def decodes_to_the_key(text: str) -> bool:
    """Whether a text gives the key away, when somebody decodes what looks like base64."""
    found = [text]
    for word in text.translate(str.maketrans("-_'\"", "+/  ")).split():
        try:
            found.append(base64.b64decode(word + "==").decode("latin-1"))
        except ValueError:
            continue
    return any(form in one for one in found for form in (KEY, KEY[::-1], *FORMS.values()))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", ["text", "reasoning", "finish_reason", "error"])
def test_no_field_of_an_answer_brings_a_key_into_a_record(
    field: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert decodes_to_the_key(f"so {FORMS[form]} it is")
    record = record_of(Completion(PROMPT, **{field: f"so {FORMS[form]} it is"}), Expected())
    assert "***" in json.dumps(record)
    assert not decodes_to_the_key(json.dumps(record, ensure_ascii=False))


@pytest.mark.parametrize("field", ["text", "reasoning", "finish_reason", "error"])
def test_half_a_character_and_an_endless_reason_do_no_harm(field: str) -> None:
    record = record_of(Completion(PROMPT, **{field: "\ud800" + "x" * 5000}), Expected())
    json.dumps(record, ensure_ascii=False).encode("utf-8")
    assert len(record["error"] or "") <= 1000


@pytest.mark.parametrize(
    ("answer", "expected", "state"),
    [
        ({"prompt_tokens": 4000, "completion_tokens": 9}, Expected(4000, 8192), "stop"),
        ({"prompt_tokens": 4000, "completion_tokens": 30, "finish_reason": "length"},
         Expected(4000, 8192), "length"),
        # the server shortened max_tokens without a word (vLLM's /v1/completions)
        ({"prompt_tokens": 4000, "completion_tokens": 12, "finish_reason": "length"},
         Expected(4000, None), "does_not_fit"),
        # … and calls it a stop
        ({"prompt_tokens": 4080, "completion_tokens": 16}, Expected(4080, 4096), "does_not_fit"),
        # the server dropped the beginning of the prompt
        ({"prompt_tokens": 2048, "completion_tokens": 9}, Expected(4000, None), "does_not_fit"),
        ({"prompt_tokens": 1024, "completion_tokens": 9}, Expected(None, None), "does_not_fit"),
        # another tokenizer than the file's
        ({"prompt_tokens": 3100, "completion_tokens": 9}, Expected(None, None), "stop"),
        # no usage at all
        ({"finish_reason": "length"}, Expected(None, None), "length"),
        ({"finish_reason": None, "prompt_tokens": 4000, "completion_tokens": 30},
         Expected(4000, 8192), "length"),
        ({"finish_reason": None}, Expected(None, None), "stop"),
        ({"finish_reason": "content_filter"}, Expected(None, None), "error"),
        ({"finish_reason": "abort"}, Expected(None, None), "error"),
        ({"error": "429"}, Expected(None, None), "error"),
        # counts that cannot be true
        *((({"prompt_tokens": seen, "completion_tokens": 9}), Expected(4000, 8192), "stop")
          for seen in (0, -1, 1, 39, 10**9)),
        ({"prompt_tokens": 1, "completion_tokens": 9}, Expected(None, None), "stop"),
        *(({"prompt_tokens": 4000, "completion_tokens": made, "finish_reason": "length"},
           Expected(4000, 8192), "length") for made in (0, -5)),
    ],
)  # fmt: skip
def test_the_state_of_a_row(answer: dict[str, Any], expected: Expected, state: str) -> None:
    record = record_of(Completion(PROMPT, "found it", **answer), expected)
    assert record["finish_reason"] == state
    assert state in STATES
    assert record["prediction"] == ("found it" if state in ("stop", "length") else "")
    assert (record["error"] is None) == (state in ("stop", "length"))
    assert (record["config"], record["index"]) == ("vt_4k", 7)


def test_a_row_that_does_not_fit_says_by_how_much() -> None:
    record = over_limit(PROMPT, 4080, 4096)
    assert record is not None
    assert record["error"] == "4,080 prompt tokens + 30 for the answer are over the limit of 4,096"
    assert record["usage"]["prompt_tokens"] == 4080


def test_the_end_of_a_run_says_of_a_row_that_does_not_fit_what_to_do() -> None:
    summary = RunSummary()
    summary.add("vt_4k", [over_limit(PROMPT, tokens, 4096) for tokens in (4080, 4090)])
    assert summary.lines()[:2] == [
        "Of 2 rows 2 did not fit the model's window; the first: vt_4k row 7: 4,080 prompt tokens + "
        "30 for the answer are over the limit of 4,096.",
        "Which rows were made for a model's tokenizer: ruler tokenizers --for MODEL",
    ]


def test_half_a_surrogate_pair_does_not_stop_a_run() -> None:
    record = record_of(Completion(PROMPT, "a\ud83d b"), Expected())
    assert record["prediction"].encode() == b"a? b"
