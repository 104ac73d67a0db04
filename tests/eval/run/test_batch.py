"""Batch files: the requests, their limits, and how answers are read."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import ruler_dataset
from ruler_common.errors import RulerError
from ruler_common.rows import row_order
from ruler_eval.run import batch
from ruler_eval.run.options import RunOptions
from ruler_eval.run.progress import RunSummary
from ruler_eval.run.records import Records
from ruler_eval.run.runner import run
from tests.eval.run import tiny_model
from tests.eval.scoring_helpers import write_lines
from tests.in_process import ruler_output

pytestmark = pytest.mark.skipif(
    find_spec("transformers") is None, reason="the openai extra is not installed"
)


@pytest.fixture
def tokenizer(tokenizer_folder: Path) -> str:
    return str(tokenizer_folder)


@pytest.fixture
def options(small: Path, tmp_path: Path) -> RunOptions:
    """Return the options of a batch for OpenAI: two configurations with five rows each."""
    run = {"configs": "some_4k", "backend": "batch", "model": "m", "provider": "openai"}
    return RunOptions(small, out=tmp_path / "RUN", **run)


@pytest.fixture
def vt(options: RunOptions) -> RunOptions:
    return replace(options, configs="vt_4k")


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., RunSummary]:
    """Read answers into the run."""

    def read(*lines: dict[str, Any]) -> RunSummary:
        path = tmp_path / "answers.jsonl"
        write_lines(path, *lines)
        return run(batch.options_to_read(tmp_path / "RUN", [path]))

    return read


def requests(folder: Path) -> list[dict[str, Any]]:
    """Return the requests of a run, without the digest at the end of their names."""
    files = batch.request_files(folder)
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    return [{**line, "custom_id": line["custom_id"].rpartition("/")[0]} for line in lines]


def answer(custom_id: str, text: str = "42", reason: str = "stop", **body: Any) -> dict[str, Any]:
    """Return a line of an output file, as batch APIs and vLLM write it."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 900, "completion_tokens": 9, "total_tokens": 909}
    choices = [{"index": 0, "message": message, "finish_reason": reason}]
    completion = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    whole = {**completion, "choices": choices, "usage": usage, **body}
    response = {"status_code": 200, "request_id": "r", "body": whole}
    return {"id": "b", "custom_id": custom_id, "response": response, "error": None}


def failure(custom_id: str, status: int, error: Any) -> dict[str, Any]:
    """Return a line of an error file."""
    response = {"status_code": status, "body": {"error": error}}
    return {"id": "b", "custom_id": custom_id, "response": response, "error": None}


def states(folder: Path) -> dict[str, str]:
    records = Records(folder).read()
    return {f"{record['config']}/{record['index']}": record["finish_reason"] for record in records}


def test_a_request_is_a_row_for_the_chat_endpoint(options, small):
    assert run(options).missing == 10
    first, *_ = result = sorted(requests(options.folder), key=lambda line: line["custom_id"])
    assert [line["custom_id"] for line in result] == [
        f"{task}_4k/{index}" for task in ("niah_single_1", "vt") for index in range(5)
    ]
    row = ruler_dataset.load(small, "niah_single_1_4k")[0]
    assert first == {
        "custom_id": "niah_single_1_4k/0",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "m",
            "messages": [{"role": "user", "content": row["input"]}],
            "max_completion_tokens": 128,
            "temperature": 0.0,
            "top_p": 1.0,
            "seed": 0,
        },
    }


def test_answers_of_another_model_are_noted(vt, tmp_path, capfd):
    """The output of another run, whose requests have the same names."""
    run(vt)
    path = tmp_path / "answers.jsonl"
    write_lines(path, *(answer(f"vt_4k/{index}", model="other") for index in range(5)))
    run(replace(batch.options_to_read(vt.folder, [path]), progress=True))
    printed = " ".join(capfd.readouterr().err.split())
    assert printed.count("the answers are of the model 'other', and not of 'm'") == 1


