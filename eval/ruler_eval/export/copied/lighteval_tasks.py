"""Copied into an exported folder as ruler_frozen.py: the frozen rows as tasks of lighteval.

    lighteval accelerate "model_name=MODEL" ruler_direct_4k --custom-tasks TO/ruler_frozen.py

`ruler_frozen_4k:vt` asks the raw text, `input` then `answer_prefix`, of a base model
(`override_chat_template=false`); `ruler_direct_4k:vt` is for chat models: lighteval cannot begin
an assistant's turn, so Table 6's line of RULER's paper and the prefix end the user's.
"""

from __future__ import annotations

import json
import runpy
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import SampleLevelMetricGrouping
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod

_HERE = Path(__file__).resolve().parent
_KNOWN = json.loads((_HERE / "scoring.json").read_text(encoding="utf-8"))
_UTILS = runpy.run_path(str(_HERE / "utils.py"))
_SCORED_BY = ("task", "outputs", "instruction_language", "none_word")


def prompt(line: dict[str, Any], task_name: str | None = None, direct: str = "") -> Doc:
    """Return a row as lighteval asks it.

    `direct` is put between the input and the answer prefix.
    """
    return Doc(
        query=line["input"] + direct + line["answer_prefix"],
        choices=list(line["outputs"]),
        gold_index=list(range(len(line["outputs"]))),
        task_name=task_name or "",
        specific={name: line[name] for name in _SCORED_BY},
    )


class RulerScore(SampleLevelComputation):  # type: ignore[misc]  # lighteval is not installed
    """The benchmark's rule for one answer: the score and the strict score, 0 … 1."""

    def compute(self, doc: Doc, model_response: Any, **_: Any) -> dict[str, float]:
        """Score the first answer to a row."""
        found: dict[str, float] = _UTILS["process_results"](doc.specific, [model_response.text[0]])
        return found


ruler_metric = SampleLevelMetricGrouping(
    metric_name=["score", "strict"],
    higher_is_better={"score": True, "strict": True},
    category=SamplingMethod.GENERATIVE,
    sample_level_fn=RulerScore(),
    corpus_level_fn={"score": fmean, "strict": fmean},
)
TASKS_TABLE = [
    LightevalTaskConfig(
        name=task[kind],
        prompt_function=partial(prompt, direct=_KNOWN["direct"] if kind == "direct" else ""),
        hf_repo=_KNOWN["source"] or _UTILS["release_folder"](),
        hf_subset=task["config"],
        hf_revision=_KNOWN["revision"],
        hf_avail_splits=["test"],
        evaluation_splits=["test"],
        generation_size=task["max_new_tokens"],
        metrics=[ruler_metric],
        version=_KNOWN["data_version"],
    )
    for task in _KNOWN["tasks"]
    for kind in ("frozen", "direct")
]
