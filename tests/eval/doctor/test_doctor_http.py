"""`ruler doctor` against a real HTTP server with one fault, from the command to the exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.frozen_release import Release
from ruler_eval.run.prompts import load_tokenizer
from ruler_eval.run.records import read_records
from tests.eval.doctor.faulty_engine import EXPECTED, FaultyEngine, served, write_release
from tests.eval.run.tiny_model import write_tokenizer
from tests.in_process import Printed, ruler, ruler_error
from tests.model_server import Reply, answer, model_server

pytestmark = pytest.mark.skipif(
    find_spec("transformers") is None, reason="the openai extra is not installed"
)
ROWS = 64
CONFIG = "niah_single_1_4k"
NIGHTLY = pytest.mark.nightly
QUICK = ("cache",)
SLOW = sorted({*EXPECTED} - {*QUICK})
WHY = {
    "cache": "github.com/LMCache",
    "load": "--max-num-seqs",
    "template": "--chat-template FILE",
    "bos": "add_special_tokens",
    "truncation": "--max-model-len",
    "noise": "VLLM_BATCH_INVARIANT",
}
"""What the remedy has to name on vLLM."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("doctor") / "ruler", rows=ROWS)


@pytest.fixture(scope="module")
def values(root: Path) -> dict[int, str]:
    rows = Release.open(str(root)).rows(CONFIG, ("index", "outputs"))
    return {row["index"]: row["outputs"][0] for row in rows}


def doctor(root: Path, out: Path, url: str, *flags: object) -> tuple[Printed, dict[str, Any]]:
    """Run `ruler doctor` on a server; what it printed, and its verdict."""
    verdict = out / "verdict.json"
    printed = ruler(
        *("doctor", "--base-url", url, "--model", "m", "--dataset", root),
        *(("--rows", ROWS) if "--rows" not in flags else ()),
        *("--out", out / "answers", "--json", verdict, *flags),
    )
    return printed, json.loads(verdict.read_text()) if verdict.is_file() else {}


def condition(verdict: Mapping[str, Any], name: str) -> dict[str, Any]:
    (record,) = [record for record in verdict["conditions"] if record["name"] == name]
    return record


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("fault", [*QUICK, *(pytest.param(kind, marks=NIGHTLY) for kind in SLOW)])
def test_the_condition_that_a_fault_violates_is_named(fault, root, values, tmp_path):
    engine = FaultyEngine(values, fault=fault, loss=0.5, delay=0.03 if fault == "load" else 0.0)
    flags: list[object] = ["--mode", "completion"]
    tokenizer = None
    if fault in ("template", "bos"):
        write_tokenizer(tmp_path / "tokenizer")
        tokenizer = load_tokenizer(str(tmp_path / "tokenizer"))
        flags = ["--tokenizer", tmp_path / "tokenizer"]
        flags += ["--mode", "prefill" if fault == "template" else "completion"]
    elif fault == "truncation":
        engine.loss = 0.8  # without a tokenizer only a large cut is certain
    with served(engine, tokenizer) as server:
        printed, verdict = doctor(root, tmp_path, server.url, *flags)
    assert printed.code == 1, printed
    assert verdict["conditions"][0]["name"] == EXPECTED[fault], printed.stdout
    assert verdict["conditions"][0]["state"] == "engine"
    assert printed.stdout.startswith("Engine. ")
    assert WHY[fault] in printed.stdout
    assert "docs/" not in printed.stdout  # a wheel has none
    if fault == "truncation":
        assert "an estimate" in printed.stdout


def test_the_headline_of_a_sound_server_says_what_was_tested(root, values, tmp_path):
    with served(FaultyEngine(values, delay=0.02)) as server:
        printed, verdict = doctor(root, tmp_path, server.url, "--quick", "--mode", "completion")
    assert printed.code == 0, printed
    assert verdict["outcome"] == "sound"
    text = flat(printed.stdout)
    assert "No tested condition (cache, load, repeat) changes the mean over these 64 rows" in text
    assert "Not tested: text, template (need --tokenizer)." in text
    assert "A fault in every request cannot be seen this way" in text
    assert "are the model's" not in text
    answers = tmp_path / "answers"
    at_once = {
        side: {record.get("in_flight") for record in read_records(answers / side / "answers.jsonl")}
        for side in ("cold", "loaded")
    }
    assert at_once["cold"] == {1}
    assert 16 <= max(at_once["loaded"]) <= 32
    seen = ruler("doctor", answers / "loaded", "--json", tmp_path / "seen.json")
    assert seen.code == 0, seen
    assert "9 to 32" in (tmp_path / "seen.json").read_text()  # requests in flight
    for side in ("cold", "loaded"):
        scored = ruler("score", answers / side, "--dataset", root, "--partial")
        assert scored.code == 0, scored
    assert ruler("compare", answers / "cold", answers / "loaded").code == 0


QUICK_FLAGS = ("--quick", "--mode", "completion", "--rows", 20, "--load", 4)


