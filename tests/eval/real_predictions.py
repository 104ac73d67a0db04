"""Real answers of real models, if they are next to the mirror of the sources.

`predictions/` next to RULER_MIRROR's folder has kvpress runs and a run of the reference code, with
the scores that were published for them. They are read there and never copied.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest

KVPRESS = "kvpress_llama-3.1-8b"
REFERENCE = "reference_llama-3.1-8b-chat"


def folder() -> Path:
    """Return their folder; skip the test if it does not exist."""
    mirror = os.environ.get("RULER_MIRROR")
    result = Path(mirror).parent / "predictions" if mirror else None
    if result is None or not result.is_dir():
        pytest.skip("no folder 'predictions' with real answers beside RULER_MIRROR's")
    return result


def kvpress_runs() -> dict[str, Path]:
    """The kvpress runs by their compression ratio."""
    return {path.name.split("__")[-1]: path for path in sorted((folder() / KVPRESS).iterdir())}


def published(run: Path) -> dict[str, float]:
    """The published scores of a kvpress run."""
    metrics = json.loads((run / "metrics.json").read_text())
    return {task: values["string_match"] for task, values in metrics.items()}


def reference_scores(length: str) -> dict[str, float]:
    """The published scores of the reference code's run at a length."""
    path = folder() / REFERENCE / "synthetic" / length / "pred/summary.csv"
    _, tasks, scores, _ = csv.reader(path.open(newline=""))
    return dict(zip(tasks[1:], map(float, scores[1:]), strict=True))
