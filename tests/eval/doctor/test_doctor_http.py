"""`ruler doctor` against a real HTTP server with one fault, from the command to the exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ruler_eval.frozen_release import Release
from tests.eval.doctor.sick_engine import SickEngine, served, write_release
from tests.in_process import Printed, ruler

pytestmark = pytest.mark.skipif(
    find_spec("openai") is None, reason="the openai extra is not installed"
)
ROWS = 64
CONFIG = "niah_single_1_4k"


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
        *("--mode", "completion", "--out", out / "answers", "--json", verdict, *flags),
    )
    return found, json.loads(verdict.read_text()) if verdict.is_file() else {}


def condition(verdict: Mapping[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in verdict["conditions"] if one["name"] == name]
    return found


def test_a_server_that_loses_answers_on_cache_hits_is_named(
    root: Path, values: dict[int, str], tmp_path: Path
) -> None:
    engine = SickEngine(values, fault="cache", loss=0.5)
    with served(engine) as server:
        found, verdict = doctor(root, tmp_path, server.url)
    assert found.code == 1
    assert verdict["conditions"][0]["name"] == "cache"
    assert "Engine. Answers get worse on cache hits" in found.stdout
    assert "--no-enable-prefix-caching" in found.stdout
    assert verdict["rows"] < ROWS  # it stopped early


def test_a_sound_server_is_sound(root: Path, values: dict[int, str], tmp_path: Path) -> None:
    with served(SickEngine(values)) as server:
        found, verdict = doctor(root, tmp_path, server.url, "--quick")
    assert found.code == 0, found
    assert verdict["outcome"] == "sound"
    assert "the losses in your scores are the model's" in " ".join(found.stdout.split())
    assert condition(verdict, "cache")["state"] == "same"
    assert condition(verdict, "chunks")["state"] == "unchecked"