def test_a_finished_examination_is_not_read_again_and_an_interrupted_one_continues(
    root, values, tmp_path, monkeypatch
):
    """The first server dies after some rows; after the verdict the same command begins again."""
    monkeypatch.chdir(tmp_path)
    count = 0

    def die(body: dict[str, Any]) -> Reply | None:
        nonlocal count
        count += 1
        return Reply(401, {"error": {"message": "no key"}}) if count > 40 else None

    engine = FaultyEngine(values, fault="cache", loss=0.9)
    command = ("doctor", "-m", "m", "-d", root, *QUICK_FLAGS)
    with served(engine, refuse=die) as server:
        address = ("--base-url", server.url)
        broken = ruler(*command, *address)
        assert broken.code == 2, broken
        count = -(10**6)
        done = ruler(*command, *address)
        assert "Continuing the examination" in flat(done.stderr)
        assert done.code == 1, done
        sent = len(server.requests)
        assert len([*tmp_path.glob("doctor-m-*")]) == 1
        engine.fault = ""  # the server is repaired
        again = ruler(*command, *address)
        assert again.code != 1, again
        assert len(server.requests) > sent + 40
        folders = sorted(tmp_path.glob("doctor-m-20*"))
        assert len(folders) == 2
        error = ruler_error(*command, *address, "--out", folders[0])
        assert "has the verdict on 'm'" in flat(error)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (("--rows", 20), ("--rows", 40), "rows = 20, not 40"),
        ((), ("--load", 8), "load = 32, not 8"),
        ((), ("--system", "Be brief."), 'system = none, not "Be brief."'),
        ((), ("--model", "other"), 'model = "m", not "other"'),
    ],
)
def test_another_examination_in_the_same_folder_is_refused(
    before, after, words, root, values, tmp_path
):
    def refuse(body: dict[str, Any]) -> Reply | None:
        return Reply(401, {"error": {"message": "no key"}})

    command = ["doctor", "-d", root, "--mode", "chat", "--out", tmp_path / "out"]
    with served(FaultyEngine(values), refuse=refuse) as server:
        command += ["--base-url", server.url]
        assert ruler(*command, "-m", "m", *before).code == 2
        error = flat(ruler_error(*command, "-m", "m", *after))
    assert words in error
    assert "name a new --out" in error


def test_every_side_is_sent_with_the_flags_of_a_run(root, values, tmp_path):
    with served(FaultyEngine(values)) as server:
        printed, _ = doctor(
            root, tmp_path, server.url, "--rows", 4, "--load", 2, "--mode", "chat",
            "--thinking", 64, "--temperature", 0.6, "--system", "Be brief.",
        )  # fmt: skip
        bodies = [request.body for request in server.requests if request.row >= 0]
    assert printed.code == 3, printed
    assert len(bodies) > 4 * 4
    rows = [body for body in bodies if len(body["messages"]) == 2]
    assert len(rows) >= 4 * 4  # the others ask what the server accepts
    for body in rows:
        assert body["messages"][0] == {"role": "system", "content": "Be brief."}
        assert (body["temperature"], body["max_tokens"]) == (0.6, 32 + 64)
    sides = {path.parent.name for path in (tmp_path / "answers").glob("*/run.json")}
    assert sides == {"cold", "cached", "again", "loaded", "late"}


def test_a_server_that_refuses_cache_salt_gets_its_salt_in_the_prompt(root, values, tmp_path):
    asked: list[str] = []

    def refuse(body: dict[str, Any]) -> Reply | None:
        if "cache_salt" in body:
            return Reply(400, {"error": {"message": "cache_salt is not supported"}})
        asked.append(body["prompt"])
        return None

    with served(FaultyEngine(values), refuse=refuse) as server:
        printed, verdict = doctor(root, tmp_path, server.url, *QUICK_FLAGS)
    assert printed.code == 3, printed  # 20 rows are too few for a verdict
    assert "does not accept cache_salt. Instead each prompt begins with a different line" in flat(
        printed.stderr
    )
    assert condition(verdict, "cache")["state"] == "same"
    assert all(prompt.startswith("[") for prompt in asked)


def test_a_server_that_counts_no_tokens_is_examined(root, values, tmp_path):
    with served(FaultyEngine(values), usage=False) as server:
        printed, verdict = doctor(root, tmp_path, server.url, "--mode", "completion", "--rows", 20)
    assert printed.code == 3, printed
    sentences = {item["name"]: item["sentence"] for item in verdict["conditions"]}
    assert "does not report whether its cache was hit" in sentences["cache"]
    assert "does not report the tokens of a prompt" in sentences["tokens"]
    assert "No change" in sentences["load"]


def test_a_server_that_fails_every_request_stops_the_examination(root, tmp_path):
    def refuse(body: dict[str, Any]) -> Reply:
        return Reply(400, {"error": {"message": "this model takes no prompts"}})

    with served(FaultyEngine({}), refuse=refuse) as server:
        printed, verdict = doctor(root, tmp_path, server.url, *QUICK_FLAGS)
    assert (printed.code, verdict) == (2, {})
    assert "answers no row (HTTP 400: this model takes no prompts)" in flat(printed.stderr)
    assert "--retry-failed" not in printed.stderr