@pytest.mark.parametrize("second", ["42", "43"])
def test_another_answer_to_a_request_is_noted(vt, tmp_path, capfd, second):
    """The requests were sent twice; the same file may be given twice."""
    run(vt)
    path = tmp_path / "answers.jsonl"
    write_lines(path, answer("vt_4k/0"), answer("vt_4k/0", second))
    run(replace(batch.options_to_read(vt.folder, [path]), progress=True))
    printed = " ".join(capfd.readouterr().err.split())
    assert ("1 answer to a request that had another answer already" in printed) is (second == "43")


def test_vllm_continues_the_answer_prefix_and_counts_the_budget(options, tokenizer):
    run(replace(options, provider=None, tokenizer=tokenizer, max_model_len=8192))
    body = requests(options.folder)[0]["body"]
    assert body["messages"][-1]["role"] == "assistant"
    assert body["messages"][-1]["content"].startswith("The special magic number")
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    assert body["top_k"] == -1
    assert body["max_tokens"] == 128
    kept = json.loads((options.folder / "run.json").read_text())
    assert (kept["backend"], kept["mode"], kept["budget"]) == ("batch", "prefill", "tokenizer")
    assert len(kept["template_sha256"]) == 64


def test_rows_over_the_window_are_recorded_and_not_written(options, tokenizer):
    with pytest.raises(RulerError, match="No row fits the model's context window; the first: "):
        run(replace(options, provider=None, tokenizer=tokenizer, max_model_len=600))
    assert set(states(options.folder).values()) == {"does_not_fit"}
    assert requests(options.folder) == []


def test_files_keep_to_the_limits_of_batch_apis(options, monkeypatch):
    monkeypatch.setattr(batch, "MAX_LINES", 4)
    run(options)
    files = batch.request_files(options.folder)
    assert [len(path.read_text().splitlines()) for path in files] == [4, 4, 2]
    monkeypatch.setattr(batch, "MAX_BYTES", files[0].stat().st_size - 1)
    run(options)
    files = batch.request_files(options.folder)
    assert sum(len(path.read_text().splitlines()) for path in files) == 10
    assert len(files) == 4
    assert all(path.stat().st_size <= batch.MAX_BYTES for path in files)


def test_request_files_of_a_killed_process_are_replaced(options):
    path = options.folder / "batch/requests-007.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("half a li")
    run(options)
    assert len(requests(options.folder)) == 10
    assert not path.exists()


def test_answers_become_the_records_of_a_run_and_are_scored(options, read, small):
    run(options)
    rows = {config: ruler_dataset.load(small, config) for config in ("niah_single_1_4k", "vt_4k")}
    lines = [
        answer(f"{config}/{row['index']}", " ".join(row["outputs"]))
        for config, data in rows.items()
        for row in data
    ]
    summary = read(*reversed(lines))
    assert (summary.total, summary.missing) == ({"stop": 10}, 0)
    records = [record for record in Records(options.folder).read() if record["config"] == "vt_4k"]
    assert sorted(record["index"] for record in records) == [0, 1, 2, 3, 4]
    assert records[0]["usage"] == {
        "prompt_tokens": 900,
        "completion_tokens": 9,
        "thinking_tokens": 0,
        "cached_tokens": None,
    }
    stdout = ruler_output("score", options.folder, "--dataset", small)
    assert "100.0" in stdout
    assert len(Records(options.folder).sessions()) == 2


def test_failed_expired_and_missing_rows_are_counted_and_written_again(vt, read):
    run(vt)
    expired = {"code": "batch_expired", "message": "This request could not be executed in time."}
    refused = {"status_code": 400, "body": {"error": {"message": "too\nlong", "code": "x"}}}
    vllm = {"error": {"message": "no such route", "code": 404}, "object": "error"}
    summary = read(
        answer("vt_4k/0", "an answer", "length"),
        {"id": "b", "custom_id": "vt_4k/1", "response": refused, "error": None},
        {"id": "b", "custom_id": "vt_4k/2", "response": None, "error": expired},
        {"custom_id": "vt_4k/3", "response": {"status_code": 404, "body": None}, "error": vllm},
    )
    assert (summary.total["error"], summary.missing) == (2, 2)
    assert summary.lines()[0].startswith("2 of 3 rows FAILED; the first: vt_4k row ")
    assert "2 rows have no answer yet." in summary.lines()
    # 9 tokens of 30 asked for: an API that shortens answers is seen, as in `ruler run`
    assert states(vt.folder)["vt_4k/0"] == "does_not_fit"
    errors = {record["index"]: record["error"] for record in Records(vt.folder).read()}
    assert errors[1] == "HTTP 400: too long"
    assert errors[3] == "HTTP 404: no such route"

    run(vt)
    assert sorted(line["custom_id"] for line in requests(vt.folder)) == ["vt_4k/2", "vt_4k/4"]
    run(replace(vt, retry_failed=True))
    assert sorted(line["custom_id"] for line in requests(vt.folder)) == [
        f"vt_4k/{index}"
        for index in range(5)  # also the one whose answer was shortened
    ]
    summary = read(*(answer(f"vt_4k/{index}") for index in range(5)))
    assert (summary.total, summary.missing) == ({"stop": 5}, 0)


