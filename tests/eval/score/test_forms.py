"""Every row and command of docs/formats.md: the file that it names is written and read.

The records have the fields that these versions write; values are made up. Run with lm-eval 0.4.13,
lighteval 0.13.0 and EvalScope 1.14.1; followed in the code that writes the file: NeMo-Skills 0.7.0
(inference/generate.py, evaluation/evaluator/ruler.py), OpenCompass 0.5.3 (its
GenInferencerOutputHandler and SizePartitioner), HELMET at 4526dfb (eval.py), the reference code,
kvpress, ONERULER's evaluate.py.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruler_common.errors import RulerError
from ruler_eval.score.options import PredictionOptions
from ruler_eval.score.predictions import open_predictions
from ruler_eval.score.read import TOOLS
from ruler_eval.score.results import load
from tests.eval.scoring_helpers import column, write_lines
from tests.in_process import ruler_output

ROOT = Path(__file__).parents[3]
A, B = ["ABC", "DEF"], ["GHI", "JKL"]
REASONED = [{"type": "reasoning", "reasoning": "Let me see."}, {"type": "text", "text": "GHI"}]


def documented() -> dict[str, str]:
    """The forms of the table in the documentation, and the path of the file that each names."""
    text = (ROOT / "docs/formats.md").read_text(encoding="utf-8")
    result = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        if len(cells) == 7 and "**" in cells[2]:
            path = cells[2].partition(", ")[0]
            result[cells[1]] = re.sub(r"[`*]", "", path).replace("\\|", "|")
    return result


def lm_eval(index, refs, text, length=4096):
    doc = {"index": index, "input": "…", "outputs": refs, "length": 400, "max_length": length}
    doc["gen_prefix"] = "Answer:"
    made = {"doc_id": index, "doc": doc, "target": str(refs), "arguments": {}, "filter": "none"}
    return {**made, "resps": [[text]], "filtered_resps": [text], "doc_hash": "0", str(length): 1.0}


def nemo(index, refs, text):
    asked = {"index": index, "question": "…", "expected_answer": refs, "length": 400}
    made = {"generation": text, "num_generated_tokens": 9, "finish_reason": "stop"}
    return {**made, **asked, "is_correct": 0.5, "predicted_answer": text}


def opencompass(refs, text):
    turns = [{"role": "HUMAN", "prompt": "… "}, {"role": "HUMAN", "prompt": "?"}]
    return {"origin_prompt": turns, "prediction": text, "gold": refs}


def helmet(refs, text):
    made = {"query": "x", "type_needle_v": "numbers", "question": "x", "answer": refs}
    measured = {"input_len": 8000, "output_len": 50, "ruler_recall": 0.5}
    return {**made, "output": text, "input_text": "…", "parsed_output": text, **measured}


def nemo_gym(index, refs, text):
    parts = [{"type": "output_text", "text": text, "annotations": []}]
    message = {"type": "message", "role": "assistant", "content": parts, "status": "completed"}
    response = {"object": "response", "model": "llama", "output": [message], "error": None}
    asked = {"input": [{"role": "user", "content": "…"}], "max_output_tokens": 30}
    row = {"config": "vt_4k", "index": index, "outputs": refs, "length": 4000, "subset": "vt"}
    result = {"reward": 0.5, "strict": 0.0, "failure_kind": None, "failure_reason": None}
    places = {"_ng_task_index": 7, "_ng_rollout_index": 0, "_ng_result_type": "success"}
    return {"responses_create_params": asked, "response": response, **row, **result, **places}


def lighteval(index, refs, text):
    doc = {"id": str(index), "query": "…", "choices": refs, "gold_index": [0, 1]}
    doc |= {"task_name": "ruler_frozen_4k:vt|0", "specific": {"task": "vt", "none_word": ""}}
    tokens = {"input_tokens": [[1] * 4000], "output_tokens": [[1, 2]]}
    answer = {"input": "…", "text": [text], "text_post_processed": None, **tokens}
    return {"doc": doc, "metric": {"score": 1.0, "strict": 0.0}, "model_response": answer}


def evalscope(index, content, stop="stop"):
    turns = [{"role": "user", "content": "…"}, {"role": "assistant", "content": content}]
    choice = {"message": turns[1], "stop_reason": stop, "logprobs": None}
    usage = {"input_tokens": 400, "output_tokens": 9, "reasoning_tokens": None}
    output = {"model": "org/llama", "choices": [choice], "usage": usage, "error": None}
    made = {"index": index, "model": "org/llama", "model_output": output, "messages": turns}
    return {**made, "agent_trace": None, "metadata": {}}


HELMET_ARGS = {
    "datasets": "ruler_niah_mk_2",
    "test_files": "data/ruler/niah_multikey_2/validation_8192.jsonl",
    "input_max_length": 40960,  # --thinking adds 32768
    "model_name_or_path": "meta-llama/Llama-3.1-8B",
}
KVPRESS = ["predicted_answer", "answer_prefix", "compression_ratio", "task", "question", "answer"]
CASES = {
    "this project's runs": (
        [
            {"config": "vt_4k", "index": index, "prediction": text}
            for index, text in ((0, "ABC"), (1, "GHI"))
        ],
        ["vt_4k", None, None],
    ),
    "the reference code": (
        [
            {"index": index, "pred": text, "input": "…", "outputs": refs, "others": {}}
            for index, refs, text in ((0, A, "ABC"), (1, B, "GHI"))
        ],
        ["vt_4k", True, None],
    ),
    "the reference code's submission": (
        [["Task", "ID", "Prediction"], ["vt", 0, "ABC"], ["vt", 1, "GHI"]],
        ["vt_4k", None, None],
    ),
    "lm-evaluation-harness": (
        [lm_eval(0, A, "ABC"), lm_eval(1, B, "GHI")],
        ["vt_4k", True, "org/model"],
    ),
    "kvpress": (
        [
            KVPRESS,
            ["ABC", "", 0.5, "vt", "Question: Find all. ", "['ABC' 'DEF']"],
            ["GHI", "", 0.5, "vt", "Question: Find. ", "['GHI', 'JKL']"],
        ],
        ["vt_4k", True, "org/model knorm 0.50"],
    ),
    "lighteval": (
        [lighteval(0, A, "ABC"), lighteval(1, B, "GHI")],
        ["vt_4k", True, "org/model"],
    ),
    "OpenCompass": (
        {"0": opencompass(A, "ABC"), "1": opencompass(B, "GHI")},
        ["vt_4k", True, "llama"],
    ),
    "NeMo-Skills": (
        [nemo(0, A, "ABC"), nemo(1, B, "GHI")],
        ["vt_4k", True, None],
    ),
    "NeMo Gym": (
        [nemo_gym(0, A, "ABC"), nemo_gym(1, B, "GHI")],
        ["vt_4k", True, "llama"],
    ),
    "HELMET": (
        {"args": HELMET_ARGS, "data": [helmet(A, "ABC"), helmet(B, "GHI")], "metrics": {}},
        ["vt_4k", True, None],
    ),
    "ONERULER's authors": (
        [
            {"index": 0, "outputs": A, "response-o3": "ABC"},
            {"index": 1, "outputs": B, "response-o3": "GHI", "reasoning_tokens": 9},
        ],
        ["niah_none_8k_pl", True, "o3"],
    ),
    "index and prediction": (
        [["index", "prediction"], [0, "ABC"], [1, "GHI"]],
        ["vt_4k", None, None],
    ),
}
"""What the file holds; and its configuration, whether it has the references, the model's name."""


