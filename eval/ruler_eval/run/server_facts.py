"""What a server says about itself: its models, their context length, its version and settings.

served_models(page)["m"]                          # an entry of /v1/models
window_of_model({"context_length": 131072})       # 131072
engine_facts(metrics)                             # {"cache": {"dtype": "fp8", …}, …}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ruler_eval.run.backend import UNKNOWN
from ruler_eval.run.classify import count_of, field_of

WINDOW_FIELDS = (
    ("max_model_len",),  # vLLM, SGLang
    ("loaded_context_length",),  # LM Studio
    ("top_provider", "context_length"),  # OpenRouter: that of the provider in use
    ("context_length",),  # OpenRouter, Together, Fireworks
    ("context_window",),  # Groq
    ("max_context_length",),  # Mistral, LM Studio
    ("max_input_tokens",),  # Anthropic
    ("meta", "n_ctx"),  # llama.cpp
)
"""Where servers write a model's context length in an entry of /v1/models."""
_CACHE_LINE = re.compile(r"^vllm:cache_config_info\{(.*)\}", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]{0,100})"')


def served_models(page: Any) -> dict[str, dict[str, Any]]:
    """Return the entries of /v1/models by model name; empty if the page has a different form."""
    listed = page if isinstance(page, list) else field_of(page, "data")
    models = {}
    for model in listed if isinstance(listed, list) else []:
        name = field_of(model, "id")
        if isinstance(name, str):
            models[name] = model
    return models


def window_of_model(model: Any) -> int | None:
    """Return the context length in an entry of /v1/models; None if it has none."""
    for path in WINDOW_FIELDS:
        if window := count_of(field_of(model, *path), minimum=1):
            return window
    return None


def owners_of(models: Mapping[str, Mapping[str, Any]], model: str) -> list[str]:
    """Return the owners that say what the server is: that of the model that is run.

    If it is not listed, all models must have the same owner: a gateway lists models of several.
    """
    listed = [models[model]] if model in models else models.values()
    owners = {str(entry.get("owned_by")) for entry in listed}
    return [*owners] if len(owners) == 1 else []


def engine_facts(metrics: str) -> dict[str, Any]:
    """Return the settings of a server's engine from the text of its /metrics; empty without them.

    vLLM describes the cache of each engine:
    `vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True"} 1.0`.
    """
    engines = [dict(_LABEL.findall(labels)) for labels in _CACHE_LINE.findall(metrics)]
    if not engines:
        return {}
    return {
        "parallel": {"data": len(engines)},
        "cache": {
            "dtype": engines[0].get("cache_dtype", UNKNOWN),
            "prefix_caching": _value(engines[0].get("enable_prefix_caching", UNKNOWN)),
            "block_size": _value(engines[0].get("block_size", UNKNOWN)),
        },
    }


def _value(text: str) -> bool | int | str:
    """Return the value of a label: a boolean or number if it is one, else the text."""
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text.isdecimal() else text
