"""Score predictions: each row, each configuration, and the aggregates, as results.json has them.

    predictions, release = open_predictions(PredictionOptions("runs/qwen"))
    score(predictions, release)["configurations"]["vt_4k"]["score"]           # 0 … 100, unrounded

The schema of results.json is in ruler_eval/score/results.py.

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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from ruler_common.errors import RulerError
from ruler_common.frozen import why_custom
from ruler_common.manifest import benchmark_suite
from ruler_common.names import EVIDENCE_ALONE, Names
from ruler_common.text import number_of
from ruler_eval.frozen_release import Release, place_of
from ruler_eval.prediction import Prediction, digest
from ruler_eval.score import intervals
from ruler_eval.score.aggregates import Baseline, SummaryOptions, summary
from ruler_eval.score.intervals import Stratum
from ruler_eval.score.join import JoinedConfig, JoinedRow, RowScore, ScoringRules, join_predictions
from ruler_eval.score.own_run import RunFacts, StoppedAt, note_of_stopped, stopped_at
from ruler_eval.score.predictions import Predictions, without_garbage_collection
from ruler_eval.score.results import (
    FORMAT,
    Cell,
    DepthBin,
    Latency,
    Mean,
    Results,
    RowsByConfig,
    RowTable,
    ScoredDataset,
)
from ruler_score import ruler_score as metric

BINS = 10  # of depth
_NO_ANSWER = Prediction("", 0, "")


def score(
    predictions: Predictions,
    release: Release | None = None,
    rules: ScoringRules | None = None,
    baseline: Baseline = "chat",
    claimed: int | None = None,
    progress: Callable[[Sequence[str]], Iterable[str]] = iter,
) -> Results:
    """Join predictions to rows, score them, and aggregate.

    Args:
        predictions: The predictions; without a release the files must have the references.
        release: The release whose rows they answer.
        rules: The options that a row's score depends on.
        baseline: The threshold of the effective length: `chat`, `base`, or a number.
        claimed: The model's window in tokens.
        progress: Takes the configurations' names and yields them one by one.

    Raises RulerError if no prediction matches a row, or if the run was made on other data.
    """
    run = predictions.run
    rules = replace(rules or ScoringRules(), model=str(run.get("model") or ""))
    asked_partial = rules.partial
    stopped = _stopped(predictions)
    if stopped is not None:  # the remaining rows were left out on purpose
        asked_partial, rules = False, replace(rules, partial=True)
    names = release.names if release else predictions.names
    if rules.compat is not None and names.dataset != "oneruler":
        raise RulerError("--compat authors is for ONERULER: RULER's rule is its authors' own.")
    joined = join_predictions(predictions, release, rules)
    documents = _shared_documents(joined, release) if release else {}
    table = cast(RowTable, {column: [] for column in RowTable.__annotations__})
    by_config = RowsByConfig({}, {})
    cells: dict[str, Cell] = {}
    controls: dict[tuple[str, str | None, str], float | None] = {}
    notes = [note_of_stopped(stopped)] if stopped else []
    notes += predictions.damaged
    with without_garbage_collection():
        for name in progress([*joined]):  # 0k, the control of a task, before its other lengths
            config = joined[name].config
            place = config.task, config.tokenizer, config.languages
            all_rows = _score_rows(joined[name])
            rows = [row for row in all_rows if row.is_counted]
            by_config.scores[name] = {row.joined.row["index"]: row.result.score for row in rows}
            shared = documents.get(name, {})
            if by_config.scores[name].keys() - shared.keys():
                shared = {}
            elif rows:
                by_config.documents[name] = shared
            _add_rows(table, joined[name], rows, shared)
            cells[name] = _cell(joined[name], all_rows, rows, shared, controls.get(place), stopped)
            if config.length == EVIDENCE_ALONE:
                controls[place] = cells[name]["score"]
            notes += _notes(joined[name], all_rows)
    dataset = _dataset(release, names, run, cells)
    options = SummaryOptions(
        standard=dataset["standard"] is not False,
        baseline=baseline,
        claimed=claimed,
        intervals=stopped is None,
    )
    return {
        "format": FORMAT,
        "score_version": metric.SCORE_VERSION,
        "partial": rules.partial,
        "rules": {"compat": rules.compat, "truncated": rules.truncated},
        "options": {"partial": asked_partial, "threshold": baseline, "claimed": claimed},
        "dataset": dataset,
        "model": run.get("model"),
        "mode": run.get("mode"),
        "run": run,
        "predictions": predictions.files,
        "latency": _latency(predictions),
        "configurations": cells,
        "rows": table,
        "summary": summary(cells, by_config, names, options),
        "notes": notes,
    }


def _latency(predictions: Predictions) -> Latency | None:
    """Return the server's time for an answer; None if the run did not record it."""
    seconds = []
    for row in predictions.rows:
        if row.seconds is not None:
            seconds.append(row.seconds)
    if not seconds:
        return None
    median, p95 = np.percentile(seconds, (50, 95))
    return {"median": float(median), "p95": float(p95)}


