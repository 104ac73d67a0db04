"""The wrong rows of a run, each with its kind of error.

A collected error, also a line of `ruler errors --out`:

    {"config": "niah_multikey_1_4k", "languages": "en", "index": 7, "kind": "distractor",
     "found": 0, "of": 1, "gap": 0.07, "outputs": ["1234567"], "prediction": "7654321"}

`memory` is the same model's answer without documents, where it was asked (memory.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ruler_common.errors import RulerError
from ruler_eval.analysis.errors.error_kinds import error_of
from ruler_eval.analysis.errors.memory import answers_from_memory, memory_of
from ruler_eval.analysis.errors.prompt_rows import row_of_prompt
from ruler_eval.families.family import Family
from ruler_eval.families.table import family_of, rule_task
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.prediction import Prediction
from ruler_eval.score.cells import join
from ruler_eval.score.cells.row_score import ScoringRules
from ruler_eval.score.config_naming import read_name
from ruler_eval.score.prediction_files import Predictions

COLUMNS = (
    *("index", "input", "outputs", "context_start", "context_end", "evidence", "none_word"),
    "question",
)


def collect(
    predictions: Predictions, release: Release | None, rules: ScoringRules, strict: bool = False
) -> list[dict[str, Any]]:
    """Every wrong row with its kind, in the order of the release's files.

    Without a release the rows are made from the prompts that the files hold. Raises RulerError for
    files without prompts, and for predictions of other rows than the release's.
    """
    names, rules = release.names if release else predictions.names, rules.of(release)
    groups = join.by_config(predictions, names)
    if release is not None:
        join.same_data(predictions.run, release)
        join.same_configurations(groups, release)
    known: dict[str, dict[int, str]] = {}
    if release is not None:
        given = {name: join.by_index(name, rows, False, [])[0] for name, rows in groups.items()}
        known = answers_from_memory(given, release)
    found = []
    for name in [n for n in release.configs if n in groups] if release else groups:
        config = read_name(names, name)
        task = rule_task(config.task, config.dataset, release)
        family = family_of(config.task, config.dataset, release)
        language = config.instruction_language if config.dataset == "oneruler" else None
        answers, _ = join.by_index(name, groups[name], release is None, [])
        memory: Mapping[int, str] = {}
        rows = release.rows(name, COLUMNS) if release else _of_prompts(answers, family)
        asked = join.rows_asked(name, predictions.run, release)
        if release is not None:
            join.same_rows(name, answers, range(release.size(name)), release)
            memory = memory_of(name, release, known)
        for row in rows:
            answer = answers.get(int(row["index"]))
            if answer is None and asked is not None and row["index"] not in asked:
                continue
            join.same_references(row, answer)
            row["memory"] = memory.get(int(row["index"]))
            if error := error_of(row, answer, task, language, rules, strict, family):
                shown = {"outputs": row["outputs"], "prediction": answer.text if answer else None}
                place = {"config": name, "languages": config.languages, "index": row["index"]}
                with_memory = {} if row["memory"] is None else {"memory": row["memory"]}
                found.append({**place, **error._asdict(), **shown, **with_memory})
    return found


def _of_prompts(answers: Mapping[int, Prediction], family: Family) -> Iterator[PartialRow]:
    for index, answer in sorted(answers.items()):
        prompt = answer.known_prompt
        if prompt is None or not answer.outputs:
            raise RulerError(
                f"'{answer.where}' holds no prompt, and the kinds of errors need the row's "
                "context: add --dataset."
            )
        row = row_of_prompt(prompt, answer.outputs, family, answer.columns)
        yield {"index": index, **row}