def test_rows_that_do_not_fit_are_refused_before_anything_is_sent(root, values, tmp_path):
    with served(FaultyEngine(values)) as server:
        printed, _ = doctor(root, tmp_path, server.url, *QUICK_FLAGS, "--max-model-len", 512)
        sent = [request for request in server.requests if request.row >= 0]
    assert printed.code == 2
    assert "do not fit" in printed.stderr
    assert "512" in printed.stderr
    assert sent == []
    assert not (tmp_path / "answers").exists()


def test_a_template_that_drops_the_prompt_is_the_verdict(root, tmp_path):
    """llama.cpp renders a chat at /apply-template; nothing else has to be sent."""
    props = {
        "build_info": "b1",
        "total_slots": 1,
        "chat_template": "You are helpful.",
        "default_generation_settings": {"n_ctx": 8192},
    }
    paths = {
        "/props": props,
        "/apply-template": {"prompt": "You are helpful."},
        "/tokenize": {"tokens": [1, 2, 3]},
    }
    model = {"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx": 8192}}
    with model_server(lambda _: answer("42"), models=(model,), paths=paths) as server:
        printed, verdict = doctor(root, tmp_path, server.url)
        assert [request for request in server.requests if request.row >= 0] == []
    assert printed.code == 1, printed
    assert verdict["conditions"][0]["name"] == "template"
    text = flat(printed.stdout)
    assert "The server's chat template leaves out the user's message." in text
    assert "--chat-template-file FILE" in text  # llama.cpp's flag, not vLLM's


def test_few_rows_can_never_end_sound_and_the_plan_says_so(root, tmp_path):
    printed = ruler(
        *("doctor", "--base-url", "http://127.0.0.1:9/v1", "-m", "m", "-d", root),
        *("--rows", 16, "--dry-run", "--price", "1,2"),
    )
    assert printed.code == 0, printed  # no server answers there: the plan needs none
    text = flat(printed.stderr)
    assert "for 16 rows of 1 configuration" in text
    assert "With 16 rows this can find a fault, and cannot end with 'sound'" in text
    assert "rows are needed for 10)" in text
    assert "Cost: " in text


@pytest.mark.parametrize("against", [(), ("--against", "hf")])
def test_configurations_and_lengths_are_both_respected(tmp_path, against):
    root = write_release(tmp_path / "ruler", rows=20, lengths=("4k", "8k"))
    choice = ("--configs", "all", "--rows", 40, *against, "--dry-run")
    command = ("doctor", "--base-url", "http://nowhere/v1", "-m", "m", "-d", root, *choice)
    assert "40 rows of 2 configurations" in flat(ruler(*command).stderr)
    assert "20 rows of 1 configuration" in flat(ruler(*command, "--lengths", "8k").stderr)
    error = ruler_error(*command, "--lengths", "16k")
    assert "No configuration that could be sent has length '16k'; they have 4k, 8k." in error


def test_a_plan_for_vllm_starts_nothing(root, tmp_path):
    printed = ruler("doctor", "-b", "vllm", "-m", tmp_path / "no_model", "-d", root, "--dry-run")
    assert printed.code == 0, printed
    assert "To do, at most:" in printed.stderr


def test_a_score_of_zero_is_not_told_to_test_more_rows(root, tmp_path):
    with served(FaultyEngine(dict.fromkeys(range(ROWS), "1"))) as server:
        printed, verdict = doctor(root, tmp_path, server.url, "--mode", "completion", "--quick")
    assert (printed.code, verdict["score"]) == (3, 0.0)
    text = flat(printed.stdout)
    assert "Check the chat template, --mode, and the rope scaling" in text
    assert "--against hf" in text


def test_the_doctor_names_a_parser_that_takes_every_answer_for_reasoning(root, tmp_path):
    message = {"role": "assistant", "content": None, "reasoning_content": "1234567"}
    with model_server(lambda request: answer("", message=message)) as server:
        printed, verdict = doctor(root, tmp_path, server.url, "--mode", "chat", "--rows", 16)
    assert (printed.code, verdict["score"]) == (3, 0.0)
    assert "16 of 16 answers came as reasoning" in flat(printed.stderr)


def test_a_run_and_a_server_exclude_each_other(tmp_path):
    printed = ruler("doctor", tmp_path, "--base-url", "http://localhost:1/v1", "--model", "m")
    assert printed.code == 2
    assert "Name RUN, to examine its answers, or --base-url and --model" in flat(printed.stderr)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "Name the server"),
        (("--base-url", "http://localhost:1/v1"), "Name the model"),
        (("--base-url", "http://localhost:1", "-m", "m", "--quick", "--thorough"), "not both"),
        (("--base-url", "http://localhost:1/v1", "--model", "m", "--rows", "0"), "--rows takes"),
        (("--backend", "hf", "--model", "m"), "Known: openai, vllm"),
        (("--base-url", "http://localhost:1", "-m", "m", "--against-model", "x"), "add --against"),
    ],
)
def test_a_wrong_command_is_one_sentence(flags, words, root, tmp_path):
    printed = ruler("doctor", "--dataset", root, "--out", tmp_path / "out", *flags)
    assert printed.code == 2
    assert words in printed.stderr
    assert not (tmp_path / "out").exists()
