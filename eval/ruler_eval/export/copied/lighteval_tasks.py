"""Copied into an exported folder as ruler_frozen.py: the frozen rows as tasks of lighteval.

    lighteval accelerate "model_name=MODEL" ruler_direct_4k --custom-tasks TO/ruler_frozen.py

`ruler_frozen_4k:vt` is for base models (`override_chat_template=false`) and sends the raw text,
`input` then `answer_prefix`. `ruler_direct_4k:vt` is for chat models: lighteval cannot begin an
assistant's turn, so the user's turn ends with the line from Table 6 of RULER's paper and the
prefix.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from statistics import fmean
from typing import Any

from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import SampleLevelMetricGrouping
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod

_HERE = Path(__file__).resolve().parent
_SCORING = json.loads((_HERE / "scoring.json").read_text(encoding="utf-8"))
_UTILS = runpy.run_path(str(_HERE / "utils.py"))  # lighteval does not make the folder importable
_SCORE_COLUMNS = ("task", "outputs", "instruction_language", "none_word")


def prompt(line: dict[str, Any], task_name: str | None = None) -> Doc:
    """Return a row in lighteval's form: the input, then the answer prefix."""
    return _doc(line, line["input"] + line["answer_prefix"], task_name)


def direct_prompt(line: dict[str, Any], task_name: str | None = None) -> Doc:
    """Return a row in lighteval's form, with the line from Table 6 before the answer prefix."""
    return _doc(line, line["input"] + _SCORING["direct"] + line["answer_prefix"], task_name)


def _doc(line: dict[str, Any], query: str, task_name: str | None) -> Doc:
    return Doc(
        query=query,
        choices=list(line["outputs"]),
        gold_index=list(range(len(line["outputs"]))),
        task_name=task_name or "",
        specific={name: line[name] for name in _SCORE_COLUMNS},
    )


class RulerScore(SampleLevelComputation):  # type: ignore[misc]  # lighteval is not installed
    """The benchmark's rule for one answer: the score and the strict score, 0 … 1."""

    def compute(self, doc: Doc, model_response: Any, **_: Any) -> dict[str, float]:
        """Score the first answer to a row."""
        scores: dict[str, float] = _UTILS["process_results"](doc.specific, [model_response.text[0]])
        return scores


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
        prompt_function=direct_prompt if kind == "direct" else prompt,
        hf_repo=_SCORING["source"] or _UTILS["release_folder"](),
        hf_subset=task["config"],
        hf_revision=_SCORING["revision"],
        hf_avail_splits=["test"],
        evaluation_splits=["test"],
        generation_size=task["max_new_tokens"],
        metrics=[ruler_metric],
        version=_SCORING["data_version"],
    )
    for task in _SCORING["tasks"]
    for kind in ("frozen", "direct")
]
