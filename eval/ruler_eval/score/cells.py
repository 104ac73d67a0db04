"""Compute the scores and counts of a configuration, the score by depth, and shared documents.

    cell_of(scores, {}, None, with_intervals=True, release=release)["score"]        # 0 … 100

Depth. RULER's paper has no results by depth (section 8, "Lack of position controlling"); the rows
of a release record the place of each needle. Depth is 0 … 1 of the context, in ten bins:

    [{"depth": [0.0, 0.1], "score": 98.0, "n": 50}, …]          # "score" is null if n is 0

If a row has several references, each with separate evidence (values of niah_multivalue, names of
vt), each counts at its own depth, as right if it is in the answer. If it has one reference (one
needle), or the references are alternatives (qa), the row's score counts at the mean depth of the
evidence that has the answer. Rows without evidence (cwe, fwe, niah_none) are not counted.

Documents. The 500 rows of qa_1 ask about 132 paragraphs of SQuAD, and a model that misreads a
paragraph answers several rows wrongly: on 18 published runs the variance of a mean is 1.05 to 1.28
times that of independent rows; the variance of the difference of two runs is not larger (median
1.0). In qa_2 no two rows have the same documents. A row has the same question at every length, so
the documents are read at the shortest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ruler_eval.frozen_release import Release
from ruler_eval.prediction import ScoredConfig, digest
from ruler_eval.score import intervals
from ruler_eval.score.intervals import Stratum
from ruler_eval.score.results import Cell, DepthBin, Mean
from ruler_eval.score.rows import ConfigScores, RowScore
from ruler_eval.tasks import scoring_task
from ruler_score import ruler_score as metric

BINS = 10  # of depth
Row = Sequence[RowScore]
"""The samples of a row."""


def mean_of_samples(values: Sequence[float], samples: int) -> float:
    """Return the mean over a number of samples, of which some may be missing and score 0."""
    return values[0] if samples == 1 else math.fsum(values) / samples


def cell_of(
    scores_of: ConfigScores,
    documents: Mapping[int, str],
    control: float | None,
    with_intervals: bool = True,
    release: Release | None = None,
) -> Cell:
    """Return the scores and counts of a configuration.

    Args:
        scores_of: the scored rows.
        documents: the documents of the counted rows, if several rows ask about one.
        control: the score of its task's control, at 0k.
        with_intervals: whether the score has an interval: not in a run stopped by its own scores.
        release: the release, whose texts the score by depth may need.
    """
    config, rows = scores_of.config, [row for row in scores_of.rows if scores_of.is_counted(row)]
    n = len(rows)
    states = _count_states(scores_of.rows)
    row_scores, strict_scores, row_documents, words = [], [], [], []
    for row in rows:
        samples = scores_of.samples_of(row)
        row_scores.append(mean_of_samples([sample.score for sample in row], samples))
        strict_scores.append(mean_of_samples([sample.strict for sample in row], samples))
        words.append(sum(sample.found for sample in row if sample.counts) / samples)
        if documents:
            row_documents.append(documents[row[0].row["index"]])
    scores = np.array(row_scores, dtype=float)
    mean = 100 * math.fsum(row_scores) / n if n else None
    strict = 100 * math.fsum(strict_scores) / n if n else None
    labels = np.array(row_documents) if row_documents else None
    interval = intervals.percent([Stratum.from_rows(scores, clusters=labels)])
    cell: Cell = {
        "task": config.task,
        "length": config.length,
        "max_length": config.max_length,
        "tokenizer": config.tokenizer,
        "language": config.language,
        "instruction_language": config.instruction_language,
        "score": mean,
        "strict": strict,
        "n": n,
        "interval": interval if with_intervals else None,
        "failed": states["failed"] + states["does_not_fit"],
        "truncated": states["truncated"],
        "truncated_scored": states["truncated_scored"],
        "thinking": states["thinking"],
        "thinking_truncated": states["thinking_truncated"],
        "missing": states["missing"],
        "rows_requested": len(scores_of.rows),
        "rows_available": scores_of.rows_available,
        "duplicated": scores_of.duplicated,
        "proof": scores_of.proof,
        "does_not_fit": states["does_not_fit"],
        "depth": _depth(scores_of, release) if config.max_length else None,  # controls have none
    }
    if scores_of.rules.compat == "authors":
        dropped = len(scores_of.rows) - n
        cell["dropped"] = dropped - states["missing"] if scores_of.rules.partial else dropped
    if scores_of.task in metric.QA_TASKS:
        cell["whole_word"] = strict
    if scores_of.task.startswith("cwe_"):
        cell["words_right"] = math.fsum(words) / n if n else None
    if scores_of.repeats > 1 and n:
        cell["repeats"] = scores_of.repeats
        cell["pass_at"] = _pass_at(scores_of, rows, labels)
    if control and mean is not None:
        cell["percent_of_control"] = 100 * mean / control
    if labels is not None:
        cell["documents"] = len({*labels})
        cell["design_effect"] = intervals.design_effect(scores, labels)
    return cell


def _count_states(rows: Sequence[Row]) -> Counter[str]:
    """Count how the answers to rows ended: of several samples, the first that is not ok."""
    states = Counter[str]()
    for row in rows:
        first = next((sample for sample in row if sample.state != "ok"), row[0])
        states[first.state] += 1
        if first.truncated_scored:
            states["truncated_scored"] += 1
        if first.thinking != "none":
            states["thinking"] += 1
        if first.thinking == "truncated":
            states["thinking_truncated"] += 1
    return states


def _pass_at(
    scores_of: ConfigScores, rows: Sequence[Row], labels: np.ndarray | None
) -> dict[str, Mean]:
    """Return the share of rows that one of k samples gets right, for k = 1, 2, 4, … and all.

    The unbiased estimate for n samples of which c are right is 1 − C(n − c, k) / C(n, k) (Chen et
    al., 2021).
    """
    counts = []  # of samples, and of right ones
    for row in rows:
        right = sum(sample.score == 1 for sample in row)
        counts.append((scores_of.samples_of(row), right))
    n = min(samples for samples, _ in counts)
    sizes = {1, n, *(2**power for power in range(n.bit_length()) if 2**power < n)}
    pass_at: dict[str, Mean] = {}
    for k in sorted(sizes):
        wrong = [math.comb(samples - right, k) / math.comb(samples, k) for samples, right in counts]
        values = 1 - np.array(wrong)
        interval = intervals.percent([Stratum.from_rows(values, clusters=labels)])
        pass_at[str(k)] = {"score": 100 * float(values.mean()), "interval": interval}
    return pass_at


# ---- Depth -----------------------------------------------------------------------------------


class Mark(NamedTuple):
    """The depth of a piece of evidence, and the reference that counts there."""

    depth: float
    reference: int | None  # its number; None if the row's score counts there


def _depth(scores_of: ConfigScores, release: Release | None) -> list[DepthBin] | None:
    """Return the score by depth of the evidence; None without a release."""
    if release is None:
        return None
    alternatives = scores_of.task in metric.QA_TASKS
    texts = release.rows(scores_of.name, ("index", "input"))  # only read if `marks` needs them
    credits: list[tuple[float, float]] = []
    for samples in scores_of.rows:
        row = samples[0].row
        if scores_of.rules.partial and samples[0].prediction is None:
            continue
        count = scores_of.samples_of(samples)
        hits: list[float] = []
        if is_spread(row, alternatives):  # one text at a time, because they are large
            row = {**row, **next(text for text in texts if text["index"] == row["index"])}
            hits = _hits(scores_of, samples, count)
        score = mean_of_samples([sample.score for sample in samples], count)
        for depth, reference in marks(row, alternatives):
            credits.append((depth, score if reference is None else hits[reference]))
    return by_depth(credits)


def _hits(scores_of: ConfigScores, samples: Row, count: int) -> list[float]:
    """Return for each reference of a row the share of samples in which it is found."""
    outputs = samples[0].row["outputs"]
    hits = [0.0] * len(outputs)
    for sample in samples:
        if sample.prediction is not None and sample.counts:
            in_answer = metric.references_found(
                sample.prediction.text, outputs, scores_of.task, scores_of.language_rules
            )
            for number, is_in_answer in enumerate(in_answer):
                hits[number] += is_in_answer / count
    return hits


def is_spread(row: Mapping[str, Any], alternatives: bool) -> bool:
    """Return whether each of several references has separate evidence; `marks` then needs `input`.

    References are `alternatives` if one of them is enough.
    """
    gold = sum(span["answer"] for span in row["evidence"])
    return not alternatives and len(row["outputs"]) > 1 and gold == len(row["outputs"])


def marks(row: Mapping[str, Any], alternatives: bool) -> list[Mark]:
    """Return the depths of a row's references.

    If the row `is_spread`, a reference belongs to the first span that has it, and each span to one
    reference.
    """
    gold = [span for span in row["evidence"] if span["answer"]]
    if not gold:
        return []
    whole_row = [Mark(sum(span["depth"] for span in gold) / len(gold), None)]
    if not is_spread(row, alternatives):
        return whole_row
    remaining = list(range(len(gold)))
    places = []
    for span in gold:
        text = row["input"][span["start"] : span["end"]].casefold()
        inside = [number for number in remaining if row["outputs"][number].casefold() in text]
        if not inside:
            return whole_row
        remaining.remove(inside[0])
        places.append(Mark(span["depth"], inside[0]))
    return places


def by_depth(credits: Sequence[tuple[float, float]]) -> list[DepthBin] | None:
    """Return ten bins of (depth, credit 0 … 1) pairs; None without any.

    A bin includes its lower bound, and the last one also 1.0.
    """
    if not credits:
        return None
    depths, values = np.array(credits).T
    places = np.clip((depths * BINS + 1e-6).astype(int), 0, BINS - 1)
    return _bins(np.bincount(places, 100 * values, BINS), np.bincount(places, minlength=BINS))


def mean_bins(several: Sequence[Sequence[DepthBin]]) -> list[DepthBin]:
    """Return the bins of several configurations together; every reference counts the same."""
    totals = np.zeros(BINS)
    counts = np.zeros(BINS, dtype=int)
    for bins in several:
        for place, depth_bin in enumerate(bins):
            totals[place] += (depth_bin["score"] or 0) * depth_bin["n"]
            counts[place] += depth_bin["n"]
    return _bins(totals, counts)


def _bins(totals: np.ndarray, counts: np.ndarray) -> list[DepthBin]:
    bins: list[DepthBin] = []
    for place, (total, n) in enumerate(zip(totals.tolist(), counts.tolist(), strict=True)):
        depth = [place / BINS, (place + 1) / BINS]
        bins.append({"depth": depth, "score": total / n if n else None, "n": n})
    return bins


# ---- Documents -------------------------------------------------------------------------------


def shared_documents(
    configs: Mapping[str, ScoredConfig], release: Release
) -> dict[str, dict[int, str]]:
    """Return a digest of each row's documents, for configurations whose rows share documents.

    The configurations are in the order of their lengths.
    """
    groups: dict[tuple[str, str | None], list[str]] = {}
    for name, config in configs.items():
        if scoring_task(config.task, config.dataset, release) in metric.QA_TASKS:
            groups.setdefault((config.task, config.tokenizer), []).append(name)
    shared = {}
    for names in groups.values():
        documents = _documents(names, release)
        if len({*documents.values()}) < len(documents):
            shared.update(dict.fromkeys(names, documents))
    return shared


def _documents(names: Sequence[str], release: Release) -> dict[int, str]:
    """Return the documents by row, of the first configuration with any: a control may have none."""
    for name in names:
        documents = {}
        for row in release.rows(name, ("index", "input", "evidence")):
            texts = sorted(row["input"][span["start"] : span["end"]] for span in row["evidence"])
            if not texts:
                break
            documents[int(row["index"])] = digest("\n".join(texts))
        else:
            return documents
    return {}
