"""What `ruler doctor` is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruler_common.errors import RulerError

LOAD = 32
"""Rows that are sent at once under load, unless --load says otherwise."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """How much is asked: rows, and the largest loss (points) that a sound verdict may overlook."""

    rows: int
    max_loss: float


LEVELS = {"quick": Level(rows=32, max_loss=40), "usual": Level(rows=200, max_loss=10)}
LEVELS["thorough"] = Level(rows=600, max_loss=5)


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """The options of an examination of one model on one server or engine."""

    dataset: str = "ruler"
    lengths: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    out: Path = Path("doctor")
    backend: str = "openai"
    model: str = ""
    base_url: str | None = None
    tokenizer: str | None = None
    mode: str | None = None
    provider: str | None = None
    max_model_len: int | None = None
    timeout: float = 3600.0
    give_up_after: float = 600.0
    arguments: Mapping[str, Any] = field(default_factory=dict)
    level: str = "usual"
    rows: int | None = None
    load: int = LOAD
    price: tuple[float, float] | None = None
    quiet: bool = False

    def __post_init__(self) -> None:
        if self.backend not in ("openai", "vllm"):
            raise RulerError(f"ruler doctor takes --backend openai or vllm, not '{self.backend}'.")
        if not self.model:
            raise RulerError("Name the model: --model NAME, as the server knows it.")
        if self.rows is not None and self.rows < 1:
            raise RulerError("--rows takes a number of rows, 1 or more.")
        if self.load < 2:
            raise RulerError("--load takes a number of requests at once, 2 or more.")

    @property
    def row_count(self) -> int:
        """The rows that are asked, at most."""
        return self.rows or LEVELS[self.level].rows

    @property
    def max_loss(self) -> float:
        """The largest loss, in points, that a sound verdict may overlook."""
        return LEVELS[self.level].max_loss
