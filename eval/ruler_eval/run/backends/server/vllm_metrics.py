"""What a vLLM server's /metrics tell of its engines: how many, and the tokens each can hold.

    vllm:cache_config_info{block_size="16",…,engine="0",kv_cache_size_tokens="524288",…} 1.0
    cache_of(text)      # (524288, 1)

Earlier versions count blocks alone (`num_gpu_blocks`).
"""

from __future__ import annotations

import re

_INFO = re.compile(r"^vllm:cache_config_info\{(.*)\}", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="(\d{1,15})"')


def cache_of(text: str) -> tuple[int | None, int]:
    """The tokens of the smallest engine's cache, where they are told, and the number of engines."""
    engines = [
        {name: int(value) for name, value in _LABEL.findall(line)} for line in _INFO.findall(text)
    ]
    sizes = [
        one.get("kv_cache_size_tokens") or one.get("num_gpu_blocks", 0) * one.get("block_size", 0)
        for one in engines
    ]
    return min(sizes, default=0) or None, max(1, len(engines))
