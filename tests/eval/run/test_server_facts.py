"""run.json records the settings of a vLLM server that its /metrics report."""

from __future__ import annotations

import json

import pytest

from ruler_eval.run.providers import providers
from ruler_eval.run.runner import run
from ruler_eval.run.server_facts import (
    ServerFacts,
    context_window_of,
    engine_facts,
    owners_of,
    served_models,
)
from tests.eval.run.run_options import model_options
from tests.model_server import VLLM, model_server

# as vLLM 0.32.0 writes them, shortened
METRICS = """# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",cache_dtype="fp8",enable_prefix_caching="True",engine="0",kv_cache_layout="None",num_gpu_blocks="65536"} 1.0
vllm:cache_config_info{block_size="16",cache_dtype="fp8",enable_prefix_caching="True",engine="1",kv_cache_layout="None",num_gpu_blocks="65530"} 1.0
vllm:num_requests_running{engine="0",model_name="m"} 0.0
"""  # noqa: E501


def test_the_cache_and_the_number_of_engines_are_read():
    result = engine_facts(METRICS)
    assert result["cache"] == {"dtype": "fp8", "prefix_caching": True, "block_size": 16}
    assert result["parallel"] == {"data": 2}
    assert engine_facts("vllm:num_requests_running 0.0") == {}


def test_run_json_records_it(small, tmp_path):
    kept = []
    for name, paths in {"with": {"/metrics": METRICS}, "without": {}}.items():
        with model_server(models=[VLLM], paths=paths) as server:
            out = tmp_path / name
            run(model_options(base_url=server.url, dataset=small, configs="vt_4k", out=out))
        kept.append(json.loads((tmp_path / name / "run.json").read_text()).get("cache"))
    assert kept == [{"dtype": "fp8", "prefix_caching": True, "block_size": 16}, None]


@pytest.mark.parametrize("page", [None, {"data": 5}, {"data": [5, {}, {"id": 5}]}])
def test_a_malformed_list_of_models_is_empty(page):
    assert served_models(page) == {}


@pytest.mark.parametrize(
    "entry",
    [
        {"max_model_len": 7, "meta": {"n_ctx": 9}},
        {"max_model_len": None, "meta": {"n_ctx": 7, "n_ctx_train": 9}},
        {"context_length": 9, "top_provider": {"context_length": 7}},
        {"context_length": 7, "top_provider": {"context_length": None}},
        {"context_window": 7},
        {"max_context_length": 9, "loaded_context_length": 7},
        {"max_context_length": 7},
        {"context_size": 7},
        {"metadata": {"context_length": 7}},
        {"limits": {"max_context_length": 7}},
        {"parameters": {"max_seq_len": 7}},
    ],
)
def test_a_context_length_is_read_from_every_servers_field(entry):
    assert context_window_of(entry) == 7


@pytest.mark.parametrize("entry", [{"meta": {"n_ctx": "seven"}}, {"meta": None}, {}, None])
def test_without_a_valid_context_length_it_is_unknown(entry):
    assert context_window_of(entry) is None


@pytest.mark.parametrize(
    ("root", "path", "model"),
    [
        ("Qwen/Qwen3-8B", None, "Qwen3-8B"),
        ("/models/one/", None, "one"),
        (None, "C:\\models\\one.gguf", "one.gguf"),
        (None, None, None),
    ],
)
def test_the_model_is_named_without_the_place_where_it_is(root, path, model):
    facts = ServerFacts(
        provider=providers()["vllm"],
        version=None,
        context_window=None,
        root=root,
        slots=None,
        served=(),
        props={"model_path": path} if path else {},
    )
    assert facts.model == model


def test_a_gateway_that_lists_another_model_of_vllm_is_not_vllm():
    models = {"a": {"owned_by": "vllm"}, "b": {"owned_by": "openai"}}
    assert owners_of(models, "a") == ["vllm"]
    assert owners_of(models, "b") == ["openai"]
    assert owners_of(models, "c") == []
    assert owners_of({"a": {"owned_by": "vllm"}, "d": {"owned_by": "vllm"}}, "c") == ["vllm"]