def written(path, records):
    """A file of records, as its suffix has them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(records)
    elif path.suffix == ".json":
        path.write_text(json.dumps(records, indent=4), encoding="utf-8")
    else:
        write_lines(path, *records)
    return path


def opened(*paths, **options):
    """What `ruler score` reads of files, without a release."""
    return open_predictions(PredictionOptions(paths, **options))[0]


@pytest.mark.parametrize("form", documented())
def test_the_file_of_a_row_is_read_as_the_table_says(form, tmp_path):
    """And its folder, if the table gives one."""
    records, (config, has_references, model) = CASES[form]
    path = written(tmp_path / documented()[form], records)
    if form == "lm-evaluation-harness":
        written(path.with_name("results_2026-01-01T10-00-00.000000.json"), {"model_name": model})
    has_folder = "/" in documented()[form] and form != "this project's runs"
    references = (tuple(A), tuple(B)) if has_references else (None, None)
    for source in (path, tmp_path) if has_folder else (path,):
        predictions = opened(source)
        rows = [(row.config, row.index, row.text) for row in predictions.rows]
        assert rows == [(config, 0, "ABC"), (config, 1, "GHI")]
        assert tuple(row.outputs for row in predictions.rows) == references
        assert predictions.run.get("model") == model


def test_the_table_has_every_form_that_is_read():
    read = {tool.name for tool in TOOLS} - {"a batch's output"}
    assert set(documented()) == read == set(CASES)


# ---- Files of index and prediction, and any others ---------------------------------------------


@pytest.mark.parametrize(
    ("key", "suffix"), [("index", ".jsonl"), ("id", ".json"), ("id", ".csv"), ("index", ".parquet")]
)
def test_index_and_prediction_with_a_configuration_are_enough(key, suffix, tmp_path):
    rows = [{key: 3, "prediction": "A"}, {key: 5, "prediction": "B"}]
    records = [list(rows[0]), *(list(row.values()) for row in rows)] if suffix == ".csv" else rows
    path = written(tmp_path / f"mine{suffix}", records)
    result = [(row.config, row.index, row.text) for row in opened(path, config="cwe_8k").rows]
    assert result == [("cwe_8k", 3, "A"), ("cwe_8k", 5, "B")]
    with pytest.raises(RulerError, match="does not name its configuration: add --config"):
        opened(path)


def test_columns_are_named_of_any_other_file(tmp_path):
    records = {
        "runs": {"id": 3},
        "choices": [{"text": "A"}],
        "gold": ["A"],
        "what": "vt",
        "max": 500,
    }
    path = written(tmp_path / "x.jsonl", [records])
    columns = "prediction=choices.0.text, index=runs.id,outputs=gold,task=what,length=max"
    (row,) = opened(path, columns=columns).rows
    assert (row.config, row.index, row.text, row.outputs) == ("vt_500", 3, "A", ("A",))
    with pytest.raises(RulerError, match="has a missing or wrong field: no 'other'"):
        opened(path, columns="prediction=other,index=runs.id", config="vt_4k")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("prediction", "is not a list of FIELD=COLUMN"),
        ("prediction=a,prediction=b", "is not a list of FIELD=COLUMN"),
        ("predicted=a,index=b", "Did you mean 'prediction'"),
        ("index=a", "must name the prediction"),
        ("prediction=a,outputs=a", "names 'a' as prediction and as outputs"),
    ],
)
def test_unclear_columns_are_refused(columns, words, tmp_path):
    with pytest.raises(RulerError, match=words):
        opened(tmp_path, columns=columns)


HARNESSES = {
    "ruler_qa_squad_4k_0.json": (
        {"0": opencompass(A, "ABC"), "1": opencompass(B, "GHI")},
        ["stop", "stop"],
    ),
    "ruler_niah_mk_2_8192.json": (
        {"args": HELMET_ARGS, "data": [helmet(A, "ABC"), helmet(B, "GHI")], "metrics": {}},
        ["stop", "stop"],
    ),
    "output.jsonl": ([nemo(0, A, "ABC"), nemo(1, B, "GHI")], ["stop", "stop"]),
    "details_vt.parquet": ([lighteval(0, A, "ABC"), lighteval(1, B, "GHI")], ["stop", "stop"]),
    "general_qa_vt.jsonl": (
        [evalscope(0, "ABC"), evalscope(1, REASONED, "max_tokens")],
        ["stop", "length"],
    ),
}
"""What the file of each command holds, and how its answers ended."""


def commands() -> dict[str, list[str]]:
    """The commands in the documentation for other harnesses' files, by the file."""
    text = (ROOT / "docs/formats.md").read_text(encoding="utf-8").partition("## Other harnesses")[2]
    lines = [line.split() for line in text.splitlines() if line.startswith("ruler score ")]
    return {words[2]: words[3:] for words in lines}


