"""What a server says it runs with, as far as it can move a score; for run.json.

vLLM's /metrics describe the cache of each engine:

    vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True",…} 1.0
"""

from __future__ import annotations

import re
from typing import Any

UNKNOWN = "unknown"
_CACHE_LINE = re.compile(r"^vllm:cache_config_info\{(.*)\}", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]{0,100})"')


def engine_facts(metrics: str) -> dict[str, Any]:
    """Return the settings of a server's engine from the text of its /metrics, if it has any.

    The names are those that the vllm backend records; what no server tells is "unknown".
    """
    engines = [dict(_LABEL.findall(labels)) for labels in _CACHE_LINE.findall(metrics)]
    cache = engines[0] if engines else {}
    return {
        "dtype": UNKNOWN,
        "quantization": UNKNOWN,
        "parallel": {
            "tensor": UNKNOWN,
            "pipeline": UNKNOWN,
            "data": len(engines) or UNKNOWN,
        },
        "cache": {
            "dtype": cache.get("cache_dtype", UNKNOWN),
            "prefix_caching": _value(cache.get("enable_prefix_caching", UNKNOWN)),
            "block_size": _value(cache.get("block_size", UNKNOWN)),
        },
        "chunked_prefill": UNKNOWN,
        "attention_backend": UNKNOWN,
        "speculative_decoding": UNKNOWN,
        "rope": UNKNOWN,
    }


def _value(text: str) -> bool | int | str:
    """Return a label's value as a boolean or a number if it is one."""
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text.isdecimal() else text
