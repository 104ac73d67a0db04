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
from tests.eval.doctor.sick_engine import EXPECTED, SickEngine, served, write_release
from tests.eval.run.tiny_model import write_tokenizer
from tests.in_process import Printed, ruler

pytestmark = pytest.mark.skipif(
    find_spec("openai") is None, reason="the openai extra is not installed"
)
ROWS = 64
CONFIG = "niah_single_1_4k"
NIGHTLY = pytest.mark.nightly
QUICK = ("cache", "bos")
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
    found = ruler(
        *("doctor", "--base-url", url, "--model", "m", "--dataset", root, "--rows", ROWS),
        *("--out", out / "answers", "--json", verdict, *flags),
    )
    return found, json.loads(verdict.read_text()) if verdict.is_file() else {}


def condition(verdict: Mapping[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in verdict["conditions"] if one["name"] == name]
    return found


@pytest.mark.parametrize("fault", [*QUICK, *(pytest.param(kind, marks=NIGHTLY) for kind in SLOW)])
def test_the_fault_of_a_server_is_named(
    fault: str, root: Path, values: dict[int, str], tmp_path: Path
) -> None:
    hold = 0.03 if fault in ("load", "neighbours") else 0.0
    engine = SickEngine(values, fault=fault, loss=0.5, hold=hold)
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
        found, verdict = doctor(root, tmp_path, server.url, *flags)
    assert found.code == 1, found
    assert verdict["conditions"][0]["name"] == EXPECTED[fault], found.stdout
    assert verdict["conditions"][0]["state"] == "engine"
    assert found.stdout.startswith("Engine. ")
    assert f"docs/doctor.md#{EXPECTED[fault]}" in found.stdout


def test_a_sound_server_is_sound(root: Path, values: dict[int, str], tmp_path: Path) -> None:
    with served(SickEngine(values)) as server:
        found, verdict = doctor(root, tmp_path, server.url, "--quick", "--mode", "completion")
    assert found.code == 0, found
    assert verdict["outcome"] == "sound"
    assert "the losses in your scores are the model's" in " ".join(found.stdout.split())
    assert condition(verdict, "cache")["state"] == "same"
    assert condition(verdict, "chunks")["state"] == "unchecked"
    answers = tmp_path / "answers"
    at_once = {
        side: {record.get("in_flight") for record in read_lines(answers / side / f"{CONFIG}.jsonl")}
        for side in ("cold", "loaded")
    }
    assert at_once["cold"] == {1}
    assert max(at_once["loaded"]) == ROWS // 2
    seen = ruler("doctor", answers / "loaded")
    assert seen.code == 0, seen
    assert "Requests in flight  up to 32" in seen.stdout or "all rows: up to 32" in seen.stdout
    assert "Tries: all rows: one." in seen.stdout
