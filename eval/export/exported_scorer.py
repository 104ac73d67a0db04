"""Copied into an exported folder as utils.py: scores a row with ruler_score.py beside it.

`process_results({"task": "vt", "outputs": ["ABCDE"], …}, ["ABCDE"])` is
`{"score": 1.0, "strict": 1.0}`; a row of ONERULER is scored by the language of its instruction.
"""

from __future__ import annotations

import functools
import importlib.util
import json
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent


@functools.cache
def _scoring() -> tuple[Any, dict[str, Any]]:
    """The metric module of this folder, by its path, and scoring.json."""
    spec = importlib.util.spec_from_file_location("frozen_ruler_score", _HERE / "ruler_score.py")
    assert spec is not None
    assert spec.loader is not None
    rules = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rules)
    return rules, json.loads((_HERE / "scoring.json").read_text(encoding="utf-8"))


def process_results(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """The score and the strict score, 0 … 1, of the one answer to a row."""
    rules, scoring = _scoring()
    row = rules.score_row(
        results[0],
        doc["outputs"],
        scoring["rules"][doc["task"]],
        doc["instruction_language"] if scoring["dataset"] == "oneruler" else None,
        doc["none_word"] or None,
    )
    return {"score": row.score, "strict": row.strict}
