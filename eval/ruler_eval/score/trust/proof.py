"""What ties answers to the rows that they are scored on.

    proof_of("vt_4k", found, run, release)                # "rows", "prompt", …, "none"

A run's digest of its rows ties all its answers, a prompt in the file its own. References and
questions tie less: a row asks the same at every length and under every tokenizer, and its numbers
are the same in parallel languages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ruler_eval.frozen_release import Release
from ruler_eval.prediction import Prediction
from ruler_eval.score.formats.run_facts import RunFacts

Proof = Literal["rows", "prompt", "references", "own", "none"]
"""The run's digest of the rows, every answer's prompt, or the references (or question) alone; `own`
where an answer brings its own references, and so its row."""
UNPROVED: dict[Proof, str] = {
    "none": "NOT PROVED: no digest, prompt or references show that the answers are to these rows",
    "references": "NOT PROVED: the references agree, but other lengths and languages share them",
}


def proof_of(
    config: str, found: Mapping[int, Prediction], run: RunFacts, release: Release | None
) -> Proof:
    """What ties the answers of a configuration to its rows, the least that any of them has."""
    answers = found.values()
    if release is not None and config in run.get("rows", {}):
        return "rows"  # join.same_data compared the digests
    if release is None and not any(answer.by_line for answer in answers):
        return "own"
    if all(answer.asked_row for answer in answers):
        return "prompt"
    compared = release is not None and all(a.outputs or a.question for a in answers)
    return "references" if compared else "none"