def test_an_answer_replaces_a_failure_and_the_first_answer_counts(vt, read):
    run(vt)
    failed = {"custom_id": "vt_4k/0", "response": {"status_code": 500}, "error": "server busy"}
    read(failed, answer("vt_4k/0", "first"), answer("vt_4k/0", "second"), failed)
    (record,) = Records(vt.folder).read()
    assert record["prediction"] == "first"


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ({"response": {"status_code": 429, "body": {"error": "slow down"}}, "error": None}, None),
        ({"response": {"status_code": 200, "body": {"error": {"code": 503}}}, "error": None}, None),
        ({"response": None, "error": {"code": "batch_cancelled", "message": "stopped"}}, None),
        (
            {
                "response": {
                    "status_code": 400,
                    "body": {"error": {"code": "context_length_exceeded", "message": "too long"}},
                }
            },
            "does_not_fit",
        ),
        ({"response": {"status_code": 500, "body": None}, "error": "out of memory"}, "error"),
    ],
)
def test_a_line_means_what_the_same_reply_of_a_server_means(vt, read, line, state):
    run(vt)
    read({"custom_id": "vt_4k/0", **line})
    assert states(vt.folder) == ({} if state is None else {"vt_4k/0": state})


@pytest.mark.parametrize(
    ("status", "error", "remedy"),
    [
        (429, {"message": "no", "code": "insufficient_quota"}, "Add credit"),
        (401, {"message": "Incorrect API key provided"}, "Set OPENAI_API_KEY"),
        (404, {"message": "The model `m` does not exist"}, "Correct --model"),
    ],
)
def test_a_key_a_quota_or_a_model_leaves_rows_missing_and_is_named(
    vt, tmp_path, capfd, status, error, remedy
):
    """No row has failed by itself: with another key the same requests are answered."""
    run(vt)
    refused = [failure(f"vt_4k/{index}", status, error) for index in range(1, 5)]
    write_lines(tmp_path / "answers.jsonl", answer("vt_4k/0"), *refused)
    options = batch.options_to_read(vt.folder, [tmp_path / "answers.jsonl"])
    summary = run(replace(options, progress=True))
    assert (dict(summary.total), summary.missing) == ({"stop": 1}, 4)
    assert remedy in " ".join(capfd.readouterr().err.split())


def test_a_field_that_every_request_is_refused_for_is_named_with_the_flag_that_helps(
    vt, tmp_path, capfd
):
    run(vt)
    error = {"message": "Unsupported value: 'seed'", "param": "seed"}
    refused = [failure(f"vt_4k/{index}", 400, error) for index in range(5)]
    write_lines(tmp_path / "answers.jsonl", *refused)
    options = batch.options_to_read(vt.folder, [tmp_path / "answers.jsonl"])
    assert dict(run(replace(options, progress=True)).total) == {"error": 5}
    assert "--omit seed" in " ".join(capfd.readouterr().err.split())


def test_an_answer_without_a_status_around_it_is_read(vt, read):
    run(vt)
    line = answer("vt_4k/0")
    line["response"] = line["response"]["body"]
    assert dict(read(line).total) == {"stop": 1}


