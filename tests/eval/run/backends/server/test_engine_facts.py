"""run.json records the settings of a vLLM server that its /metrics report."""

from __future__ import annotations

import json

from ruler_eval.run.backends.server.replies import engine_facts
from ruler_eval.run.runner import run
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