def _stopped(predictions: Predictions) -> StoppedAt | None:
    """Return where the run was stopped by its own scores; None if it has all rows."""
    stop = stopped_at(predictions.run)
    if stop is None:
        return None
    answered = Counter(config for config, _ in {(p.config, p.index) for p in predictions.rows})
    return stop if min(answered.values(), default=0) < stop["of"] else None


def _dataset(
    release: Release | None, names: Names, run: RunFacts, configs: Collection[str]
) -> ScoredDataset:
    if release is None:
        return {
            "name": names.dataset,
            "source": None,
            "revision": None,
            "data_version": run.get("data_version"),
            "tasks": list(names.tasks),
            "standard": None,
            "rows": run.get("rows", {}),
            "custom_because": None,
        }
    manifest = release.manifest
    dataset: ScoredDataset = {
        "name": release.dataset,
        "source": place_of(release.source),
        "data_version": manifest["data_version"],
        "builder_version": manifest.get("builder_version"),
        "revision": release.revision,
        "seed": manifest.get("seed"),
        "tasks": list(names.tasks),
        # RULER's thresholds were measured in the layout of the suite ruler_2024
        "standard": benchmark_suite(manifest) in (release.dataset, "ruler_2024"),
        "parameters": {task: dict(manifest["tasks"][task]) for task in names.tasks},
        "rows": {name: release.rows_sha256(name) for name in configs},
        "custom_because": why_custom(manifest, configs),
    }
    if release.languages.custom:
        custom = release.languages.custom
        dataset["languages"] = {code: dict(table) for code, table in custom.items()}
    return dataset


# ---- The rows of a configuration -------------------------------------------------------------


class ScoredRow(NamedTuple):
    """A row with the mean of its samples."""

    joined: JoinedRow
    result: RowScore
    """The mean scores, and how the first sample ended that is not ok."""
    samples: int
    """The number of samples; missing ones score 0."""
    right: int
    """The number of samples that are right."""
    found: float
    """The mean number of references found in the answers that were scored by their text."""
    is_counted: bool
    """Whether the row is in the table. Missing rows are left out of partial results, and rows
    without an answer if ONERULER's authors' script leaves them out (`compat`)."""


def _score_rows(joined: JoinedConfig) -> list[ScoredRow]:
    """Score the rows of a configuration. Raises RulerError for answers to other rows."""
    rules, scored = joined.rules, []
    for row in joined.rows():
        samples = len(row.results) if rules.partial else joined.repeats
        right, found, is_answered = 0, 0.0, False
        for result in row.results:
            right += result.score == 1
            if result.counts:
                found += result.found
                is_answered = True
        is_counted = is_answered if rules.compat == "authors" else True
        if rules.partial and not row.samples:
            is_counted = False
        mean = row.results[0] if samples == 1 else _mean_of_samples(row.results, samples)
        scored.append(ScoredRow(row, mean, samples, right, found / samples, is_counted))
    return scored


def _mean_of_samples(results: Sequence[RowScore], samples: int) -> RowScore:
    """Return the mean of a row's samples, and how the first one ended that is not ok."""
    first = next((result for result in results if result.state != "ok"), results[0])
    return first._replace(
        score=math.fsum(result.score for result in results) / samples,
        strict=math.fsum(result.strict for result in results) / samples,
        found=math.fsum(result.found for result in results) / samples,
    )


