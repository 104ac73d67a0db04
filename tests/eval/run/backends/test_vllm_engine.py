"""The arguments and recorded settings of vLLM's engine; tests/vllm has the real vLLM."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.backends import vllm_engine
from tests.eval.run.run_options import model_options


def vllm_config(**changes: Any) -> SimpleNamespace:
    """A resolved configuration, as vLLM 0.32 has it after the start."""
    model = {
        "dtype": "torch.bfloat16",
        "quantization": None,
        "max_model_len": 8192,
        "hf_config": SimpleNamespace(_commit_hash=None),
        "hf_text_config": SimpleNamespace(
            rope_parameters={"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e6}
        ),
    }
    return SimpleNamespace(
        **{
            "model_config": SimpleNamespace(**model),
            "parallel_config": SimpleNamespace(
                tensor_parallel_size=2, pipeline_parallel_size=1, data_parallel_size=1
            ),
            "cache_config": SimpleNamespace(cache_dtype="fp8", enable_prefix_caching=False),
            "scheduler_config": SimpleNamespace(enable_chunked_prefill=True, max_num_seqs=4),
            "attention_config": SimpleNamespace(backend=None),
            "speculative_config": None,
            **changes,
        }
    )


@pytest.fixture
def engine_arguments(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The arguments that the engine is started with; vLLM itself is replaced."""
    arguments: dict[str, Any] = {}

    def start(**engine: Any) -> SimpleNamespace:
        arguments.update(engine)
        return SimpleNamespace(llm_engine=SimpleNamespace(vllm_config=vllm_config()))

    vllm, platforms = ModuleType("vllm"), ModuleType("vllm.platforms")
    vllm.LLM, vllm.__version__ = start, "0"  # type: ignore[attr-defined]
    platforms.current_platform = SimpleNamespace(is_cpu=lambda: False)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    monkeypatch.setitem(sys.modules, "vllm.platforms", platforms)
    monkeypatch.setattr(vllm_engine, "load_model_tokenizer", lambda options: None)
    return arguments


def test_prefix_caching_is_left_to_vllm(engine_arguments):
    vllm_engine.VLLM(model_options("m"), None)
    assert engine_arguments == {"model": "m", "revision": None, "tokenizer": None, "seed": 0}


def test_prefix_caching_can_be_set_as_any_engine_argument(engine_arguments):
    vllm_engine.VLLM(model_options("m", arguments={"enable_prefix_caching": False}), None)
    assert engine_arguments["enable_prefix_caching"] is False


def test_run_json_records_the_engines_settings(engine_arguments):
    settings = vllm_engine.VLLM(model_options("m"), None).settings()
    assert settings == {
        "backend_version": "0",
        "dtype": "bfloat16",
        "quantization": None,
        "parallel": {"tensor": 2, "pipeline": 1, "data": 1},
        "cache": {"dtype": "fp8", "prefix_caching": False},
        "chunked_prefill": True,
        "attention_backend": "unknown",
        "speculative_decoding": None,
        "rope": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e6},
        "commit": None,
    }


def test_attention_and_speculative_decoding_are_recorded():
    draft = SimpleNamespace(method="eagle", model="draft", num_speculative_tokens=3)
    backend = SimpleNamespace(name="FLASH_ATTN")
    config = vllm_config(
        attention_config=SimpleNamespace(backend=backend), speculative_config=draft
    )
    settings = vllm_engine.engine_settings(config)
    assert settings["attention_backend"] == "FLASH_ATTN"
    assert settings["speculative_decoding"] == {
        "method": "eagle",
        "model": "draft",
        "num_speculative_tokens": 3,
    }


def test_a_setting_that_another_version_of_vllm_lacks_is_unknown():
    model = SimpleNamespace(hf_config=SimpleNamespace())
    settings = vllm_engine.engine_settings(SimpleNamespace(model_config=model))
    assert settings["cache"] == {"dtype": "unknown", "prefix_caching": "unknown"}
    assert settings["attention_backend"] == settings["rope"] == "unknown"
    assert settings["speculative_decoding"] == "unknown"
    assert settings["parallel"]["tensor"] == settings["dtype"] == "unknown"


@pytest.mark.parametrize("size", ["two", 2])
def test_data_parallelism_in_this_process_is_refused(engine_arguments, size):
    with pytest.raises(RulerError, match="offline engine has no data parallelism"):
        vllm_engine.VLLM(model_options("m", arguments={"data_parallel_size": size}), None)
    assert engine_arguments == {}
