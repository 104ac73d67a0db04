"""Scores in percent of the control's, whose prompts are only the evidence (0k)."""

from __future__ import annotations

import json
from typing import Any

from ruler_common.names import Names, parse_length
from ruler_eval.score.aggregates import summary
from ruler_eval.score.results import RowsByConfig, load
from tests.eval.scoring_helpers import record
from tests.in_process import ruler_output


def cells(**scores: float) -> dict[str, Any]:
    """Cells by configuration: `cells(vt_4k=80, vt_0k=100)`."""
    result = {}
    for name, score in scores.items():
        task, _, length = name.rpartition("_")
        result[name] = {
            "task": task,
            "length": length,
            "max_length": parse_length(length),
            "tokenizer": "tekken",
            "language": "en",
            "instruction_language": "en",
            "score": score,
            "strict": score,
        }
    return result


def summarized(names: Names, **scores: float) -> Any:
    """The summary of such cells."""
    result = cells(**scores)
    rows = {name: {0: cell["score"] / 100} for name, cell in result.items()}
    return summary(result, RowsByConfig(rows, {}), names)


def test_a_score_is_shown_in_percent_of_that_of_its_tasks_control(tmp_path):
    scores = {"vt_4k": 60, "vt_0k": 80, "cwe_4k": 50, "fwe_0k": 0, "fwe_4k": 10}
    for name, score in scores.items():
        lines = [
            json.dumps(record(name, i, "A" if i < score else "B", outputs=["A"]))
            for i in range(100)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    ruler_output("score", tmp_path, "--out", tmp_path / "r.json")
    results = load(tmp_path / "r.json")["configurations"]
    relative = {
        n: cell["percent_of_control"] for n, cell in results.items() if "percent_of_control" in cell
    }
    assert relative == {"vt_4k": 75}  # cwe has no control, and nothing is a share of 0


def test_a_mean_is_relative_to_the_mean_of_the_control_which_is_in_no_mean_over_lengths():
    names = Names("ruler", ("vt", "cwe"), {})
    result = summarized(names, vt_0k=100, cwe_0k=60, vt_4k=60, cwe_4k=20, vt_8k=40, cwe_8k=0)
    every = result["tekken"]["en"]["all"]
    assert {name: mean.get("percent_of_control") for name, mean in every["lengths"].items()} == {
        "0k": None,
        "4k": 50,
        "8k": 25,
    }
    assert every["average"]["score"] == 30
    assert every["relative_effective_length"] == 4096
