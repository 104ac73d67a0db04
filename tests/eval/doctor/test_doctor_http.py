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
from ruler_eval.run.records import read_lines
from tests.eval.doctor.faulty_engine import EXPECTED, FaultyEngine, served, write_release
from tests.eval.run.tiny_model import write_tokenizer
from tests.in_process import Printed, ruler
from tests.model_server import Reply

pytestmark = pytest.mark.skipif(
    find_spec("transformers") is None, reason="the openai extra is not installed"
)
ROWS = 64
CONFIG = "niah_single_1_4k"
NIGHTLY = pytest.mark.nightly
QUICK = ("cache",)
SLOW = sorted({*EXPECTED} - {*QUICK})


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


@pytest.mark.parametrize("fault", [*QUICK, *(pytest.param(kind, marks=NIGHTLY) for kind in SLOW)])
def test_the_condition_that_a_fault_violates_is_named(fault, root, values, tmp_path):
    delay = 0.03 if fault in ("load", "neighbours") else 0.0
    engine = FaultyEngine(values, fault=fault, loss=0.5, delay=delay)
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
    assert f"docs/doctor.md#{EXPECTED[fault]}" in printed.stdout


def test_a_sound_server_is_sound(root, values, tmp_path):
    with served(FaultyEngine(values)) as server:
        printed, verdict = doctor(root, tmp_path, server.url, "--quick", "--mode", "completion")
    assert printed.code == 0, printed
    assert verdict["outcome"] == "sound"
    assert "Smaller changes would be missed" in " ".join(printed.stdout.split())
    assert condition(verdict, "cache")["state"] == "same"
    assert condition(verdict, "chunks")["state"] == "unchecked"
    answers = tmp_path / "answers"
    at_once = {
        side: {record.get("in_flight") for record in read_lines(answers / side / "answers.jsonl")}
        for side in ("cold", "loaded")
    }
    assert at_once["cold"] == {1}
    assert max(at_once["loaded"]) == 32
    seen = ruler("doctor", answers / "loaded", "--json", tmp_path / "seen.json")
    assert seen.code == 0, seen
    assert "up to 32" in (tmp_path / "seen.json").read_text()  # requests in flight
    assert "Tries: all rows: one." in seen.stdout


QUICK_FLAGS = ("--quick", "--mode", "completion", "--rows", 20, "--load", 4)


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
    assert "does not report the tokens of a prompt" in sentences["chunks"]
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


def test_a_run_and_a_server_exclude_each_other(tmp_path):
    printed = ruler("doctor", tmp_path, "--base-url", "http://localhost:1/v1", "--model", "m")
    assert printed.code == 2
    assert "Name RUN, to examine its answers, or --base-url and --model" in flat(printed.stderr)


def flat(text: str) -> str:
    return " ".join(text.split())
