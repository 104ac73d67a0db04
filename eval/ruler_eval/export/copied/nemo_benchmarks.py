"""Copied into an exported folder as ruler_frozen.py: the frozen rows as NeMo Evaluator benchmarks.

`ruler_direct_vt_4k` is for the chat endpoint: the user's turn ends with the line from Table 6 of
RULER's paper and the answer prefix. `ruler_frozen_vt_4k` is the raw text, for the completions
endpoint.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path

try:
    from nemo_evaluator import ScorerInput, benchmark, scorer
except ImportError:  # before 0.3
    from nemo_evaluator.contrib.byob import ScorerInput, benchmark, scorer

_HERE = Path(__file__).resolve().parent
_SCORING = json.loads((_HERE / "scoring.json").read_text(encoding="utf-8"))
_process_results = runpy.run_path(str(_HERE / "utils.py"))["process_results"]


@scorer  # type: ignore[untyped-decorator]  # nemo-evaluator is not installed
def ruler_score(sample: ScorerInput) -> dict[str, float]:
    """Score an answer by the benchmark's rule, 0 … 1; NeMo's main score is `correct`."""
    scores = _process_results(sample.metadata, [sample.response])
    return {"correct": scores["score"], "strict": scores["strict"]}


for _task in _SCORING["tasks"]:
    for _kind, _endpoint in (("direct", "chat"), ("frozen", "completions")):
        benchmark(
            name=_task[_kind],
            dataset=str(_HERE / "data" / f"{_task['config']}.jsonl"),
            prompt="{input}"
            + (_SCORING["direct"] if _kind == "direct" else "")
            + "{answer_prefix}",
            target_field="outputs",
            endpoint_type=_endpoint,
        )(ruler_score)
