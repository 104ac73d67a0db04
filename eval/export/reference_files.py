"""The reference code's layout (NVIDIA/RULER), so that its own scripts run on the frozen rows.

    TO/4096/data/vt/validation.jsonl     {"index": 0, "input": "…", "outputs": ["…"],
                                          "length": 4066, "answer_prefix": " Answer: …"}

`TO/4096` is its results folder: pred/call_api.py reads `data` and writes `pred`, eval/evaluate.py
and `ruler score` read `pred`. As in its current main (July 2026 on), the answer prefix stands
beside the input and call_api joins them; its versions from January 2025 until then drop the prefix,
of their own data too. The prompt is the bare one (its template type `base`): no chat template.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from eval.frozen_release import Release, Row
from ruler_dataset import Config, RulerError

COLUMNS = ("index", "input", "outputs", "length", "answer_prefix")
SUBSET = "validation"
"""The name its scripts take where `--subset` is not given."""


def write(
    release: Release,
    configs: Sequence[Config],
    folder: Path,
    to: Path,
    progress: Callable[[Sequence[Config]], Iterable[Config]] = iter,
) -> str:
    """Write `configs` below `folder`; return the command that answers one of them."""
    if release.dataset != "ruler":
        raise RulerError(
            f"The reference code has no tasks of {release.dataset}: use --format lm-eval."
        )
    for config in progress(configs):
        path = folder / str(config.max_length) / "data" / config.task / f"{SUBSET}.jsonl"
        path.parent.mkdir(parents=True)
        with path.open("w", encoding="utf-8") as file:
            for row in release.rows(config.name, COLUMNS):
                file.write(json.dumps(upstream_row(row)) + "\n")
    first = configs[0]
    place = to / str(first.max_length)
    return (
        f"python pred/call_api.py --data_dir {place}/data --save_dir {place}/pred "
        f"--task {first.task} …   (in the reference code's scripts/)"
    )


def upstream_row(row: Row) -> Row:
    """The fields its scripts read."""
    return {column: row[column] for column in COLUMNS}