def _add_rows(
    table: RowTable, joined: JoinedConfig, rows: Sequence[ScoredRow], documents: Mapping[int, str]
) -> None:
    """Add the rows of a configuration to the table of all rows."""
    config = joined.config
    table["config"] += [joined.name] * len(rows)
    table["task"] += [config.task] * len(rows)
    table["length"] += [config.length] * len(rows)
    table["language"] += [config.languages] * len(rows)
    for scored in rows:
        row, result = scored.joined.row, scored.result
        answer = scored.joined.prediction or _NO_ANSWER
        question = row.get("question")
        table["index"].append(row["index"])
        table["score"].append(result.score)
        table["state"].append(result.state)
        table["found"].append(result.found)
        table["right"].append(scored.right)
        table["thinking_tokens"].append(answer.thinking_tokens)
        table["prompt_tokens"].append(answer.prompt_tokens)
        table["references"].append(digest("\n".join(row["outputs"])))
        table["question"].append(digest(question) if question else None)
        table["prompt"].append(answer.asked)
        table["document"].append(documents.get(row["index"]))


def _notes(joined: JoinedConfig, rows: Sequence[ScoredRow]) -> list[str]:
    """Return the notes on a configuration: duplicated and missing answers."""
    notes, missing, missing_samples = [*joined.notes], [], 0
    for row in rows:
        if row.joined.samples:
            missing_samples += joined.repeats - len(row.joined.samples)
        else:
            missing.append(row.joined.row["index"])
    if missing:
        count = number_of(len(missing), "missing row")
        notes.append(f"{joined.name}: {count}, the first is row {missing[0]}")
    if missing_samples:
        samples = number_of(missing_samples, "sample")
        notes.append(f"{joined.name}: {samples} missing, of {joined.repeats} per row")
    return notes


def _cell(
    joined: JoinedConfig,
    all_rows: Sequence[ScoredRow],
    rows: Sequence[ScoredRow],
    documents: Mapping[int, str],
    control: float | None,
    stopped: StoppedAt | None,
) -> Cell:
    """Return the scores and counts of a configuration.

    Args:
        joined: the configuration.
        all_rows: all rows that the run was asked to answer.
        rows: those that are counted.
        documents: the documents of the rows, if several rows ask about one.
        control: the score of its task at 0k.
        stopped: where the run was stopped by its own scores; then the interval is left out.
    """
    config, n = joined.config, len(rows)
    states = _count_states(all_rows)
    row_scores, strict_scores, row_documents = [], [], []
    for row in rows:
        row_scores.append(row.result.score)
        strict_scores.append(row.result.strict)
        if documents:
            row_documents.append(documents[row.joined.row["index"]])
    scores = np.array(row_scores, dtype=float)
    mean = 100 * math.fsum(row_scores) / n if n else None
    strict = 100 * math.fsum(strict_scores) / n if n else None
    labels = np.array(row_documents) if row_documents else None
    interval = intervals.percent([Stratum.from_rows(scores, clusters=labels)])
    release = joined.release
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
        "interval": None if stopped else interval,
        "failed": states["failed"] + states["does_not_fit"],
        "truncated": states["truncated"],
        "truncated_scored": states["truncated_scored"],
        "thinking": states["thinking"],
        "thinking_truncated": states["thinking_truncated"],
        "missing": states["missing"],
        "rows_asked": len(all_rows),
        "rows_available": release.size(joined.name) if release else len(all_rows),
        "duplicated": joined.duplicated,
        "proof": joined.proof,
        "does_not_fit": states["does_not_fit"],
        "depth": _depth(joined, all_rows) if config.max_length else None,  # 0k has no depths
    }
    if joined.rules.compat == "authors":
        dropped = len(all_rows) - n
        cell["dropped"] = dropped - states["missing"] if joined.rules.partial else dropped
    if joined.task in metric.QA_TASKS:
        cell["whole_word"] = strict
    if joined.task.startswith("cwe_"):
        cell["words_right"] = math.fsum([row.found for row in rows]) / n if n else None
    if joined.repeats > 1 and n:
        cell["repeats"] = joined.repeats
        cell["pass_at"] = _pass_at(rows, labels)
    if control and mean is not None:
        cell["relative_to_0k"] = 100 * mean / control
    if labels is not None:
        cell["documents"] = len({*labels})
        cell["design_effect"] = intervals.design_effect(scores, labels)
    return cell


