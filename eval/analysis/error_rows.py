"""The wrong rows of a run, each with its kind of error.

A collected error, also a line of `ruler errors --out`:

    {"config": "niah_multikey_1_4k", "index": 7, "kind": "distractor", "found": 0, "of": 1,
     "gap": 0.07, "outputs": ["1234567"], "prediction": "7654321"}
"""

from __future__ import annotations

from typing import Any

from eval.analysis.error_kinds import error_of
from eval.frozen_release import Release
from eval.score import join
from eval.score.prediction_files import Predictions
from eval.score.scoring import ScoringRules

COLUMNS = ("index", "input", "outputs", "context_start", "context_end", "evidence", "none_word")


def collect(
    predictions: Predictions, release: Release, rules: ScoringRules, strict: bool = False
) -> list[dict[str, Any]]:
    """Every wrong row with its kind, in the order of the release's files."""
    join.same_data(predictions.run, release)
    found = []
    groups = join.by_config(predictions, release.names, [])
    for name in release.configs:
        if name not in groups:
            continue
        config = release.parse(name)
        task = join.rule_task(config.task, release)
        language = config.instruction_language if config.dataset == "oneruler" else None
        answers, _ = join.by_index(name, groups[name], False, [])
        for row in release.rows(name, COLUMNS):
            answer = answers.get(int(row["index"]))
            join.same_references(row, answer)
            error = error_of(row, answer, task, language, rules, strict)
            if error is not None:
                shown = {"outputs": row["outputs"], "prediction": answer.text if answer else None}
                found.append({"config": name, "index": row["index"], **error._asdict(), **shown})
    return found
