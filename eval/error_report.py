"""The kinds of errors of a run: collected row by row, and their shares by task and length.

A collected error, also a line of `ruler errors --out`:

    {"config": "niah_multikey_1_4k", "index": 7, "kind": "distractor", "found": 0, "of": 1,
     "gap": 0.07, "outputs": ["1234567"], "prediction": "7654321"}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eval import join
from eval.errors import KINDS, error_of
from eval.predictions import Predictions
from eval.release import Release
from eval.report import table
from eval.score import Rules

COLUMNS = ("index", "input", "outputs", "context_start", "context_end", "evidence", "none_word")
_SHOWN = 60  # characters of an example


def collect(
    predictions: Predictions, release: Release, rules: Rules, strict: bool = False
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


def report(found: Sequence[dict[str, Any]], markdown: bool = False) -> str:
    """A row for each configuration and kind: rows, share of the wrong ones, one example."""
    if not found:
        return "No wrong answers."
    rows = []
    for config in dict.fromkeys(error["config"] for error in found):
        wrong = [error for error in found if error["config"] == config]
        for kind in KINDS:
            same = [error for error in wrong if error["kind"] == kind]
            if same:
                share = f"{100 * len(same) / len(wrong):.0f} %"
                detail = _detail(kind, same)
                rows.append([config, kind, str(len(same)), share, detail, _example(same[0])])
    header = ["configuration", "kind", "rows", "share", "mean", "an example"]
    kinds = [kind for kind in KINDS if any(error["kind"] == kind for error in found)]
    meanings = "\n".join(f"{kind}: {KINDS[kind]}" for kind in kinds)
    return f"{table(header, rows, markdown, left=(0, 1, 5))}\n\n{meanings}"


def _detail(kind: str, errors: Sequence[dict[str, Any]]) -> str:
    """How many of n were found, or how near the distractor stood to the gold."""
    gaps = [error["gap"] for error in errors if error["gap"] is not None]
    if gaps:
        return f"{100 * sum(gaps) / len(gaps):.0f} % of depth away"
    if kind in ("incomplete", "repeats"):
        found = sum(error["found"] for error in errors) / len(errors)
        of = sum(error["of"] for error in errors) / len(errors)
        return f"{found:.1f} of {of:.1f}"
    return ""


def _example(error: dict[str, Any]) -> str:
    wanted = _short(", ".join(error["outputs"]))
    said = "nothing" if error["prediction"] is None else repr(_short(error["prediction"]))
    return f"row {error['index']}: {wanted} <- {said}".replace("|", "/")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