def _count_states(rows: Sequence[ScoredRow]) -> Counter[str]:
    """Count how the answers to rows ended."""
    states = Counter[str]()
    for row in rows:
        result = row.result
        states[result.state] += 1
        if result.truncated_scored:
            states["truncated_scored"] += 1
        if result.thinking != "none":
            states["thinking"] += 1
        if result.thinking == "truncated":
            states["thinking_truncated"] += 1
    return states


def _pass_at(rows: Sequence[ScoredRow], labels: np.ndarray | None) -> dict[str, Mean]:
    """Return the share of rows that one of k samples gets right, for k = 1, 2, 4, … and all.

    The unbiased estimate for n samples of which c are right is 1 − C(n − c, k) / C(n, k) (Chen et
    al., 2021).
    """
    n = min(row.samples for row in rows)
    sizes = {1, n, *(2**power for power in range(n.bit_length()) if 2**power < n)}
    pass_at: dict[str, Mean] = {}
    for k in sorted(sizes):
        wrong = [math.comb(row.samples - row.right, k) / math.comb(row.samples, k) for row in rows]
        values = 1 - np.array(wrong)
        interval = intervals.percent([Stratum.from_rows(values, clusters=labels)])
        pass_at[str(k)] = {"score": 100 * float(values.mean()), "interval": interval}
    return pass_at


# ---- Depth -----------------------------------------------------------------------------------


class Mark(NamedTuple):
    """The depth of a piece of evidence, and the reference that counts there."""

    depth: float
    reference: int | None  # its number; None if the row's score counts there


def _depth(joined: JoinedConfig, rows: Sequence[ScoredRow]) -> list[DepthBin] | None:
    """Return the score by depth of the evidence; None without a release."""
    if joined.release is None:
        return None
    alternatives = joined.task in metric.QA_TASKS
    texts = joined.release.rows(joined.name, ("index", "input"))  # only read if `marks` needs them
    credits: list[tuple[float, float]] = []
    for scored in rows:
        row, samples = scored.joined.row, scored.joined.samples
        if joined.rules.partial and not samples:
            continue
        hits: list[float] = []
        if is_spread(row, alternatives):  # one text at a time, because they are large
            row = {**row, **next(text for text in texts if text["index"] == row["index"])}
            hits = _hits(scored)
        for depth, reference in marks(row, alternatives):
            credit = scored.result.score if reference is None else hits[reference]
            credits.append((depth, credit))
    return by_depth(credits)


def _hits(scored: ScoredRow) -> list[float]:
    """Return for each reference of a row the share of samples in which it is found."""
    row, samples, results, task, language, rules = scored.joined
    language_rules = rules.languages.rules(language) if language else None
    hits = [0.0] * len(row["outputs"])
    for sample, result in zip(samples, results, strict=False):  # a missing row has one result
        if result.counts:
            in_answer = metric.references_found(sample.text, row["outputs"], task, language_rules)
            for number, is_in_answer in enumerate(in_answer):
                hits[number] += is_in_answer / scored.samples
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


def _shared_documents(
    joined: Mapping[str, JoinedConfig], release: Release
) -> dict[str, dict[int, str]]:
    """Return a digest of each row's documents, for configurations whose rows share documents."""
    groups: dict[tuple[str, str | None], list[str]] = {}
    for name, config in joined.items():  # the shortest first
        if config.task in metric.QA_TASKS:
            groups.setdefault((config.config.task, config.config.tokenizer), []).append(name)
    shared = {}
    for names in groups.values():
        documents = _documents(names, release)
        if len({*documents.values()}) < len(documents):
            shared.update(dict.fromkeys(names, documents))
    return shared


def _documents(names: Sequence[str], release: Release) -> dict[int, str]:
    """Return the documents by row, of the first configuration with documents: 0k may have none."""
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
