"""run.json: what can move a score, and each start of the program that added rows to a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import NotRequired, TypedDict

from ruler_dataset import RulerError


class Sampling(TypedDict):
    """How tokens are drawn; a temperature of 0 is greedy."""

    temperature: float
    top_p: float
    seed: int


class ReasoningSettings(TypedDict):
    """Whether a model is asked to reason, and its room for that in tokens."""

    on: bool
    budget: int


class Session(TypedDict):
    """One start of the program: its part of the work, its versions, what it did."""

    started: str
    shard: str | None
    limit: int | None
    source: str
    configs: list[str]
    concurrency: int | None
    replicas: NotRequired[int | None]
    versions: dict[str, str]
    machine: str
    ended: NotRequired[str]
    seconds: NotRequired[float]
    tokens: NotRequired[dict[str, int]]
    cached_share: NotRequired[float | None]
    prompt_token_differences: NotRequired[int]


class RunSettings(TypedDict, total=False):
    """run.json: what can move a score; a backend adds keys of its own."""

    format: int
    model: str
    revision: str | None
    backend: str
    mode: str | None
    direct: bool
    tokenizer: str | None
    sampling: Sampling
    arguments: dict[str, Any]
    thinking: ReasoningSettings
    dataset: str
    data_version: str
    data_revision: str | None
    files: dict[str, str]
    sessions: list[Session]


def check_settings(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    """Refuse to mix results: a RulerError names the first setting that differs from run.json."""
    for name, value in new.items():
        before = old.get(name, value)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if name == "files":  # more configurations may join a run
                pairs = {key: (before[key], value[key]) for key in value if key in before}
            else:
                pairs = {
                    key: (before.get(key), value.get(key)) for key in sorted({*value, *before})
                }
            changed = next((key for key, (was, now) in pairs.items() if was != now), None)
            if changed is not None:
                name, before, value = f"{name}.{changed}", *pairs[changed]
            else:
                continue
        if before != value:
            raise RulerError(
                f"'{folder}' was run with {name} = {json.dumps(before, ensure_ascii=False)}, not "
                f"{json.dumps(value, ensure_ascii=False)}: name a new --out, or use the old value."
            )
