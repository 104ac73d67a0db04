"""A configuration's scores and counts, from its predictions; and which of its rows share documents.

    scored_cell("vt_4k", config, predictions, release, rules, notes, run)["score"]      # 0 … 100
    mark_documents(cells, release)      # cells["qa_1_4k"]["rows"]["document"][7] = "5f0c31aa"

SQuAD's 500 rows of qa_1 ask about 132 paragraphs, and a model that misreads one answers several of
them wrongly: on 18 published runs a mean's variance is 1.05 to 1.28 times that of independent
rows; that of differences between two of them is not more (1.0 in the middle). In qa_2 no two rows
have the same documents. A row asks the same at every length, so the shortest is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import compress

import numpy as np

from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.prediction import Prediction, digest
from ruler_eval.score import depth, intervals, join
from ruler_eval.score.config_naming import ScoredConfig
from ruler_eval.score.results_file import Cell, RowScores
from ruler_eval.score.row_score import RowScore, ScoringRules, row_score
from ruler_eval.score.run_facts import RunFacts
from ruler_eval.tasks import scoring_task
from ruler_score import ruler_score as rules_of
from ruler_score.ruler_score import QA_TASKS

_NOTHING = Prediction("", 0, "")  # in place of an answer that is missing


def scored_cell(
    name: str,
    config: ScoredConfig,
    predictions: Sequence[Prediction],
    release: Release | None,
    rules: ScoringRules,
    notes: list[str],
    run: RunFacts,
) -> Cell:
    """Score the rows of a configuration; what is odd or lacks goes to `notes`.

    Raises RulerError for predictions that are of other rows.
    """
    found, duplicated = join.by_index(name, predictions, release is None, notes)
    rows = list(join.rows(name, release, found))
    if release is not None:
        join.same_rows(name, found, (row["index"] for row in rows), release)
    rows_available = len(rows)
    if (asked := join.rows_asked(name, run, release)) is not None:
        rows = [row for row in rows if row["index"] in asked or row["index"] in found]
    task = scoring_task(config.task, config.dataset, release)
    language = config.instruction_language if config.dataset == "oneruler" else None
    spoken = rules.languages.rules(language) if language else None
    counted, results, credits = list[PartialRow](), list[RowScore](), list[tuple[float, float]]()
    for row in rows:
        prediction = found.get(row["index"])
        join.same_references(row, prediction)
        result = row_score(row, prediction, task, language, rules)
        if result.state == "missing" and rules.partial:
            continue
        counted.append(row)
        results.append(result)
        hits = [False] * len(row["outputs"])
        if row["marks"] and prediction is not None and result.counts:
            hits = rules_of.references_found(prediction.text, row["outputs"], task, spoken)
        credits += depth.credits(row["marks"], result.score, hits)
    if missing := [row["index"] for row in rows if row["index"] not in found]:
        notes.append(f"{name}: {len(missing)} rows are missing, the first is row {missing[0]}")
    kept = results
    if rules.compat == "authors":  # their script leaves out what was never answered
        chosen = [result.counts for result in results]
        counted, kept = list(compress(counted, chosen)), list(compress(results, chosen))
    cell: Cell = {
        "task": config.task,
        "length": config.length,
        "max_length": config.max_length,
        "tokenizer": config.tokenizer,
        "language": config.language,
        "instruction_language": config.instruction_language,
        "score": _percent([row.score for row in kept]),
        "strict": _percent([row.strict for row in kept]),
        "n": len(kept),
        "interval": intervals.percent([np.array([row.score for row in kept], dtype=float)]),
        "failed": sum(row.state == "failed" for row in results),
        "cut": sum(row.state == "cut" for row in results),
        "cut_scored": sum(row.cut_scored for row in results),
        "thinking": sum(row.thinking != "none" for row in results),
        "thinking_cut": sum(row.thinking == "cut" for row in results),
        "missing": len(missing),
        "rows_asked": len(rows),
        "rows_available": rows_available,
        "duplicated": duplicated,
        "proof": join.proof_of(name, found, run, release),
        "does_not_fit": sum(p.finish_reason == "does_not_fit" for p in found.values()),
        "depth": depth.by_depth(credits) if config.max_length else None,  # 0k has no depths
        "rows": _rows(counted, kept, found),
    }
    if rules.compat == "authors":
        cell["dropped"] = len(results) - len(kept)
    if task in rules_of.QA_TASKS:
        cell["whole_word"] = cell["strict"]
    if task.startswith("cwe_"):
        cell["words_right"] = _mean([float(row.found) * row.counts for row in kept])
    return cell


def _rows(
    rows: Sequence[PartialRow], results: Sequence[RowScore], found: Mapping[int, Prediction]
) -> RowScores:
    """What later commands need of every row: its score and digests of what it asks."""
    indices = [int(row["index"]) for row in rows]
    answers = [found.get(index, _NOTHING) for index in indices]
    questions = [row.get("question") for row in rows]
    prompts = [answer.asked for answer in answers]
    known: RowScores = {
        "index": indices,
        "score": [result.score for result in results],
        "found": [result.found for result in results],
        "truncated": [i for i, r in zip(indices, results, strict=True) if r.state == "cut"],
        "references": [digest("\n".join(row["outputs"])) for row in rows],
        "question": [digest(text) for text in questions if text] if all(questions) else None,
        "prompt": [text for text in prompts if text] if all(prompts) else None,
    }
    unanswered = [
        index
        for index, answer, result in zip(indices, answers, results, strict=True)
        if result.state == "missing"
        or (result.state == "failed" and answer.finish_reason != "does_not_fit")
    ]
    if unanswered:
        known["unanswered"] = unanswered
    if any(tokens := [answer.thinking_tokens for answer in answers]):
        known["thinking_tokens"] = tokens
    if any(tokens := [answer.prompt_tokens for answer in answers]):
        known["prompt_tokens"] = tokens
    return known


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _percent(values: Sequence[float]) -> float | None:
    mean = _mean(values)
    return None if mean is None else 100 * mean


def mark_documents(cells: Mapping[str, Cell], release: Release) -> None:
    """Enter documents and design effect where rows share any, and the interval that heeds them."""
    lengths: dict[tuple[str, str | None], list[tuple[int, str]]] = {}
    for name, cell in cells.items():
        if scoring_task(cell["task"], release.dataset, release) in QA_TASKS:
            place = cell["task"], cell["tokenizer"]
            lengths.setdefault(place, []).append((cell["max_length"], name))
    for found in lengths.values():
        names = [name for _, name in sorted(found)]
        documents = _documents(names, release)
        if len({*documents.values()}) < len(documents):
            for name in names:
                _mark(cells[name], documents)


def _documents(names: Sequence[str], release: Release) -> dict[int, str]:
    """By row; of the first configuration that has documents: one without asks from memory."""
    for name in names:
        found = {}
        for row in release.rows(name, ("index", "input", "evidence")):
            texts = sorted(row["input"][span["start"] : span["end"]] for span in row["evidence"])
            if not texts:
                break
            found[int(row["index"])] = digest("\n".join(texts))
        else:
            return found
    return {}


def _mark(cell: Cell, documents: Mapping[int, str]) -> None:
    rows = cell["rows"]
    if not rows["index"] or not documents.keys() >= {*rows["index"]}:
        return
    rows["document"] = [documents[index] for index in rows["index"]]
    scores, clusters = np.array(rows["score"]), np.array(rows["document"])
    cell["documents"] = len({*rows["document"]})
    cell["design_effect"] = intervals.design_effect(scores, clusters)
    cell["interval"] = intervals.percent([scores], None, [clusters])
