"""The options of a run in tests."""

from __future__ import annotations

from typing import Any

from ruler_eval.run.options import RunOptions


def model_options(model: str = "m", backend: str = "openai", **options: Any) -> RunOptions:
    """Return options for a backend that is used without a runner."""
    run = {"dataset": "ruler", "configs": "all_4k", "out": "RUN", **options}
    return RunOptions(backend=backend, model=model, **run)
