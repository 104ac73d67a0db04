"""`ruler run` as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from ruler_common.errors import RulerError
from ruler_release.commands import quickstart, run

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(run.run)


@pytest.fixture
def flags(small: Path, tmp_path: Path) -> list[str]:
    return ["--dataset", str(small), "--configs", "some_4k", "--out", str(tmp_path / "RUN")]


def test_the_quick_way_needs_no_model(flags: list[str]) -> None:
    result = CliRunner().invoke(app, [*flags, "--backend", "oracle"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("No failures: 10 rows answered.")
    assert "Next: ruler score" in result.output


def test_help_shows_an_example() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"})
    assert "ruler run --dataset ruler --configs all_4k --backend vllm" in shown.output


def test_failed_rows_make_the_exit_code_1(flags: list[str], serve: Callable[..., str]) -> None:
    pytest.importorskip("openai", reason="the openai extra is not installed")
    url = serve(scripts=[["400"], ["ok"]])
    asked = [*flags, "--backend", "openai", "--model", "m", "--base-url", url]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 1
    assert result.stdout.startswith("5 of 10 rows FAILED; the first: ")
    for shown in ("10/10", "tokens/s", "5 failed", "0 truncated", "0:00:00"):
        assert shown in result.stderr  # the bar
    again = CliRunner().invoke(app, [*asked, "--retry-failed"])
    assert "5 of 10 rows FAILED" in again.output  # this server refuses them for good


def test_a_model_is_needed(flags: list[str]) -> None:
    result = CliRunner().invoke(app, [*flags, "--backend", "hf"])
    assert isinstance(result.exception, RulerError)
    assert "--model" in str(result.exception)


def test_the_quick_start_runs_all_that_a_release_holds(small: Path, tmp_path: Path) -> None:
    quickstart.answer_release(small, tmp_path / "RUN")
    assert len(list((tmp_path / "RUN").glob("*.jsonl"))) == 4


def test_the_flags_cost_no_heavy_import() -> None:
    code = "import ruler_release.commands.run, json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {
        "datasets",
        "torch",
        "transformers",
        "openai",
        "vllm",
        "numpy",
        "pyarrow",
        "ruler_eval.run.runner",
    }
    assert not heavy & set(json.loads(done.stdout))


def test_an_unknown_backend_is_named_before_a_model_is_asked_for(flags: list[str]) -> None:
    result = CliRunner().invoke(app, [*flags, "--backend", "nope"])
    assert "Unknown backend 'nope'" in str(result.exception)
