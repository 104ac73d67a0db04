"""How tokens are sampled: greedily, unless the model reasons or a flag says otherwise.

    choose_sampling(options, lambda: {"temperature": 0.6, "top_p": 0.95, "top_k": 20})

RULER decodes greedily. A model that reasons uses the settings in its generation_config.json,
because greedy reasoning tends to repeat itself without end; a flag, such as `--temperature 0`,
overrides that file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ruler_eval.run.options import SAMPLERS, RunOptions

MODEL_SAMPLERS = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")
"""The fields of a generation_config.json that say how tokens are sampled."""
SERVER_DEFAULT = "the server's default"
"""The value in run.json of a sampler that was not sent, so that the server's default applied."""


@dataclass(frozen=True)
class Sampling:
    """The samplers that are set, and where their values come from."""

    values: Mapping[str, Any] = field(default_factory=dict)
    source: str = "greedy"
    neutral: bool = True
    """Whether all other samplers are off. If not, the server's defaults apply to them."""

    @property
    def is_greedy(self) -> bool:
        """Whether the most likely token is always taken."""
        return self.values.get("temperature") == 0

    def settings(self) -> dict[str, Any]:
        """Return the samplers for run.json."""
        if self.neutral:
            return dict(self.values)
        return {"temperature": SERVER_DEFAULT, "top_p": SERVER_DEFAULT, **self.values}

    def note(self, reasoning: bool, repeats: int = 1) -> str | None:
        """Return a sentence on sampling, for a run with reasoning or with several samples of a row.

        None for other runs.
        """
        if self.is_greedy and repeats > 1:
            return (
                f"Warning: at temperature 0 the {repeats} samples of a row differ only if the "
                "engine varies by itself: add --temperature."
            )
        if not reasoning:
            return None
        if self.is_greedy:
            return (
                "Warning: the model reasons with temperature 0, which can repeat without end: "
                "leave --temperature out, or give what the model's card recommends."
            )
        if not self.neutral:
            return (
                "Sampling: the server's defaults, which are unknown: --temperature and --top-p "
                "set them."
            )
        named = ", ".join(f"{name} {value:g}" for name, value in self.values.items())
        return f"Sampling: {named} ({self.source})."


def choose_sampling(
    options: RunOptions, generation_config: Callable[[], Mapping[str, Any] | None]
) -> Sampling:
    """Return how the tokens of a run are sampled.

    Args:
        options: The options of the run.
        generation_config: Returns the model's defaults, or None if they cannot be read; called only
            for a model that reasons.
    """
    flags = {}
    for name in SAMPLERS:
        if getattr(options, name) is not None:
            flags[name] = getattr(options, name)
    if not options.reasoning.on or flags.get("temperature") == 0:
        return Sampling({"temperature": 0.0, "top_p": 1.0, **flags})
    defaults = generation_config()
    if defaults is None:
        if "temperature" in flags:
            return Sampling({"top_p": 1.0, **flags}, "flags")
        return Sampling(flags, SERVER_DEFAULT, neutral=False)
    model = {name: defaults[name] for name in MODEL_SAMPLERS if defaults.get(name) is not None}
    if "temperature" not in model:  # transformers' default for sampling
        model["temperature"] = 1.0 if defaults.get("do_sample") else 0.0
    return Sampling({"top_p": 1.0, **model, **flags}, "the model's generation_config.json")


def read_generation_config(model: str, revision: str | None = None) -> dict[str, Any] | None:
    """Return the generation_config.json of a folder or a Hub repository; None if it has none.

    Empty if it says that the model does not sample (`do_sample` is false).
    """
    try:
        from transformers import GenerationConfig

        config: Any = GenerationConfig
        loaded = config.from_pretrained(model, revision=revision)
    except (ImportError, OSError, ValueError):
        return None
    values: dict[str, Any] = loaded.to_diff_dict()
    return values if values.get("do_sample") is not False else {}
