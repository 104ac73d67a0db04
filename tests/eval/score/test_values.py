"""References and answers in every form that other programs give them: read right, or refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruler_common.errors import RulerError
from tests.eval.scoring_helpers import column, read, write_lines
from tests.in_process import ruler_output

FOUR = ["1234567", "2345678", "3456789", "4567890"]
PRINTED_LISTS = [
    str(FOUR),
    json.dumps(FOUR),
    str(tuple(FOUR)),
    str([int(text) for text in FOUR]),
    str([float(text) for text in FOUR]),
    str(np.array(FOUR)),
    str(np.array([int(text) for text in FOUR])),
    repr(np.array(FOUR)),
    repr(np.array(FOUR, dtype=object)),
    str(pd.Series([np.array(FOUR)]).iloc[0]),
    "[" + ", ".join(FOUR) + "]",
    ", ".join(FOUR),
    ",".join(FOUR),
    "; ".join(FOUR),
    "|".join(FOUR),
    "\n".join(FOUR),
    " ".join(FOUR),
    str([FOUR]),
    "['1,234,567', '2,345,678', '3,456,789', '4,567,890']",
    "1,234,567; 2,345,678; 3,456,789; 4,567,890",
    [1234567, 2345678.0, "3456789.0", "4,567,890"],
    [FOUR],
    str(np.array([float(text) for text in FOUR])),
    repr(dict.fromkeys(FOUR).keys()),
    f"tensor([{', '.join(FOUR)}])",
    json.dumps(json.dumps(FOUR)),
    [json.dumps(FOUR)],
    [str(FOUR)],
    [f"{text} " for text in FOUR],
    [f"{int(text):_}" for text in FOUR],
    [f"{int(text):,}".replace(",", ".") for text in FOUR],
    [f"{text},0" for text in FOUR],
    ", ".join(f"{int(text):,}" for text in FOUR),
]


def references(value, config="niah_multivalue_4k", tmp_path=None):
    path = tmp_path / "a.jsonl"
    write_lines(path, {"config": config, "index": 0, "prediction": "x", "outputs": value})
    return read(path).rows[0].outputs


@pytest.mark.parametrize("value", PRINTED_LISTS)
def test_a_list_is_read_in_every_form_into_which_programs_turn_it(value, tmp_path):
    assert references(value, tmp_path=tmp_path) == tuple(FOUR)


@pytest.mark.parametrize(
    "value",
    [
        *("1234567", 1234567, 1234567.0, "1234567.0", "1,234,567", "1 234 567", "['1234567']"),
        *("[1234567]", "[1234567.0]", "('1234567',)", "{'1234567'}", '="1234567"', "'1234567"),
        *("array(['1234567'], dtype='<U7')", "[np.int64(1234567)]", "[np.str_('1234567')]"),
        *("1.234567E+06", "1,234567E+06", ["1234567.0"], [1234567.0], [["1234567"]]),
    ],
)
def test_one_number_is_read_in_every_form(value, tmp_path):
    assert references(value, "niah_single_1_4k", tmp_path) == ("1234567",)


@pytest.mark.parametrize("value", ["['apple', 'bear']", "['apple' 'bear']", "[apple, bear]",
                                   "apple, bear", "apple;bear", '["apple","bear"]'])  # fmt: skip
def test_words_are_read_in_every_form(value, tmp_path):
    assert references(value, "cwe_4k", tmp_path) == ("apple", "bear")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("1.23457E+06", "was rounded by a spreadsheet: export the column as text"),
        ([None], "not a list of texts"),
        ([True], "not a list of texts"),
        (["1234567", ""], "is empty, which every answer has in it"),
        ([" "], "is empty, which every answer has in it"),
        (repr(pd.Series(FOUR)), "is not a number or a word"),
        ("1. 1234567\n2. 2345678", "is not a number or a word"),
        ("1. apple\n2. bear", "is not a number or a word"),
        ("1234567 and 2345678", "is not a number or a word"),
        ("1234567、2345678", "is not a number or a word"),
        ("<li>1234567</li>", "is not a number or a word"),
        (["b'1234567'"], "is not a number or a word"),
        (['"1234567"'], "is not a number or a word"),
        ('[\\"1234567\\"]', "is not a number or a word"),
        ("['1234567' ... '2345678']", "of which some are left out"),
        ("1,234,567,2,345,678", "write a list of texts"),
        ("apple、bear", "write a list of texts"),
        ("apple bear cup dog", "write a list of texts"),
        (["apple bear cup dog"], "write a list of texts"),
        ("ABCDE and FGHIJ", "write a list of texts"),
        (["ABCDE FGHIJ"], "write a list of texts"),
        ([1.5], "not a list of texts"),
        ({"text": ["a"]}, "not a list of texts"),
        ("{'text': ['a']}", "not a list of texts"),
    ],
)
def test_references_that_cannot_be_read_are_refused(value, words, tmp_path):
    with pytest.raises(RulerError, match=words):
        references(value, "niah_single_1_4k", tmp_path)


@pytest.mark.parametrize("value", ["nan", "NaN", "<NA>", "None", "null"])
def test_a_printed_null_is_not_a_reference(value, tmp_path):
    assert references(value, tmp_path=tmp_path) is None


@pytest.mark.parametrize(
    "value", ["ha ho letho", "'ngoe", "ng'ombe", "도쿄(동경)", 'du"lt', "none"]
)
def test_the_words_of_any_language_are_references(value, tmp_path):
    assert references([value], "niah_none_8k_st", tmp_path) == (value,)


def test_a_list_whose_quotation_marks_do_not_fit_is_refused(tmp_path):
    with pytest.raises(RulerError, match="not a list of texts"):
        references("['O'Neil']", "qa_1_4k", tmp_path)


def test_a_text_of_question_answering_is_never_taken_for_a_list(tmp_path):
    for text in ("Paris, France", "1,500", "8.0", "the [sic] one", "it's"):
        assert references(text, "qa_1_4k", tmp_path) == (text,)
    assert references("['Paris, France' \"it's\"]", "qa_1_4k", tmp_path) == (
        "Paris, France",
        "it's",
    )
    assert references("1942.0", "qa_1_4k", tmp_path) == ("1942",)
    with pytest.raises(RulerError, match="may be one text or several: write a list of texts"):
        references("Paris; London", "qa_1_4k", tmp_path)


def test_references_that_pandas_wrote_and_read_again_are_those_of_the_list(tmp_path):
    frame = pd.DataFrame({"index": [0, 1], "prediction": ["1234567", "x"]})
    frame["outputs"] = [["1234567"], ["7654321"]]
    frame.to_csv(tmp_path / "niah_single_1_4k.csv", index=False)
    again = pd.read_csv(tmp_path / "niah_single_1_4k.csv")
    again.to_json(tmp_path / "niah_single_1_4k.jsonl", orient="records", lines=True)
    again["outputs"] = [1234567.0, 7654321.0]
    again.to_parquet(tmp_path / "niah_single_1_4k.parquet")
    again.to_csv(tmp_path / "niah_single_1_4k.tsv", sep="\t", index=False)
    for suffix in (".csv", ".jsonl", ".parquet", ".tsv"):
        rows = read(tmp_path / f"niah_single_1_4k{suffix}").rows
        assert [row.outputs for row in rows] == [("1234567",), ("7654321",)]


# ---- Answers -----------------------------------------------------------------------------------

TURNS = [{"role": "user", "content": "What?"}, {"role": "assistant", "content": "It is 42."}]
PARTS = [{"type": "text", "text": "It is "}, {"type": "text", "text": "42."}]
OUTPUT_TEXT = [{"type": "output_text", "text": "It is 42."}]
RESPONSES = [
    {"type": "reasoning", "summary": []},
    {"type": "message", "role": "assistant", "content": OUTPUT_TEXT},
]
CHOICE = {"index": 0, "text": "It is 42.", "finish_reason": "length"}
CHAT_CHOICE = {"index": 0, "message": TURNS[1], "finish_reason": "length"}
CANDIDATE = {"content": {"role": "model", "parts": [{"text": "It is "}, {"text": "42."}]}}
THOUGHT = {"type": "thinking", "thinking": "so"}
OBJECTS = {
    "choices of completions": [CHOICE],
    "choices of chats": [CHAT_CHOICE],
    "a response": {"choices": [CHAT_CHOICE], "usage": {}},
    "an object of the Responses API": {"output": RESPONSES, "status": "completed"},
    "its output": RESPONSES,
    "messages": TURNS,
    "parts": PARTS,
    "parts of the Responses API": OUTPUT_TEXT,
    "a pipeline's": [{"generated_text": "It is 42."}],
    "a pipeline's chat": [{"generated_text": TURNS}],
    "Gemini's": {"candidates": [{**CANDIDATE, "finishReason": "MAX_TOKENS"}]},
    "Anthropic's": {
        "role": "assistant",
        "content": [THOUGHT, *PARTS],
        "stop_reason": "max_tokens",
    },
    "Gemini's after a thought": {
        "candidates": [
            {"content": {"parts": [{"text": "so", "thought": True}, {"text": "It is 42."}]}}
        ]
    },
    "pieces of a stream": [{"delta": {"content": "It is "}}, {"delta": {"content": "42."}}],
    "whole pieces of a stream": [
        {"object": "chunk", "choices": [{"delta": {"content": "It is "}}]},
        {"object": "chunk", "choices": [{"delta": {"content": "42."}}]},
        {"object": "chunk", "choices": []},
    ],
    "Bedrock's": {
        "output": {
            "message": {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "so"}}},
                    {"text": "It is "},
                    {"text": "42."},
                ],
            }
        }
    },
    "a part with a value": [{"type": "text", "text": {"value": "It is 42."}}],
    "a refusal": [{"type": "refusal", "refusal": "It is 42."}],
    "ShareGPT's": [{"from": "human", "value": "What?"}, {"from": "gpt", "value": "It is 42."}],
    "vLLM's": {"prompt": "What?", "outputs": [CHOICE]},
    "a list of one": ["It is 42."],
    "a list in a list": [["It is 42."]],
}


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("name", OBJECTS)
def test_the_text_in_an_object_is_found(name, suffix, tmp_path):
    value, path = OBJECTS[name], tmp_path / f"a{suffix}"
    row = {"id": 0, "gold": ["42"], "answer": value}
    if suffix == ".parquet":
        try:
            pq.write_table(pa.Table.from_pylist([row]), path)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pytest.skip("Parquet has no such value")
    else:
        write_lines(path, row)
    (answer,) = read(path, columns="prediction=answer,outputs=gold", config="vt_4k").rows
    assert answer.text == "It is 42."
    ends = json.dumps(value).replace("finishReason", "finish_reason")
    assert (answer.finish_reason == "length") == ("length" in ends or "max_" in ends.lower())


@pytest.mark.parametrize("write", [json.dumps, str])
@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_an_object_that_became_a_text_is_read_and_its_reasoning_is_no_answer(
    suffix, write, tmp_path
):
    message = {"role": "assistant", "content": "no", "reasoning_content": "so 1234567"}
    lines = [{"id": 0, "gold": "1234567", "prediction": write({"choices": [{"message": message}]})}]
    lines += [{"id": 1, "gold": "1234567", "prediction": write([message])}]
    lines += [{"id": 2, "gold": "1234567", "prediction": '{"answer": "1234567"}'}]  # the model's
    lines += [{"id": 3, "gold": "1234567", "prediction": '{"role": "none"} [1234567]'}]
    path = tmp_path / f"niah_single_1_4k{suffix}"
    if suffix == ".csv":
        pd.DataFrame(lines).to_csv(path, index=False)
    else:
        write_lines(path, *lines)
    rows = read(path, columns="prediction=prediction,outputs=gold").rows
    assert [row.text for row in rows] == ["no", "no", *(line["prediction"] for line in lines[2:])]


LENGTH = {"type": "length", "length": 128}


@pytest.mark.parametrize(
    "value",
    [
        {"text": "42", "meta_info": {"finish_reason": LENGTH}},  # SGLang
        {"output": RESPONSES, "incomplete_details": {"reason": "max_output_tokens"}},
        {"message": TURNS[1], "done_reason": "length"},  # Ollama
        {"content": "42", "stop_type": "limit"},  # llama.cpp
        {"content": "42", "stopped_limit": True},
        {"generated_text": "42", "details": {"finish_reason": "length"}},  # TGI
        {"output": {"message": {"content": [{"text": "42"}]}}, "stopReason": "max_tokens"},
        [{"delta": {"content": "42"}}, {"delta": {}, "finish_reason": "length"}],
    ],
)
def test_an_object_that_says_that_its_answer_was_truncated_is_believed(value, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", {"id": 0, "gold": ["42"], "answer": value})
    (answer,) = read(path, columns="prediction=answer,outputs=gold", config="vt_4k").rows
    assert answer.finish_reason == "length"


@pytest.mark.parametrize(("end", "reason"), [(LENGTH, "length"), ({"reason": "stop"}, "stop")])
def test_a_finish_reason_may_be_an_object(end, reason, tmp_path):
    row = {"index": 0, "prediction": "42", "outputs": ["42"], "finish_reason": end}
    assert read(write_lines(tmp_path / "vt_4k.jsonl", row)).rows[0].finish_reason == reason


@pytest.mark.parametrize(
    "value", [{"score": 1}, [{"score": 1}], [{"role": "user", "content": "What?"}], True,
              [{"type": "image", "url": "x"}], [*TURNS, TURNS[0]]]
)  # fmt: skip
def test_an_object_without_a_text_is_refused(value, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", {"id": 0, "gold": ["42"], "answer": value})
    with pytest.raises(
        RulerError, match=r"no text is found: name the text|assistant|not an answer"
    ):
        read(path, columns="prediction=answer,outputs=gold", config="vt_4k")


def test_several_choices_are_samples_of_a_row(tmp_path):
    choices = [{"index": number, "text": text} for number, text in enumerate(("ABC", "no"))]
    path = write_lines(tmp_path / "a.jsonl", {"id": 0, "gold": ["ABC"], "choices": choices})
    columns = "prediction=choices,outputs=gold"
    rows = read(path, columns=columns, config="vt_4k").rows
    assert [(row.sample, row.text) for row in rows] == [(0, "ABC"), (1, "no")]
    out = tmp_path / "r.json"
    ruler_output("score", path, "--columns", columns, "--config", "vt_4k", "--out", out)
    from ruler_eval.score.results import load

    assert column(load(out), "score", "vt_4k") == [0.5]


@pytest.mark.parametrize("null", [None, float("nan")])
def test_a_null_is_read_as_an_empty_answer_and_the_notes_say_so(null, tmp_path):
    lines = [{"index": 0, "prediction": null}, {"index": 1, "prediction": "a"}]
    predictions = read(write_lines(tmp_path / "vt_4k.jsonl", *lines))
    assert [row.text for row in predictions.rows] == ["", "a"]
    (note,) = predictions.damaged
    assert "1 null prediction read as an empty answer" in note
    failed = {"index": 0, "prediction": None, "error": "timeout"}
    assert read(write_lines(tmp_path / "vt_4k.jsonl", failed)).damaged == []


def test_an_answer_that_a_spreadsheet_rounded_is_refused(tmp_path):
    line = {"id": 0, "prediction": "1.23E+06", "outputs": ["1234567"]}
    with pytest.raises(RulerError, match="was rounded by a spreadsheet: export the column"):
        read(write_lines(tmp_path / "niah_single_1_4k.jsonl", line))


def test_an_empty_cell_of_a_table_is_a_null(tmp_path):
    frame = pd.DataFrame({"index": [0, 1], "prediction": [None, "ABC"], "error": [None, None]})
    frame.to_csv(tmp_path / "vt_4k.csv", index=False)
    predictions = read(tmp_path / "vt_4k.csv")
    assert [(row.text, row.failed) for row in predictions.rows] == [("", False), ("ABC", False)]
    assert "1 null prediction read as an empty answer" in predictions.damaged[0]


# ---- --columns -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("generation=prediction", r"is reversed: .* prediction=generation"),
        ("prediction=generation,id=index", r"'id=index' is reversed: .* index=id"),
        ("prediction=generation,outputs=golds", "has no 'golds' in any record: correct --columns"),
        ("prediction=generation,finish_reason=reason", "has no 'reason' in any record"),
    ],
)
def test_columns_that_name_nothing_are_refused(columns, words, tmp_path):
    path = write_lines(tmp_path / "vt_4k.jsonl", {"id": 0, "generation": "a", "gold": ["a"]})
    with pytest.raises(RulerError, match=words):
        read(path, columns=columns)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
@pytest.mark.parametrize("name", ["response-qwen2.5-0.5b", "a.b", "model.3.1", "text."])
def test_a_column_may_have_dots(name, suffix, tmp_path):
    frame = pd.DataFrame({"id": [0], name: ["ABC"], "gold": ["['ABC']"]})
    path = tmp_path / f"vt_4k{suffix}"
    if suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    (row,) = read(path, columns=f"prediction={name},outputs=gold").rows
    assert (row.text, row.outputs) == ("ABC", ("ABC",))


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_path_goes_through_keys_with_dots_and_lists(suffix, tmp_path):
    row = {"id": 0, "m.1": {"choices": [{"text.": "no", "message": {"content": "ABC"}}]}}
    path = tmp_path / f"vt_4k{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([row]), path)
    else:
        write_lines(path, row)
    (answer,) = read(path, columns="prediction=m.1.choices.0.message.content").rows
    assert answer.text == "ABC"
