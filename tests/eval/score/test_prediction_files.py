"""Readers of prediction files: each format as its documentation has it, and what is refused."""

from __future__ import annotations

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.records import Records
from tests.eval.scoring_helpers import read, write_lines


def reference(index, pred="x", **fields):
    return {
        "index": index,
        "pred": pred,
        "input": "…",
        "outputs": ["a", "b"],
        "others": {},
        "truncation": -1,
        "length": 4000,
        **fields,
    }


def sample(doc_id, index, max_length, text):
    return {
        "doc_id": doc_id,
        "doc": {"index": index, "outputs": ["a"], "max_length": max_length, "input": "…"},
        "target": "a",
        "arguments": {"gen_args_0": {"arg_0": "…"}},
        "resps": [[text]],
        "filtered_resps": [text],
    }


def test_this_projects_lines(tmp_path):
    line = {"config": "vt_4k", "index": 3, "prediction": "A", "finish_reason": "length"}
    path = write_lines(tmp_path / "vt_4k.jsonl", line, {**line, "index": 4, "error": "timeout"})
    first, second = read(path).rows
    assert (first.config, first.index, first.text, first.failed) == ("vt_4k", 3, "A", False)
    assert second.failed


def test_the_reference_codes_folder_gives_the_length(tmp_path):
    write_lines(tmp_path / "m/synthetic/8192/pred/vt.jsonl", reference(0), reference(7))
    write_lines(tmp_path / "m/synthetic/131072/pred/qa_1.jsonl", reference(1))
    write_lines(
        tmp_path / "m/synthetic/131072/data/qa_1/validation.jsonl", {"index": 0, "input": "…"}
    )
    rows = read(tmp_path / "m").rows
    assert [(row.config, row.index) for row in rows] == [
        ("qa_1_128k", 1),
        ("vt_8k", 0),
        ("vt_8k", 7),
    ]
    assert rows[0].outputs == ("a", "b")


def test_the_reference_codes_chunks_and_ids(tmp_path):
    path = write_lines(tmp_path / "4096/pred/cwe-1.jsonl", reference(0, others={"id": 12}))
    (row,) = read(path).rows
    assert (row.config, row.index) == ("cwe_4k", 12)


@pytest.mark.parametrize(
    ("name", "task"), [("ruler_qa_squad", "qa_1"), ("niah_single_2", "niah_single_2")]
)
def test_lm_evaluation_harness_samples(tmp_path, name, task):
    path = tmp_path / f"samples_{name}_2025-05-01T10-20-30.123456.jsonl"
    write_lines(path, sample(0, 0, 4096, "a"), sample(1, 0, 8192, "b"))
    rows = read(tmp_path).rows
    assert [(row.config, row.index, row.text) for row in rows] == [
        (f"{task}_4k", 0, "a"),
        (f"{task}_8k", 0, "b"),
    ]


def test_a_length_or_tokenizer_that_is_not_in_a_file_is_an_option(tmp_path):
    path = write_lines(tmp_path / "vt.jsonl", reference(0))
    with pytest.raises(RulerError, match="does not give the length of 'vt': add --length"):
        read(path)
    (row,) = read(path, length="16k", tokenizer="qwen2.5").rows
    assert row.config == "vt_16k_qwen2.5"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"config": "qa_1_4k"}, "has answers for 'vt', but --config is qa_1_4k: leave --config"),
        ({"config": "vt_8k"}, "answers for 4096 tokens, but --config is vt_8k"),
        ({"length": "128k"}, "answers for 4096 tokens, but --length is 128k: leave --length"),
    ],
)
def test_a_file_that_says_otherwise_than_the_caller_is_refused(tmp_path, options, words):
    """Answers of all tasks would be scored as those of one, and 4k's as 128k's."""
    path = write_lines(tmp_path / "4096/pred/vt.jsonl", reference(0))
    with pytest.raises(RulerError, match=words):
        read(path, **options)
    for same in ({"config": "vt_4k"}, {"length": "4k"}):
        assert [row.config for row in read(path, **same).rows] == ["vt_4k"]
    year = write_lines(tmp_path / "2026/pred/validation.jsonl", reference(0))
    assert [row.config for row in read(year, config="vt_8k").rows] == ["vt_8k"]


