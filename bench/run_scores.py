"""Read row scores of published runs, for the benchmarks that replay them.

    runs = run_scores(["row_scores.npz", "kvpress-vllm-tests/notebooks/results/kvpress_eval"])
    runs["ruler__8192__Qwen--Qwen3-8B__no_press__0.00"]["vt"]       # 500 scores, 0 … 1

A file has arrays `run|task`; a folder has a folder of kvpress's results for each run, whose
`predictions.csv` is scored here. The text before `ruler__` in a run's name is removed, so that
a run that is in both is read once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import ruler_release as ruler

Run = dict[str, np.ndarray]
LENGTH = re.compile(r"(ruler__)(\d+)__")
PART = "__fraction"  # in the names of runs of few rows


def run_scores(places: Sequence[str]) -> dict[str, Run]:
    """Return the scores of each run by task, in the order of rows."""
    runs: dict[str, Run] = {}
    for place in map(Path, places):
        if place.is_dir():
            for path in sorted(place.glob("ruler__*/predictions.csv")):
                if PART not in path.parent.name:
                    runs[path.parent.name] = _scored(path)
            continue
        with np.load(place) as file:
            for key in file.files:
                name, _, task = key.rpartition("|")
                short = "ruler__" + name.partition("ruler__")[2] if "ruler__" in name else name
                runs.setdefault(short, {})[task] = file[key].astype(float)
    return runs


def same_rows(a: str, b: str) -> bool:
    """Return whether two runs were of the same length."""
    return _length(a) == _length(b)


def same_model(a: str, b: str) -> bool:
    """Return whether two runs were of the same model, changed or not, at the same length."""
    return a.split("__")[:3] == b.split("__")[:3]


def by_lengths(runs: dict[str, Run]) -> list[dict[int, Run]]:
    """Return the runs of each model and setting at three lengths or more, by length."""
    groups: dict[str, dict[int, Run]] = {}
    for name, run in runs.items():
        length = _length(name)
        if length is not None:
            groups.setdefault(LENGTH.sub(r"\1", name), {})[length] = run
    return [dict(sorted(group.items())) for group in groups.values() if len(group) >= 3]


def _length(name: str) -> int | None:
    match = LENGTH.search(name)
    return int(match[2]) if match else None


def _scored(path: Path) -> Run:
    match = LENGTH.search(path.parent.name)
    assert match is not None
    scores: Run = {}
    rows = pd.DataFrame(ruler.score(path, length=match[2])["rows"])
    for task, of_task in rows.sort_values("index").groupby("task", sort=False):
        scores[str(task)] = of_task.score.to_numpy()
    return scores
