"""Batch files: what is written, by which limits, and what is made of any answer."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import ruler_dataset
from ruler_common.rows import row_order
from ruler_eval.run.records import Records, read_lines
from tests.eval.run import tiny_model
from tests.eval.scoring_helpers import ruler

pytestmark = pytest.mark.skipif(
    find_spec("openai") is None, reason="the openai extra is not installed"
)


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    tiny_model.write_tokenizer(folder)
    return folder


@pytest.fixture
def write(small: Path, tokenizer: Path, tmp_path: Path) -> Any:
    """`ruler batch write` of two configurations with five rows each."""

    def command(
        *more: object, configs: str = "some_4k", model: object = "m"
    ) -> tuple[str, str, int]:
        arguments = ["--dataset", small, "--configs", configs, "--model", model]
        return ruler("batch", "write", *arguments, "--out", tmp_path / "RUN", *more)

    return command


OPENAI = ("--api", "openai")


def requests(run: Path) -> list[dict[str, Any]]:
    files = sorted((run / "batch").glob("requests-*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def answer(custom_id: str, text: str = "42", reason: str = "stop", **body: Any) -> dict[str, Any]:
    """A line of an output file, as batch APIs and vLLM write it."""
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 900, "completion_tokens": 9, "total_tokens": 909}
    choices = [{"index": 0, "message": message, "finish_reason": reason}]
    completion = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    whole = {**completion, "choices": choices, "usage": usage, **body}
    response = {"status_code": 200, "request_id": "r", "body": whole}
    return {"id": "b", "custom_id": custom_id, "response": response, "error": None}


def save(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def states(run: Path) -> dict[str, str]:
    found = [record for path in sorted(run.glob("*_4k.jsonl")) for record in read_lines(path)]
    return {f"{record['config']}/{record['index']}": record["finish_reason"] for record in found}


def test_a_request_is_a_row_for_the_chat_endpoint(write: Any, small: Path, tmp_path: Path) -> None:
    stdout, _, code = write(*OPENAI)
    assert code == 0
    assert "10 rows, in 1 file:" in stdout
    assert "The budget is unchecked" in stdout
    first, *_ = found = sorted(requests(tmp_path / "RUN"), key=lambda line: line["custom_id"])
    assert [line["custom_id"] for line in found] == [
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


def test_vllm_continues_the_answer_prefix_and_counts_the_budget(
    write: Any, tokenizer: Path, tmp_path: Path
) -> None:
    stdout, _, code = write("--tokenizer", tokenizer, "--max-model-len", 8192)
    assert code == 0
    assert "unchecked" not in stdout
    assert "vllm run-batch -i" in stdout
    body = requests(tmp_path / "RUN")[0]["body"]
    assert body["messages"][-1]["role"] == "assistant"
    assert body["messages"][-1]["content"].startswith("The special magic number")
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    assert body["top_k"] == -1
    assert body["max_tokens"] == 128
    kept = json.loads((tmp_path / "RUN" / "run.json").read_text())
    assert (kept["backend"], kept["mode"], kept["budget"]) == ("batch", "prefill", "tokenizer")
    assert len(kept["template_sha256"]) == 64


def test_rows_over_the_window_are_recorded_and_not_written(
    write: Any, tokenizer: Path, tmp_path: Path
) -> None:
    stdout, _, _ = write("--tokenizer", tokenizer, "--max-model-len", 600)
    assert "10 rows do not fit the model's window" in stdout
    assert "Nothing to write." in stdout
    assert set(states(tmp_path / "RUN").values()) == {"does_not_fit"}
    assert requests(tmp_path / "RUN") == []


def test_files_keep_to_the_limits_of_batch_apis(write: Any, tmp_path: Path) -> None:
    stdout, _, _ = write(*OPENAI, "--max-lines", "4")
    sizes = [len(path.read_text().splitlines()) for path in files(tmp_path / "RUN")]
    assert sizes == [4, 4, 2]
    assert "10 rows, in 3 files:" in stdout
    assert write(*OPENAI, "--max-lines", "50001")[2] == 2


def files(run: Path) -> list[Path]:
    return sorted((run / "batch").glob("requests-*.jsonl"))


def test_a_file_holds_200_megabytes_at_most(tmp_path: Path) -> None:
    from ruler_eval.run.batch.batch_files import MOST_BYTES, MOST_LINES, BatchFolder

    assert (MOST_LINES, MOST_BYTES) == (50_000, 200_000_000)
    row: Any = {"config": "vt_4k", "index": 0, "prompt_tokens": None, "opening": None}
    row |= {"max_new_tokens": 30, "reasoning_tokens": 0, "row_tokens": 4000}
    folder = BatchFolder(tmp_path / "batch")
    lines = [(row | {"index": index}, b"x" * 39 + b"\n") for index in range(5)]
    assert [path.stat().st_size for path in folder.write(lines, most_bytes=80)] == [80, 80, 40]
    assert len(folder.asked()) == 5
    with pytest.raises(ruler_dataset.RulerError, match="40 bytes is over the limit of 39"):
        folder.write(lines, most_bytes=39)
    assert [path.stat().st_size for path in folder.request_files()] == [80, 80, 40]  # untouched
    assert [path.name for path in tmp_path.glob("batch/.writing-*")] == []


def test_answers_become_the_records_of_a_run_and_are_scored(
    write: Any, small: Path, tmp_path: Path
) -> None:
    write(*OPENAI)
    run = tmp_path / "RUN"
    rows = {config: ruler_dataset.load(small, config) for config in ("niah_single_1_4k", "vt_4k")}
    lines = [
        answer(f"{config}/{row['index']}", " ".join(row["outputs"]))
        for config, data in rows.items()
        for row in data
    ]
    stdout, _, code = ruler("batch", "read", run, save(tmp_path / "out.jsonl", *reversed(lines)))
    assert code == 0
    assert "No failures: 10 rows answered." in stdout
    records = list(read_lines(run / "vt_4k.jsonl"))
    assert [record["index"] for record in records] == [0, 1, 2, 3, 4]
    assert records[0]["usage"] == {
        "prompt_tokens": 900,
        "completion_tokens": 9,
        "thinking_tokens": 0,
        "cached_tokens": None,
    }
    assert set(states(run).values()) == {"stop"}
    stdout, _, code = ruler("score", run, "--dataset", small)
    assert code == 0
    assert "100.0" in stdout
    assert len(json.loads((run / "run.json").read_text())["sessions"]) == 2


def test_failed_expired_and_missing_rows_are_counted_and_written_again(
    write: Any, tmp_path: Path
) -> None:
    write(*OPENAI, configs="vt_4k")
    run = tmp_path / "RUN"
    expired = {"code": "batch_expired", "message": "This request could not be executed in time."}
    refused = {"status_code": 400, "body": {"error": {"message": "too\nlong", "code": "x"}}}
    vllm = {"error": {"message": "no such model", "code": 404}, "object": "error"}
    lines = [
        answer("vt_4k/0", "an answer", "length"),
        {"id": "b", "custom_id": "vt_4k/1", "response": refused, "error": None},
        {"id": "b", "custom_id": "vt_4k/2", "response": None, "error": expired},
        {"custom_id": "vt_4k/3", "response": {"status_code": 404, "body": None}, "error": vllm},
    ]
    stdout, _, code = ruler("batch", "read", run, save(tmp_path / "out.jsonl", *lines))
    assert code == 1
    assert "2 of 5 rows FAILED; the first: vt_4k row 1: HTTP 400: too long" in stdout
    assert "2 of 5 rows have no answer yet (1 expired)" in stdout
    # 9 tokens of 30 asked for: an API that shortens answers is seen, as in `ruler run`
    assert states(run)["vt_4k/0"] == "does_not_fit"
    errors = {r["index"]: r["error"] for r in read_lines(run / "vt_4k.jsonl")}
    assert errors[3] == "HTTP 404: no such model"

    stdout, _, _ = write(*OPENAI, configs="vt_4k")
    assert "3 rows with a record already: not written." in stdout
    assert [line["custom_id"] for line in requests(run)] == ["vt_4k/2", "vt_4k/4"]
    write(*OPENAI, "--retry-failed", configs="vt_4k")
    assert sorted(line["custom_id"] for line in requests(run)) == [
        f"vt_4k/{index}" for index in (1, 2, 3, 4)
    ]
    late = [answer(f"vt_4k/{index}") for index in range(5)]
    stdout, _, code = ruler("batch", "read", run, save(tmp_path / "late.jsonl", *late))
    assert code == 0
    assert "Read now: 4 answers, 1 of rows that had one." in stdout
    assert set(states(run).values()) == {"stop", "does_not_fit"}
    assert "Nothing to write." in write(*OPENAI, configs="vt_4k")[0]


def test_an_answer_stands_before_a_failure_and_the_first_answer_counts(
    write: Any, tmp_path: Path
) -> None:
    write(*OPENAI, configs="vt_4k")
    failed = {"custom_id": "vt_4k/0", "response": {"status_code": 500}, "error": "server busy"}
    lines = [failed, answer("vt_4k/0", "first"), answer("vt_4k/0", "second"), failed]
    stdout, _, _ = ruler("batch", "read", tmp_path / "RUN", save(tmp_path / "out.jsonl", *lines))
    assert "Read now: 2 answers, 2 of rows that had one." in stdout
    found = Records(tmp_path / "RUN").of("vt_4k")
    assert found[0]["prediction"] == "first"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (answer("vt_4k/99"), "answers 'vt_4k/99', which this run never asked"),
        ({"custom_id": "vt_4k/0", "method": "POST", "body": {}}, "is a request and no answer"),
        ({"id": "x"}, "line 2, is not an answer of a batch"),
    ],
)
def test_a_file_of_something_else_is_refused_before_anything_is_recorded(
    write: Any, tmp_path: Path, line: dict[str, Any], message: str
) -> None:
    write(*OPENAI, configs="vt_4k")
    file = save(tmp_path / "out.jsonl", answer("vt_4k/0"), line)
    _, error, code = ruler("batch", "read", tmp_path / "RUN", file)
    assert code == 2
    assert message in error
    assert states(tmp_path / "RUN") == {}


@pytest.mark.parametrize(
    "body", [{"choices": []}, {"choices": None}, {"choices": [{"message": 3}]}]
)
def test_a_broken_body_is_that_rows_failure(write: Any, tmp_path: Path, body: Any) -> None:
    write(*OPENAI, configs="vt_4k")
    file = save(tmp_path / "out.jsonl", answer("vt_4k/0", **body))
    ruler("batch", "read", tmp_path / "RUN", file)
    assert states(tmp_path / "RUN") == {"vt_4k/0": "error"}


def test_an_empty_error_beside_an_answer_is_none(write: Any, tmp_path: Path) -> None:
    write(*OPENAI)
    lines = [{**answer(f"vt_4k/{row}"), "error": error} for row, error in enumerate(({}, "", []))]
    ruler("batch", "read", tmp_path / "RUN", save(tmp_path / "output.jsonl", *lines))
    assert states(tmp_path / "RUN") == {f"vt_4k/{row}": "stop" for row in range(3)}


def test_reasoning_is_taken_out_of_the_answer(write: Any, tmp_path: Path) -> None:
    write(*OPENAI, "--thinking", "100", configs="vt_4k")
    assert requests(tmp_path / "RUN")[0]["body"]["max_completion_tokens"] == 130
    file = save(tmp_path / "out.jsonl", answer("vt_4k/0", "<think>well</think> AB"))
    ruler("batch", "read", tmp_path / "RUN", file)
    (record,) = read_lines(tmp_path / "RUN" / "vt_4k.jsonl")
    assert (record["thinking"], record["prediction"].strip()) == ("well", "AB")


def test_what_cannot_be_a_batch_is_one_sentence(
    write: Any, small: Path, tmp_path: Path, tokenizer: Path
) -> None:
    def error(*more: object) -> str:
        _, text, code = write(*more)
        assert code == 2
        return text

    assert "Batch files hold chat requests alone" in error(*OPENAI, "--mode", "completion")
    assert "not known to continue" in error(*OPENAI, "--mode", "prefill")
    assert "Unknown API 'opena'. Did you mean 'openai'?" in error("--api", "opena")
    assert "--temperature takes" in error(*OPENAI, "--temperature", "-1")
    bare = tmp_path / "bare"
    tiny_model.write_tokenizer(bare, template=None)
    assert "has no chat template" in error("--tokenizer", bare)
    assert not (tmp_path / "RUN").exists()
    write(*OPENAI)
    assert "was run with" in error(*OPENAI, "--seed", "1")
    _, text, code = ruler("batch", "read", tmp_path / "none", tmp_path / "out.jsonl")
    assert (code, "is not a run of batch files" in text) == (2, True)


def test_a_run_of_another_backend_is_not_mixed_with_a_batch(
    write: Any, small: Path, tmp_path: Path
) -> None:
    arguments = ["--dataset", small, "--configs", "vt_4k", "--backend", "oracle"]
    ruler("run", *arguments, "--out", tmp_path / "RUN")
    _, error, code = write(*OPENAI, configs="niah_single_1_4k")
    assert (code, "was run with" in error) == (2, True)


def test_only_the_first_rows_are_written_with_a_limit(write: Any, tmp_path: Path) -> None:
    stdout, _, _ = write(*OPENAI, "--limit", "2")
    assert "4 rows, in 1 file:" in stdout
    found = [line["custom_id"].split("/")[-2:] for line in requests(tmp_path / "RUN")]
    first = {
        task: row_order("1.0.0", "ruler", task, "4k", 5)[:2] for task in ("niah_single_1", "vt")
    }
    assert sorted(found) == sorted(
        [f"{task}_4k", str(index)] for task, indices in first.items() for index in indices
    )


def test_what_a_server_wrote_cannot_steer_the_terminal(write: Any, tmp_path: Path) -> None:
    write(*OPENAI, configs="vt_4k")
    refused = {
        "custom_id": "vt_4k/0",
        "response": None,
        "error": "\x1b[31mred\u202e [bold]x[/bold]",
    }
    stdout, _, _ = ruler("batch", "read", tmp_path / "RUN", save(tmp_path / "out.jsonl", refused))
    assert "the first: vt_4k row 0: \\x1b[31mred\\u202e [bold]x[/bold]" in stdout
