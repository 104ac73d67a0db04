"""Real wrong answers that a person read: where they are, and the kind that was read.

    for reading in readings():                     # tests/eval/data/wrong_answers.tsv
        answer, row = published_answers(folder)[reading.place]

The published files hold no context. Where a release holds the same question of qa, its documents
are taken for the row's; elsewhere nothing is known of the context.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import ruler_eval.example
from ruler_eval.analysis.errors.prompt_rows import row_of_prompt
from ruler_eval.families.table import family_of
from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.prediction import Prediction
from ruler_eval.score.config_naming import Naming
from ruler_eval.score.predictions import PredictionSource, read
from ruler_eval.score.references import add_references

READINGS = Path(__file__).parent / "data/wrong_answers.tsv"
EXAMPLE = Path(ruler_eval.example.__file__).parent
OWN = "smollm2"
Place = tuple[str, str, int]
"""Source, task and row."""
Answers = dict[Place, tuple[Prediction, PartialRow]]
NEEDS_CONTEXT = frozenset({"same_document", "distractor", "unrelated", "other"})
"""Kinds of qa that are told by the documents alone."""


class Reading(NamedTuple):
    """One answer's kind as a person read it; `sample`: when it was read."""

    sample: str
    place: Place
    kind: str


def readings() -> list[Reading]:
    """Every answer that was read."""
    lines = [line for line in READINGS.read_text().splitlines() if not line.startswith("#")]
    return [
        Reading(row["sample"], (row["source"], row["task"], int(row["row"])), row["kind"])
        for row in csv.DictReader(lines, delimiter="\t")
    ]


def published_answers(folder: Path, release: Release | None = None) -> Answers:
    """The answers of `folder`/kvpress_* and `folder`/reference_*; qa's documents of a release."""
    known = _questions(release) if release else {}
    found: Answers = {}
    for run in sorted(folder.glob("kvpress_*/*")):
        for answer in read([run], Naming()).rows:
            task = answer.config.removesuffix("_4k")
            place = f"kvpress_{run.name.split('__')[-1]}", task, answer.index
            found[place] = answer, _row(task, answer, known)
    for root in sorted(folder.glob("reference_*")):
        for length in ("4096", "8192"):
            predictions = read([root / "synthetic" / length], Naming())
            add_references(predictions, root / "references")
            for answer in predictions.rows:
                task = answer.config.rpartition("_")[0]
                found[f"reference_{length}", task, answer.index] = answer, _row(task, answer, known)
    return found


def example_answers() -> Answers:
    """The answers of ruler_eval/example, with the pieces of their prompts."""
    source = PredictionSource(references=EXAMPLE / "references")
    predictions, _ = source.open([EXAMPLE / "run"], keep_prompts=True)
    found: Answers = {}
    for answer in predictions.rows:
        task = answer.config.removesuffix(f"_4k_{OWN}")
        prompt, family = answer.known_prompt or "", family_of(task, "ruler")
        row = row_of_prompt(prompt, answer.outputs or (), family, answer.columns)
        found[OWN, task, answer.index] = answer, row
    return found


def _questions(release: Release) -> dict[tuple[str, str | int], PartialRow]:
    """The rows of qa by task and question, and by task and index."""
    columns = ("index", "input", "outputs", "context_start", "context_end", "evidence", "question")
    found: dict[tuple[str, str | int], PartialRow] = {}
    for config in release.configs:
        task = release.parse(config).task
        for row in release.rows(config, columns) if task.startswith("qa") else ():
            found[task, " ".join(row["question"].split())] = row
            found[task, row["index"]] = row
    return found


def _row(
    task: str, answer: Prediction, known: Mapping[tuple[str, str | int], PartialRow]
) -> PartialRow:
    outputs = list(answer.outputs or ())
    question = " ".join((answer.question or "").split()).removeprefix("Question: ")
    row = known.get((task, question or answer.index))
    if row is not None and (question or set(row["outputs"]) == set(outputs)):
        return {**row, "outputs": outputs}
    empty = {"input": "", "context_start": 0, "context_end": 0, "evidence": [], "none_word": ""}
    return {**empty, "outputs": outputs, "question": answer.question or ""}
