"""A configuration's scores and counts, from its predictions; and which of its rows share documents.

    scored_cell(joined["vt_4k"], rules, notes)["score"]                 # 0 … 100
    with_documents(cells, release)      # cells["qa_1_4k"]["rows"]["document"][7] = "5f0c31aa"

SQuAD's 500 rows of qa_1 ask about 132 paragraphs, and a model that misreads one answers several of
them wrongly: on 18 published runs a mean's variance is 1.05 to 1.28 times that of independent
rows; that of differences between two of them is not more (1.0 in the middle). In qa_2 no two rows
have the same documents. A row asks the same at every length, so the shortest is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress

import numpy as np

from ruler_eval.frozen_release import PartialRow, Release
from ruler_eval.prediction import Prediction, digest
from ruler_eval.score import depth, intervals
from ruler_eval.score.join import JoinedConfig
from ruler_eval.score.results_file import Cell, RowScores
from ruler_eval.score.row_score import RowScore, ScoringRules, row_score
from ruler_eval.tasks import scoring_task
from ruler_score import ruler_score as rules_of
from ruler_score.ruler_score import QA_TASKS

_NOTHING = Prediction("", 0, "")  # in place of an answer that is missing


def scored_cell(joined: JoinedConfig, rules: ScoringRules, notes: list[str]) -> Cell:
    """Score the rows of a configuration; what is odd or lacks goes to `notes`.

    Raises RulerError for predictions that are of other rows.
    """
    notes += joined.notes
    name, config, task, found = joined.name, joined.config, joined.task, joined.answers
    spoken = rules.languages.rules(joined.language) if joined.language else None
    rows, credits = list[PartialRow](), list[tuple[float, float]]()
    counted, results = list[PartialRow](), list[RowScore]()
    for row, prediction, marks in _marked_rows(joined):
        rows.append(row)
        result = row_score(row, prediction, task, joined.language, rules)
        if result.state == "missing" and rules.partial:
            continue
        counted.append(row)
        results.append(result)
        hits = [False] * len(row["outputs"])
        if marks and prediction is not None and result.counts:
            hits = rules_of.references_found(prediction.text, row["outputs"], task, spoken)
        credits += depth.credits(marks, result.score, hits)
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
        "rows_available": joined.rows_available,
        "duplicated": joined.duplicated,
        "proof": joined.proof,
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


def _marked_rows(
    joined: JoinedConfig,
) -> Iterator[tuple[PartialRow, Prediction | None, list[depth.Mark]]]:
    """Yield the rows of a configuration, their answers, and where their references are."""
    rows, release = list(joined.rows()), joined.release
    alternatives = joined.task in QA_TASKS
    spread = {
        row["index"]
        for row, _ in rows
        if release is not None and depth.is_spread(row, alternatives)
    }
    texts: Iterator[PartialRow] = iter(())
    if release is not None and spread:  # one text at a time: they are large
        texts = release.rows(joined.name, ("index", "input"))
    for row, prediction in rows:
        if release is None:
            yield row, prediction, []
        elif row["index"] in spread:
            text = next(text for text in texts if text["index"] == row["index"])
            yield row, prediction, depth.marks({**row, **text}, alternatives)
        else:
            yield row, prediction, depth.marks(row, alternatives)


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


def with_documents(cells: Mapping[str, Cell], release: Release) -> dict[str, Cell]:
    """Return the cells with documents and design effect if rows share any, and their interval."""
    lengths: dict[tuple[str, str | None], list[tuple[int, str]]] = {}
    for name, cell in cells.items():
        if scoring_task(cell["task"], release.dataset, release) in QA_TASKS:
            place = cell["task"], cell["tokenizer"]
            lengths.setdefault(place, []).append((cell["max_length"], name))
    found = dict(cells)
    for places in lengths.values():
        names = [name for _, name in sorted(places)]
        documents = _documents(names, release)
        if len({*documents.values()}) < len(documents):
            for name in names:
                found[name] = _clustered(cells[name], documents)
    return found


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


def _clustered(cell: Cell, documents: Mapping[int, str]) -> Cell:
    """Return a cell whose interval counts the rows on one document as a cluster."""
    rows = cell["rows"]
    if not rows["index"] or not documents.keys() >= {*rows["index"]}:
        return cell
    labels = [documents[index] for index in rows["index"]]
    scores, clusters = np.array(rows["score"]), np.array(labels)
    return {
        **cell,
        "rows": {**rows, "document": labels},
        "documents": len({*labels}),
        "design_effect": intervals.design_effect(scores, clusters),
        "interval": intervals.percent([scores], None, [clusters]),
    }