def test_half_a_line_is_reported_and_left_out(tmp_path):
    path = write_lines(tmp_path / "vt_4k.jsonl", {"config": "vt_4k", "index": 0, "prediction": ""})
    with path.open("a") as file:
        file.write('{"config": "vt_4k", "ind')
    predictions = read(path)
    assert len(predictions.rows) == 1
    assert predictions.damaged == [f"{path}:2 is not JSON"]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (
            {"question": 1, "answer": 2},
            "not in a known format: its lines have the fields answer, question",
        ),
        ([1, 2], "not in a known format: its lines have no fields"),
        ({"index": 0, "pred": None, "others": {"id": "x"}}, "has a missing or wrong field"),
        ({"index": 0, "pred": "a", "others": "{}"}, "a text where an object is meant; name the"),
        (reference(0, outputs=[None]), r"references are '\[None\]', not a list of texts"),
    ],
)
def test_records_that_cannot_be_read_are_refused_with_their_place(tmp_path, record, words):
    path = write_lines(tmp_path / "4096/pred/vt.jsonl", record)
    with pytest.raises(RulerError, match=words):
        read(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("index,prediction,prediction\n0,no,yes\n", "several columns named 'prediction'"),
        ("index,prediction\n0,a\n1\n", "csv:3' has 1 cell and the first line 2"),
        ("index,prediction\n0,ABC, DEF\n", "csv:2' has 3 cells and the first line 2: put"),
        ('index,prediction\n0,"a\n1,"b\n', "csv:3' is not valid CSV"),
    ],
)
def test_a_table_of_which_answers_would_be_read_in_part_is_refused(tmp_path, text, words):
    path = tmp_path / "vt_4k.csv"
    path.write_text(text)
    with pytest.raises(RulerError, match=words):
        read(path)


def test_unknown_tasks_empty_folders_and_missing_files_are_refused(tmp_path):
    path = write_lines(tmp_path / "4096/pred/vtt.jsonl", reference(0))
    with pytest.raises(RulerError, match="Unknown task 'vtt'"):
        read(path)
    path = tmp_path / "excel.csv"  # only 'cwe' is a little like it
    path.write_text("index,prediction\n0,1234567\n")
    with pytest.raises(RulerError, match="does not name its configuration: add --config"):
        read(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RulerError, match="has no prediction files"):
        read(tmp_path / "empty")
    with pytest.raises(RulerError, match="no file or folder"):
        read(tmp_path / "nowhere")
    Records(tmp_path / "begun").write_settings({"model": "m"})
    with pytest.raises(RulerError, match="is a run without an answer yet: continue it"):
        read(tmp_path / "begun")


@pytest.mark.parametrize(
    ("lengths", "is_noted"),
    [
        ([1000, 1000, 1000, 40], True),
        ([255, 255, 255], True),
        ([32767, 40, 90], True),
        ([1000, 1000, 1000, 1001], False),
        ([1000, 40, 90], False),
        ([937, 937, 937], False),
        ([100, 100, 100], False),
    ],
)
def test_answers_that_a_table_cut_at_its_limit_are_noted(tmp_path, lengths, is_noted):
    lines = []
    for index, length in enumerate(lengths):
        text = f"{index} ".ljust(length, "x")
        lines.append({"config": "vt_4k", "index": index, "prediction": text, "outputs": ["A"]})
    notes = read(write_lines(tmp_path / "vt_4k.jsonl", *lines)).damaged
    assert any("were they cut there" in note for note in notes) is is_noted


def test_answers_that_ended_at_their_token_limit_are_not_called_cut(tmp_path):
    """A model that repeats two characters up to 128 tokens."""
    lines = []
    for index in range(5):
        fields = {"config": "niah_single_1_4k", "index": index, "outputs": ["1234567"]}
        lines.append({**fields, "prediction": f"{index}." * 128, "finish_reason": "length"})
    notes = read(write_lines(tmp_path / "niah_single_1_4k.jsonl", *lines)).damaged
    assert not any("were they cut there" in note for note in notes)
