"""Wrong answers of a real model whose kinds were checked by reading answer and prompt.

The answers are SmolLM2-135M-Instruct's to rows with texts of this project. A line of
judged_errors.jsonl has what its kind depends on: of the context the needles, and what was copied.
"""

from __future__ import annotations

import json
from pathlib import Path

from ruler_eval.analysis.errors import error_of
from ruler_eval.prediction import Prediction
from ruler_eval.score.rows import ScoringRules, row_score

JUDGED = Path(__file__).with_name("judged_errors.jsonl")


def row_of(case):
    """Return a row with the parts of the context in their order, each on a line."""
    text, evidence = "\n", []
    for part, *evidence_facts in case["context"]:
        if evidence_facts:
            role, depth = evidence_facts
            span = {"start": len(text), "end": len(text) + len(part), "depth": depth}
            evidence.append({**span, "answer": role == "answer"})
        text += part + "\n"
    row = {"input": text + case["question"], "context_start": 0, "context_end": len(text)}
    row |= {"index": 0, "question": case["question"], "outputs": case["outputs"]}
    return {**row, "evidence": evidence, "memory": case.get("memory")}


def test_each_answer_has_the_kind_that_a_reader_gave_it():
    cases = [json.loads(line) for line in JUDGED.read_text(encoding="utf-8").splitlines()]
    for case in cases:
        prediction = Prediction("c", 0, case["answer"])
        scored = row_score(row_of(case), prediction, case["task"], None, ScoringRules())
        error = error_of(scored, case["task"])
        assert error is not None, case
        assert (error.kind, error.found, error.of) == (case["kind"], case["found"], case["of"]), (
            case["answer"]
        )
        assert error.needle == case.get("needle")