def test_every_command_has_a_file():
    assert commands().keys() == HARNESSES.keys()


@pytest.mark.parametrize("name", HARNESSES)
def test_the_command_for_another_harness_reads_its_file(name, built, tmp_path):
    records, endings = HARNESSES[name]
    path, options = written(tmp_path / name, records), commands()[name]
    columns = options[options.index("--columns") + 1]
    config = options[options.index("--config") + 1]
    predictions = opened(path, columns=columns, config=config)
    assert [(row.config, row.index, row.text) for row in predictions.rows] == [
        (config, 0, "ABC"),
        (config, 1, "GHI"),
    ]
    assert [row.finish_reason or "stop" for row in predictions.rows] == endings
    if "--dataset" in options:
        options[options.index("--dataset") + 1] = built
    out = tmp_path / "r.json"
    stdout = ruler_output("score", path, *options, "--out", out)
    scores = column(load(out), "score", config)
    if "outputs=" in columns:
        # one of two references, or in question answering any of them
        assert scores == ([1, 1] if config.startswith("qa") else [0.5, 0.5])
    numbered = "has no index of its rows, which are numbered in order"
    assert (numbered in " ".join(stdout.split())) == (name == "ruler_niah_mk_2_8192.json")


def test_rows_without_an_index_are_numbered_and_an_index_is_read_if_present(tmp_path):
    path = written(tmp_path / "x.jsonl", [{"answer": "A"}, {"answer": "B"}])
    predictions = opened(path, columns="prediction=answer", config="vt_4k")
    assert [row.index for row in predictions.rows] == [0, 1]
    assert predictions.damaged == [f"{path} has no index of its rows, which are numbered in order"]
    written(path, [{"answer": "A", "id": 7}, {"answer": "B", "id": 9}])
    predictions = opened(path, columns="prediction=answer", config="vt_4k")
    assert ([row.index for row in predictions.rows], predictions.damaged) == ([7, 9], [])
    with pytest.raises(RulerError, match="it has no 'row'"):
        opened(path, columns="prediction=answer,index=row", config="vt_4k")