@pytest.mark.parametrize(
    "write",
    [
        lambda lines: gzip.compress("\n".join(map(json.dumps, lines)).encode()),
        lambda lines: json.dumps(lines, indent=1).encode(),
        lambda lines: json.dumps({"results": lines}).encode(),
        lambda lines: b"\xef\xbb\xbf" + "\r\n".join(map(json.dumps, lines)).encode(),
    ],
    ids=["compressed", "a list", "a document", "of Windows"],
)
def test_an_output_file_is_read_in_every_form(vt, write, tmp_path):
    run(vt)
    path = tmp_path / "output"
    lines = [answer("vt_4k/0"), answer("vt_4k/1")]
    lines[1]["response"]["body"] = json.dumps(lines[1]["response"]["body"])
    path.write_bytes(write(lines))
    assert dict(run(batch.options_to_read(vt.folder, [path])).total) == {"stop": 2}


def test_each_sample_of_a_row_is_a_request(vt, read):
    vt = replace(vt, repeats=3, temperature=0.7, limit=1)
    run(vt)
    result = {line["custom_id"]: line["body"]["seed"] for line in requests(vt.folder)}
    (name,) = (name for name in result if name.count("/") == 1)
    assert result == {name: 0, f"{name}/1": 1, f"{name}/2": 2}
    assert read(answer(name, "a"), answer(f"{name}/2", "c")).missing == 1
    records = Records(vt.folder).read()
    assert {record["sample"]: record["prediction"] for record in records} == {0: "a", 2: "c"}
    run(vt)
    assert [line["custom_id"] for line in requests(vt.folder)] == [f"{name}/1"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (answer("vt_4k/99"), "answers 'vt_4k/99', which is not a row of this run"),
        (answer("other/0"), "answers 'other/0', which is not a row of this run"),
        ({"custom_id": "vt_4k/0", "method": "POST", "body": {}}, "is a request, not an answer"),
        ({"custom_id": "vt_4k/0", "result": {}}, "is in the form of another API, not an answer"),
        ({"id": "x"}, "answers.jsonl:2' is not an answer of a batch"),
    ],
)
def test_a_file_that_has_no_answers_of_this_run_is_refused(vt, read, line, message):
    run(vt)
    with pytest.raises(RulerError, match=message):
        read(answer("vt_4k/0"), line)
    assert states(vt.folder) == {}


def test_answers_to_the_rows_of_another_release_are_refused(vt, read):
    run(vt)
    (file,) = batch.request_files(vt.folder)
    name = json.loads(file.read_text().splitlines()[0])["custom_id"]
    other = f"{name.rpartition('/')[0]}/00000000"
    with pytest.raises(RulerError, match=f"answers '{other}', which is not a row of this run"):
        read(answer(name), answer(other))
    assert states(vt.folder) == {}
    assert read(answer(name)).missing == 4


def test_a_malformed_body_fails_its_row(vt, read):
    run(vt)
    read(answer("vt_4k/0", choices=[]))
    assert states(vt.folder) == {"vt_4k/0": "error"}


def test_options_that_batch_files_do_not_support_are_refused(options, tmp_path, tokenizer):
    bare = tmp_path / "bare"
    tiny_model.write_tokenizer(bare, template=None)
    for change, sentence in (
        ({"mode": "completion"}, "Batch files have only chat requests"),
        ({"mode": "prefill"}, "OpenAI does not continue an assistant's turn"),
        ({"provider": "vlm"}, "Unknown provider 'vlm'. Did you mean 'vllm'?"),
        ({"provider": None, "tokenizer": str(bare)}, "has no chat template"),
    ):
        with pytest.raises(RulerError, match=sentence):
            run(replace(options, **change))
    run(options)
    with pytest.raises(RulerError, match=r"was run with sampling\.seed = 0, not 1"):
        run(replace(options, seed=1))
    with pytest.raises(RulerError, match="is not a run of batch files"):
        batch.options_to_read(tmp_path / "none", [])


def test_only_the_first_rows_are_written_with_a_limit(options):
    assert run(replace(options, limit=2)).missing == 4
    result = [line["custom_id"].split("/") for line in requests(options.folder)]
    first = {
        task: row_order("1.0.0", "ruler", task, "4k", 5)[:2] for task in ("niah_single_1", "vt")
    }
    assert sorted(result) == sorted(
        [f"{task}_4k", str(index)] for task, indices in first.items() for index in indices
    )
