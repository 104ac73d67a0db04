"""How the flags of a run are read and checked."""

from __future__ import annotations

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.options import RunOptions, parse_arguments
from tests.in_process import ruler_error


@pytest.mark.parametrize(
    ("pairs", "result"),
    [
        (["tensor_parallel_size=4"], {"tensor_parallel_size": 4}),
        (["--enforce-eager=true"], {"enforce_eager": True}),
        (["dtype=bfloat16"], {"dtype": "bfloat16"}),
        (['hf_overrides={"rope": 2}'], {"hf_overrides": {"rope": 2}}),
        (["quantization=null", "a=b=c"], {"quantization": None, "a": "b=c"}),
    ],
)
def test_engine_arguments_are_read_as_json_or_text(pairs, result):
    assert parse_arguments(pairs) == result


def options(pair: str) -> RunOptions:
    """Return the options of a run with an argument of the engine."""
    return RunOptions(
        "x", configs="vt_4k", backend="oracle", out="RUN", engine_args=parse_arguments([pair])
    )


def test_an_argument_without_a_value_is_one_sentence():
    with pytest.raises(RulerError, match="NAME=VALUE"):
        parse_arguments(["eager"])


@pytest.mark.parametrize(
    "name",
    [
        *("api_key", "hf_token", "authorization", "extra-headers", "PASSWORD"),
        'body={"headers": {"a": "b"}}',
    ],
)
def test_an_argument_that_may_be_a_secret_is_refused(name):
    pair = name if "=" in name else f"{name}=sk-1234"
    with pytest.raises(RulerError, match="looks like a secret") as caught:
        options(pair)
    assert "sk-1234" not in str(caught.value)


def test_arguments_about_tokens_are_not_secrets():
    names = ["max_num_batched_tokens", "stop_token_ids", "tokenizer_mode", "skip_special_tokens"]
    assert [name for name in names if options(f"{name}=1")] == names


@pytest.mark.parametrize("value", ["NaN", "[-Infinity]", '"\\ud800"'])
def test_an_argument_that_json_cannot_hold_is_refused(value):
    with pytest.raises(RulerError, match="not a finite number"):
        options(f"x={value}")


def test_half_a_surrogate_pair_in_a_flag_is_one_sentence(tmp_path):
    """As a terminal gives on what is not in UTF-8."""
    arguments = (
        "--dataset",
        "x",
        "--configs",
        "vt_4k",
        "--backend",
        "oracle",
        "--out",
        tmp_path / "RUN",
    )
    assert "--model is not valid UTF-8" in ruler_error("run", *arguments, "--model", "m\udcff")
