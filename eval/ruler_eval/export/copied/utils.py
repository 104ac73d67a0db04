"""Copied into an exported folder as utils.py: score a row with the metric in the same folder.

`process_results({"task": "vt", "outputs": ["ABCDE"], …}, ["ABCDE"])` returns
`{"score": 1.0, "strict": 1.0}`; a row of ONERULER is scored by the rules of its instruction's
language. A local release is found by its path relative to this folder, so both can be moved
together.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent


@functools.cache
def _scoring() -> tuple[Any, dict[str, Any]]:
    """Return the module of the metric in this folder, and the content of scoring.json."""
    name, path = "frozen_ruler_score", _HERE / "ruler_score.py"
    spec = importlib.util.spec_from_file_location(
        name, path, submodule_search_locations=[str(_HERE)]
    )
    assert spec is not None
    assert spec.loader is not None
    metric = importlib.util.module_from_spec(spec)
    sys.modules[name] = metric
    spec.loader.exec_module(metric)
    return metric, json.loads((_HERE / "scoring.json").read_text(encoding="utf-8"))


def release_folder() -> str:
    """Return the release's folder: RULER_RELEASE, else the relative path in scoring.json."""
    path = os.environ.get("RULER_RELEASE") or _HERE / _scoring()[1]["release"]
    folder = Path(path).resolve()
    if not (folder / "manifest.json").is_file():
        raise FileNotFoundError(
            f"No release in '{folder}': set its folder with export RULER_RELEASE=FOLDER"
        )
    return str(folder)


def rows(file: str, **_: Any) -> Any:
    """Return the rows of a file of the release, in the form that lm-evaluation-harness takes."""
    import datasets

    # load the file, not the folder, whose card would be parsed again for every task
    folder = Path(release_folder())
    # `datasets` recognises a file that it has converted before by path and time of change, which
    # another release copied to the same place may share.
    release = hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()[:16]
    return datasets.load_dataset("parquet", release, data_files={"test": [str(folder / file)]})


def process_results(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """Return the score and the strict score, 0 … 1, of the answer to a row."""
    metric, scoring = _scoring()
    language = doc["instruction_language"] if scoring["dataset"] == "oneruler" else None
    if language in scoring["languages"]:  # a custom language, not one of the metric's 26
        language = metric.read_rules(scoring["languages"][language])
    row = metric.score_row(
        results[0],
        doc["outputs"],
        scoring["rules"][doc["task"]],
        language,
        doc["none_word"] or None,
    )
    return {"score": row.score, "strict": row.strict}
