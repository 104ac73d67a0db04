"""`ruler run` as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from eval.run import run_command
from eval.run.run_command import parse_arguments
from ruler_dataset import RulerError

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(run_command.run)


@pytest.fixture
def flags(small: Path, tmp_path: Path) -> list[str]:
    return ["--dataset", str(small), "--configs", "some_4k", "--out", str(tmp_path / "RUN")]


def test_the_quick_way_needs_no_model(flags: list[str]) -> None:
    result = CliRunner().invoke(app, [*flags, "--backend", "oracle"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("No failures: 10 rows answered.")
    assert "vt_4k" in result.output


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


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        (["tensor_parallel_size=4"], {"tensor_parallel_size": 4}),
        (["--enforce-eager=true"], {"enforce_eager": True}),
        (["dtype=bfloat16"], {"dtype": "bfloat16"}),
        (['hf_overrides={"rope": 2}'], {"hf_overrides": {"rope": 2}}),
        (["quantization=null", "a=b=c"], {"quantization": None, "a": "b=c"}),
    ],
)
def test_engine_arguments_are_read_as_json_or_text(pairs: list[str], found: dict[str, Any]) -> None:
    assert parse_arguments(pairs) == found


@pytest.mark.parametrize("pair", ["hf_token=hf_123", "token=x", "api_key=sk", "password=x"])
def test_a_secret_is_refused_as_an_argument(pair: str) -> None:
    with pytest.raises(RulerError, match="environment"):
        parse_arguments([pair])


def test_tokens_that_are_no_secret_are_allowed() -> None:
    assert parse_arguments(["max_num_batched_tokens=8192"]) == {"max_num_batched_tokens": 8192}


def test_the_quickstarts_model_runs_all_that_a_release_holds(small: Path, tmp_path: Path) -> None:
    run_command.answer_release(small, tmp_path / "RUN")
    assert len(list((tmp_path / "RUN").glob("*.jsonl"))) == 4


def test_an_argument_without_a_value_is_one_sentence() -> None:
    with pytest.raises(RulerError, match="NAME=VALUE"):
        parse_arguments(["eager"])


def test_the_flags_cost_no_heavy_import() -> None:
    code = "import eval.run.run_command, json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {
        "datasets",
        "torch",
        "transformers",
        "openai",
        "vllm",
        "numpy",
        "pyarrow",
        "eval.run.runner",
    }
    assert not heavy & set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "name",
    [
        *("api_key", "apikey", "token", "hf_token", "authorization", "headers", "extra-headers"),
        *("authToken", "client_secret", "PASSWORD", 'body={"headers": {"a": "b"}}'),
    ],
)
def test_what_may_be_a_secret_is_no_argument(name: str) -> None:
    pair = name if "=" in name else f"{name}=sk-1234"
    with pytest.raises(RulerError, match="looks like a secret") as caught:
        run_command.parse_arguments([pair])
    assert "sk-1234" not in str(caught.value)


def test_arguments_about_tokens_are_no_secrets() -> None:
    names = ["max_num_batched_tokens", "stop_token_ids", "tokenizer_mode", "skip_special_tokens"]
    assert set(run_command.parse_arguments([f"{name}=1" for name in names])) == set(names)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "[-Infinity]"])
def test_an_argument_is_no_infinite_number(value: str) -> None:
    with pytest.raises(RulerError, match="no finite number"):
        run_command.parse_arguments([f"x={value}"])


def test_an_unknown_backend_is_named_before_a_model_is_asked_for(flags: list[str]) -> None:
    result = CliRunner().invoke(app, [*flags, "--backend", "nope"])
    assert "Unknown backend 'nope'" in str(result.exception)


def test_a_cluster_is_for_the_ray_backend_alone(flags: list[str]) -> None:
    for flag, value in (("--replicas", "2"), ("--address", "auto"), ("--num-cpus", "4")):
        result = CliRunner().invoke(app, [*flags, "--backend", "oracle", flag, value])
        assert isinstance(result.exception, RulerError)
        assert "are for --backend ray" in str(result.exception)


def test_what_ray_is_to_do_is_known_without_it(flags: list[str]) -> None:
    ray = ["--backend", "ray", "--model", "m", "--replicas", "2", "--dry-run"]
    result = CliRunner().invoke(app, [*flags, *ray])
    assert result.stdout.startswith("To do: 10 rows of 2 configurations")
    assert "A prefix cache can hold" in result.stdout