@pytest.mark.parametrize(
    ("separator", "encoding"), [(",", "utf-8-sig"), (";", "utf-16"), ("\t", "utf-8")]
)
def test_a_table_is_read_with_any_separator_and_encoding(separator, encoding, tmp_path):
    path = tmp_path / "vt_4k.csv"
    lines = [("id", "prediction"), ("3", '"ABC, DÉF; x"')]
    path.write_text("\n".join(separator.join(line) for line in lines), encoding=encoding)
    (row,) = opened(path).rows
    assert (row.index, row.text) == (3, "ABC, DÉF; x")


# ---- What is refused ---------------------------------------------------------------------------


def test_a_file_of_no_known_form_is_refused_with_the_simplest_line(tmp_path):
    path = written(tmp_path / "x.jsonl", [{"answer": "A", "row": 1}])
    with pytest.raises(RulerError) as refused:
        opened(path)
    assert "its lines have the fields answer, row." in str(refused.value)
    line = re.search(r"The simplest line is (\{.*?\})\.", str(refused.value))[1]
    path.write_text(line + "\n", encoding="utf-8")
    assert [row.config for row in opened(path).rows] == ["vt_4k"]
    assert "--columns prediction=answer,index=id" in str(refused.value)


@pytest.mark.parametrize("more", [{"response": {"body": {}}, "error": None}, {"body": {}}])
def test_the_output_of_a_batch_names_the_command_that_reads_it(more, tmp_path):
    path = written(tmp_path / "out.jsonl", [{"id": "b", "custom_id": "vt_4k-0", **more}])
    with pytest.raises(RulerError, match=f"`ruler batch read RUN {path}`"):
        opened(path)


def test_a_damaged_second_file_is_named(tmp_path):
    path = written(tmp_path / documented()["lm-evaluation-harness"], [lm_eval(0, A, "x")])
    neighbour = path.with_name("results_2026-01-01T10-00-00.000000.json")
    for text in ("{", "[]"):
        neighbour.write_text(text)
        with pytest.raises(RulerError, match=f"'{neighbour}' is damaged"):
            opened(path)


# ---- Lengths, parts, folders -------------------------------------------------------------------


@pytest.mark.parametrize(
    "folders", ["pl/64000/niah_none", "niah_none/64k/pl", "64000/pl/niah_none"]
)
def test_folders_of_oneruler_may_be_in_any_order(folders, tmp_path):
    line = {"index": 0, "outputs": ["brak"], "response-m": "brak"}
    path = written(tmp_path / "2024/it" / "x" / folders / "prediction_m.jsonl", [line])
    assert [row.config for row in opened(path).rows] == ["niah_none_64k_pl"]


@pytest.mark.parametrize("folders", ["en-ko/niah_none", "niah_none/en-ko"])
def test_folders_without_a_length_take_it_from_the_flag(folders, tmp_path):
    line = {"index": 0, "outputs": ["x"], "response-m": "x"}
    path = written(tmp_path / "2024" / folders / "prediction_m.jsonl", [line])
    assert [row.config for row in opened(path, length="8k").rows] == ["niah_none_8k_en-ko"]
    with pytest.raises(RulerError, match="does not give the length of 'niah_none': add --length"):
        opened(path)
