"""Copied into an exported folder as utils.py: scores a row with the metric beside it.

`process_results({"task": "vt", "outputs": ["ABCDE"], …}, ["ABCDE"])` is
`{"score": 1.0, "strict": 1.0}`; a row of ONERULER is scored by the language of its instruction.
The rows of a release on this machine are found from this folder, wherever the two were moved to.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent


@functools.cache
def _scoring() -> tuple[Any, dict[str, Any]]:
    """Return the metric of this folder, by its path, and scoring.json."""
    name, path = "frozen_ruler_score", _HERE / "ruler_score.py"
    spec = importlib.util.spec_from_file_location(
        name, path, submodule_search_locations=[str(_HERE)]
    )
    assert spec is not None
    assert spec.loader is not None
    rules = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rules)
    return rules, json.loads((_HERE / "scoring.json").read_text(encoding="utf-8"))


def release_folder() -> str:
    """Return the release's folder.

    RULER_RELEASE, or where scoring.json says, seen from this folder.
    """
    known = os.environ.get("RULER_RELEASE") or _HERE / _scoring()[1]["release"]
    folder = Path(known).resolve()
    if not (folder / "manifest.json").is_file():
        raise FileNotFoundError(
            f"No release in '{folder}': name its folder with export RULER_RELEASE=FOLDER"
        )
    return str(folder)


def rows(file: str, **_: Any) -> Any:
    """Return the rows of one of the release's files, as lm-evaluation-harness takes them."""
    import datasets

    # not by the folder: its card would be read and parsed again for every task
    path = os.path.join(release_folder(), file)
    return datasets.load_dataset("parquet", data_files={"test": [path]})


def process_results(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """Return the score and the strict score, 0 … 1, of the one answer to a row."""
    rules, scoring = _scoring()
    language = doc["instruction_language"] if scoring["dataset"] == "oneruler" else None
    if table := scoring["languages"].get(language):  # it is none of the metric's 26
        language = rules.read_rules(table)
    row = rules.score_row(
        results[0],
        doc["outputs"],
        scoring["rules"][doc["task"]],
        language,
        doc["none_word"] or None,
    )
    return {"score": row.score, "strict": row.strict}
