"""run.json: what can move a score, and each start of the program that added rows to a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from typing_extensions import NotRequired, TypedDict

from ruler_common.errors import RulerError


class Session(TypedDict):
    """One start of the program: its part of the work, its versions, what it did."""

    started: str
    shard: str | None
    limit: int | None
    source: str
    configs: list[str]
    concurrency: int | None
    stream: NotRequired[bool]
    versions: dict[str, str]
    machine: str
    ended: NotRequired[str]
    seconds: NotRequired[float]
    tokens: NotRequired[dict[str, int]]
    cached_share: NotRequired[float | None]
    tokenized_by: NotRequired[str]
    window: NotRequired[int]
    prompt_token_differences: NotRequired[int]


RunSettings = dict[str, Any]
"""What `asked_settings` (run_order.py) and a backend know of a run, and its sessions."""


def configs_of(settings: Mapping[str, Any]) -> list[str]:
    """The configurations of a run; those of older versions have their files' digests alone."""
    return list(settings.get("rows") or settings.get("files", {}))


def rows_asked_for(sessions: Iterable[Mapping[str, Any]]) -> int | None:
    """Return how many rows of each configuration a run was asked for: `limit` in run.json.

    They are the first ones of the frozen order; None means all rows. A run that was resumed with
    another --limit was asked for the rows of the largest one.
    """
    limits = [session.get("limit") for session in sessions]
    numbers = [limit for limit in limits if limit is not None]
    return max(numbers) if numbers and len(numbers) == len(limits) else None


def check_settings(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    """Refuse to mix results: a RulerError names the first setting that differs from run.json."""
    if "rows" in new and "files" in old and "rows" not in old:
        raise RulerError(
            f"'{folder}' was begun by an older version, which did not record the digests of rows: "
            "name a new --out, or score it as it is."
        )
    for name, value in new.items():
        if name == "limit":  # more rows may join a run
            continue
        before = old.get(name, value)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            keys = sorted({*value, *before})
            if name in ("rows", "files"):  # more configurations may join a run
                keys = [key for key in value if key in before]
            changed = next((key for key in keys if before.get(key) != value.get(key)), None)
            if changed is None:
                continue
            name, before, value = f"{name}.{changed}", before.get(changed), value.get(changed)
        if "unknown" in (before, value):  # the engine does not tell
            continue
        if before != value:
            ours = name in ("decide.alpha", "decide.rule")  # of the version, not of the command
            instead = "go on with the version that began it" if ours else "use the old value"
            then, now = (
                "none" if one is None else json.dumps(one, ensure_ascii=False)
                for one in (before, value)
            )
            raise RulerError(
                f"'{folder}' was run with {name} = {then}, not {now}: name a new --out, or "
                f"{instead}."
            )
