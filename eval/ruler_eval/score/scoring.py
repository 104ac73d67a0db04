"""Score predictions: each row, each configuration, and the aggregates, as results.json has them.

    results = score(read([Path("RUN")]), Release.open("ruler"), ScoringRules())
    results["configurations"]["vt_4k"]["score"]                        # 0 … 100, unrounded

The form of results.json is in ruler_eval/score/results.py.

Depth. RULER's paper has no depth-level results (section 8, "Lack of position controlling"); the
rows of a release know the place of each needle. Depth is 0 … 1 of the context, in ten bins:

    [{"depth": [0.0, 0.1], "score": 98.0, "n": 50}, …]          # "score" is null if n is 0

If a row has several references, each with its own evidence (values of niah_multivalue, names of
vt), each counts at its own depth, right if it is in the answer. If it has one reference (one
needle), or references are alternatives (qa), the row's score counts at the mean depth of the
evidence that carries it. Rows without evidence (cwe, fwe, niah_none) count nowhere.

Documents. SQuAD's 500 rows of qa_1 ask about 132 paragraphs, and a model that misreads one answers
several of them wrongly: on 18 published runs a mean's variance is 1.05 to 1.28 times that of
independent rows; that of differences between two of them is not more (1.0 in the middle). In qa_2
no two rows have the same documents. A row asks the same at every length, so the shortest is read.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ruler_common.errors import RulerError
from ruler_common.frozen import why_custom
from ruler_common.manifest import has_threshold
from ruler_common.names import EVIDENCE_ALONE, Names
from ruler_eval.frozen_release import PartialRow, Release, place_of
from ruler_eval.prediction import Prediction, digest
from ruler_eval.score import intervals
from ruler_eval.score.aggregates import Baseline, SummaryOptions, summary
from ruler_eval.score.join import JoinedConfig, join_predictions
from ruler_eval.score.own_run import RunFacts, StoppedAt, note_of_stopped, stopped_at
from ruler_eval.score.predictions import Predictions
from ruler_eval.score.results import (
    FORMAT,
    Cell,
    DepthBin,
    Mean,
    Results,
    RowsByConfig,
    RowTable,
    ScoredDataset,
)
from ruler_eval.score.row_score import RowScore, ScoringRules, row_score
from ruler_score import ruler_score as metric

BINS = 10
"""Of depth."""
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
        predictions: What was read; without a release the references must be in the files.
        release: The release that the predictions are for.
        rules: The options that a row's score depends on.
        baseline: Sets the threshold of the effective length: `chat`, `base`, or a number.
        claimed: The model's window in tokens.
        progress: Takes the configurations' names and yields them one by one.

    Raises RulerError if nothing can be joined, or if the run was made on other data.
    """
    run = predictions.run
    rules = replace(rules or ScoringRules(), model=str(run.get("model") or "")).of(release)
    asked_partial = rules.partial
    stopped = _stopped(predictions)
    if stopped is not None:  # the rows after that were never to be asked
        asked_partial, rules = False, replace(rules, partial=True)
    names = release.names if release else predictions.names
    if rules.compat is not None and names.dataset != "oneruler":
        raise RulerError("--compat authors is for ONERULER: RULER's rule is its authors' own.")
    joined = join_predictions(predictions, release)
    scored = {name: _scored_rows(joined[name], rules) for name in progress([*joined])}
    documents = _shared_documents(scored, release) if release else {}
    cells: dict[str, Cell] = {}
    controls: dict[tuple[str, str | None, str], float | None] = {}
    for name, rows in scored.items():  # 0k, the control of a task, comes before its other lengths
        config = rows.joined.config
        place = config.task, config.tokenizer, config.languages
        cells[name] = _cell(rows, documents.get(name), controls.get(place), rules, stopped)
        if config.length == EVIDENCE_ALONE:
            controls[place] = cells[name]["score"]
    table = _row_table(scored, documents)
    by_config = RowsByConfig({name: rows.scores for name, rows in scored.items()}, documents)
    standard = has_threshold(release.manifest) if release else None
    options = SummaryOptions(
        standard=standard is not False,
        baseline=baseline,
        claimed=claimed,
        intervals=stopped is None,
    )
    notes = [note for rows in scored.values() for note in rows.notes]
    return {
        "format": FORMAT,
        "score_version": metric.SCORE_VERSION,
        "partial": rules.partial,
        "rules": {"compat": rules.compat, "cut": rules.cut},
        "options": {"partial": asked_partial, "threshold": baseline, "claimed": claimed},
        "dataset": _dataset(release, names, run, cells),
        "model": run.get("model"),
        "mode": run.get("mode"),
        "run": run,
        "predictions": predictions.files,
        "configurations": cells,
        "rows": table,
        "summary": summary(cells, by_config, names, options),
        "notes": [*([note_of_stopped(stopped)] if stopped else []), *predictions.damaged, *notes],
    }


def _stopped(predictions: Predictions) -> StoppedAt | None:
    """Return where its own scores stopped the run, if it did not go on to its last row."""
    found = stopped_at(predictions.run)
    if found is None:
        return None
    answered = Counter(config for config, _ in {(p.config, p.index) for p in predictions.rows})
    return found if min(answered.values(), default=0) < found["of"] else None


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
            "own_because": None,
        }
    manifest = release.manifest
    found: ScoredDataset = {
        "name": release.dataset,
        "source": place_of(release.source),
        "data_version": manifest["data_version"],
        "builder_version": manifest.get("builder_version"),
        "revision": release.revision,
        "seed": manifest.get("seed"),
        "tasks": list(names.tasks),
        "standard": has_threshold(manifest),
        "parameters": {task: dict(manifest["tasks"][task]) for task in names.tasks},
        "rows": {name: release.rows_sha256(name) for name in configs},
        "own_because": why_custom(manifest, configs),
    }
    if release.languages.custom:
        found["languages"] = {code: dict(own) for code, own in release.languages.custom.items()}
    return found


# ---- The rows of a configuration -------------------------------------------------------------


@dataclass(kw_only=True)
class ScoredRows:
    """The rows of a configuration that count, in its file's order, and what became of all."""

    joined: JoinedConfig
    rows: list[PartialRow] = field(default_factory=list)
    answers: list[Prediction | None] = field(default_factory=list)
    # Of several samples of a row the mean, and how many of how many are right.
    results: list[RowScore] = field(default_factory=list)
    right: list[tuple[int, int]] = field(default_factory=list)
    # References found in an answer that counts.
    found: list[float] = field(default_factory=list)
    asked: int = 0
    missing: list[int] = field(default_factory=list)
    missing_samples: int = 0
    # Rows by state, and by "cut_scored", "thinking", "thinking_cut" and "dropped".
    counts: Counter[str] = field(default_factory=Counter)
    # Depth and credit (0 … 1) of each reference that has a place in the context.
    credits: list[tuple[float, float]] = field(default_factory=list)

    @property
    def scores(self) -> dict[int, float]:
        """The scores (0 … 1) by index."""
        pairs = zip(self.rows, self.results, strict=True)
        return {int(row["index"]): result.score for row, result in pairs}

    @property
    def notes(self) -> list[str]:
        """What is odd about the answers, or missing."""
        notes, name = [*self.joined.notes], self.joined.name
        if self.missing:
            count, first = len(self.missing), self.missing[0]
            notes.append(f"{name}: {count} rows are missing, the first is row {first}")
        if self.missing_samples:
            of = f"{self.joined.repeats} a row"
            notes.append(f"{name}: {self.missing_samples} samples (of {of}) are missing")
        return notes


def _scored_rows(joined: JoinedConfig, rules: ScoringRules) -> ScoredRows:
    """Score the rows of a configuration; RulerError for predictions that are for other rows."""
    task, language = joined.task, joined.language
    spoken = rules.languages.rules(language) if language else None
    found = ScoredRows(joined=joined)
    for row, answer, marks in _marked_rows(joined):
        found.asked += 1
        index = int(row["index"])
        samples: Sequence[Prediction | None] = joined.samples.get(index, ())
        if not samples:
            found.missing.append(index)
            if rules.partial:
                continue
            samples = [None]
        else:
            found.missing_samples += joined.repeats - len(samples)
        of = len(samples) if rules.partial else joined.repeats  # those that are missing score 0
        results = [row_score(row, sample, task, language, rules) for sample in samples]
        result = _mean_of_samples(results, of)
        found.counts[result.state] += 1
        if result.cut_scored:
            found.counts["cut_scored"] += 1
        if result.thinking != "none":
            found.counts["thinking"] += 1
        if result.thinking == "truncated":
            found.counts["thinking_cut"] += 1
        if marks:
            hits = [0.0] * len(row["outputs"])
            for sample, scored in zip(samples, results, strict=True):
                if sample is not None and scored.counts:
                    each = metric.references_found(sample.text, row["outputs"], task, spoken)
                    hits = [hit + one / of for hit, one in zip(hits, each, strict=True)]
            for depth, number in marks:
                found.credits.append((depth, result.score if number is None else hits[number]))
        if rules.compat == "authors" and not any(scored.counts for scored in results):
            found.counts["dropped"] += 1  # their script leaves out what was never answered
            continue
        found.rows.append(row)
        found.answers.append(answer)
        found.results.append(result)
        right = references = 0.0
        for scored in results:
            right += scored.score == 1
            references += scored.found * scored.counts
        found.right.append((int(right), of))
        found.found.append(references / of)
    return found


def _mean_of_samples(results: Sequence[RowScore], of: int) -> RowScore:
    """Return the mean of a row's samples, and how the first ended that did not end well."""
    first = results[0]
    if of == 1:
        return first
    for result in results:
        if result.state != "ok":
            first = result
            break
    return first._replace(
        score=math.fsum(result.score for result in results) / of,
        strict=math.fsum(result.strict for result in results) / of,
        found=math.fsum(result.found for result in results) / of,
    )


def _pass_at(scored: ScoredRows, clusters: Sequence[np.ndarray] | None) -> dict[str, Mean]:
    """Return the share of rows that one of k samples gets right, for k = 1, 2, 4, … and all.

    Without bias: of n samples of which c are right, 1 − C(n − c, k) / C(n, k) (Chen et al., 2021).
    """
    n = min(of for _, of in scored.right)
    sizes = {1, n, *(2**power for power in range(n.bit_length()) if 2**power < n)}
    found: dict[str, Mean] = {}
    for k in sorted(sizes):
        values = np.array([1 - math.comb(of - c, k) / math.comb(of, k) for c, of in scored.right])
        interval = intervals.percent([values], None, clusters)
        found[str(k)] = {"score": 100 * float(values.mean()), "interval": interval}
    return found


def _cell(
    scored: ScoredRows,
    documents: Mapping[int, str] | None,
    control: float | None,
    rules: ScoringRules,
    stopped: StoppedAt | None,
) -> Cell:
    """Return the scores and counts of a configuration.

    `control` is the score of its task at 0k; a `stopped` run has no intervals.
    """
    joined, config, counts = scored.joined, scored.joined.config, scored.counts
    scores = np.array([result.score for result in scored.results], dtype=float)
    n = len(scores)
    mean = 100 * math.fsum(scores) / n if n else None
    strict = 100 * math.fsum([result.strict for result in scored.results]) / n if n else None
    clusters = None
    if documents:
        clusters = [np.array([documents[int(row["index"])] for row in scored.rows])]
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
        "interval": None if stopped else intervals.percent([scores], None, clusters),
        "failed": counts["failed"] + counts["does_not_fit"],
        "cut": counts["truncated"],
        "cut_scored": counts["cut_scored"],
        "thinking": counts["thinking"],
        "thinking_cut": counts["thinking_cut"],
        "missing": len(scored.missing),
        "rows_asked": scored.asked,
        "rows_available": joined.rows_available,
        "duplicated": joined.duplicated,
        "proof": joined.proof,
        "does_not_fit": counts["does_not_fit"],
        "depth": by_depth(scored.credits) if config.max_length else None,  # 0k has no depths
    }
    if rules.compat == "authors":
        cell["dropped"] = counts["dropped"]
    if joined.task in metric.QA_TASKS:
        cell["whole_word"] = strict
    if joined.task.startswith("cwe_"):
        cell["words_right"] = math.fsum(scored.found) / n if n else None
    if joined.repeats > 1 and n:
        cell["repeats"] = joined.repeats
        cell["pass_at"] = _pass_at(scored, clusters)
    if control and mean is not None:
        cell["relative_to_0k"] = 100 * mean / control
    if clusters is not None:
        cell["documents"] = len({*clusters[0]})
        cell["design_effect"] = intervals.design_effect(scores, clusters[0])
    return cell


def _row_table(
    scored: Mapping[str, ScoredRows], documents: Mapping[str, Mapping[int, str]]
) -> RowTable:
    """Return one table of the rows of all configurations."""
    table: RowTable = {
        "config": [],
        "task": [],
        "length": [],
        "language": [],
        "index": [],
        "score": [],
        "state": [],
        "found": [],
        "right": [],
        "thinking_tokens": [],
        "prompt_tokens": [],
        "references": [],
        "question": [],
        "prompt": [],
        "document": [],
    }
    for name, rows in scored.items():
        config, n = rows.joined.config, len(rows.rows)
        table["config"] += [name] * n
        table["task"] += [config.task] * n
        table["length"] += [config.length] * n
        table["language"] += [config.languages] * n
        indices = [int(row["index"]) for row in rows.rows]
        answers = [answer or _NO_ANSWER for answer in rows.answers]
        questions = [row.get("question") for row in rows.rows]
        table["index"] += indices
        table["score"] += [result.score for result in rows.results]
        table["state"] += [result.state for result in rows.results]
        table["found"] += [result.found for result in rows.results]
        table["right"] += [right for right, _ in rows.right]
        table["thinking_tokens"] += [answer.thinking_tokens for answer in answers]
        table["prompt_tokens"] += [answer.prompt_tokens for answer in answers]
        table["references"] += [digest("\n".join(row["outputs"])) for row in rows.rows]
        table["question"] += [digest(text) if text else None for text in questions]
        table["prompt"] += [answer.asked for answer in answers]
        shared = documents.get(name, {})
        table["document"] += [shared.get(index) for index in indices]
    return table


# ---- Depth -----------------------------------------------------------------------------------


class Mark(NamedTuple):
    """A place the answer needs: its depth and the number of the reference, or None for the row."""

    depth: float
    reference: int | None


def _marked_rows(
    joined: JoinedConfig,
) -> Iterator[tuple[PartialRow, Prediction | None, list[Mark]]]:
    """Yield the rows of a configuration, their answers, and the places of their references."""
    release = joined.release
    if release is None:
        for row, answer in joined.rows():
            yield row, answer, []
        return
    rows = list(joined.rows())
    alternatives = joined.task in metric.QA_TASKS
    spread = {row["index"] for row, _ in rows if is_spread(row, alternatives)}
    texts: Iterator[PartialRow] = iter(())
    if spread:  # one text at a time: they are large
        texts = release.rows(joined.name, ("index", "input"))
    for row, answer in rows:
        if row["index"] in spread:
            text = next(text for text in texts if text["index"] == row["index"])
            yield row, answer, marks({**row, **text}, alternatives)
        else:
            yield row, answer, marks(row, alternatives)


def is_spread(row: Mapping[str, Any], alternatives: bool) -> bool:
    """Return whether each of several references has its own evidence; then `marks` needs `input`.

    References are `alternatives` if one of them is enough.
    """
    gold = sum(span["answer"] for span in row["evidence"])
    return not alternatives and len(row["outputs"]) > 1 and gold == len(row["outputs"])


def marks(row: Mapping[str, Any], alternatives: bool) -> list[Mark]:
    """Return the places of a row's references.

    In a row that `is_spread` a reference belongs to the first span that holds it and no other's.
    """
    gold = [span for span in row["evidence"] if span["answer"]]
    if not gold:
        return []
    whole_row = [Mark(sum(span["depth"] for span in gold) / len(gold), None)]
    if not is_spread(row, alternatives):
        return whole_row
    remaining = list(range(len(gold)))
    found = []
    for span in gold:
        text = row["input"][span["start"] : span["end"]].casefold()
        inside = [number for number in remaining if row["outputs"][number].casefold() in text]
        if not inside:
            return whole_row
        remaining.remove(inside[0])
        found.append(Mark(span["depth"], inside[0]))
    return found


def bin_of(depth: float) -> int:
    """Return the bin of a depth; 1.0 belongs to the last."""
    return min(BINS - 1, max(0, int(depth * BINS + 1e-6)))


def by_depth(credits: Iterable[tuple[float, float]]) -> list[DepthBin] | None:
    """Return ten bins of (depth, credit 0 … 1) pairs; None without any."""
    totals = np.zeros(BINS)
    counts = np.zeros(BINS, dtype=int)
    for depth, credit in credits:
        totals[bin_of(depth)] += 100 * credit
        counts[bin_of(depth)] += 1
    return _bins(totals.tolist(), counts.tolist()) if counts.any() else None


def _bins(totals: Sequence[float], counts: Sequence[int]) -> list[DepthBin]:
    return [
        {"depth": [i / BINS, (i + 1) / BINS], "score": total / n if n else None, "n": n}
        for i, (total, n) in enumerate(zip(totals, counts, strict=True))
    ]


def mean_bins(several: Sequence[Sequence[DepthBin]]) -> list[DepthBin]:
    """Return the bins of several configurations together, each reference counting once."""
    totals = np.zeros(BINS)
    counts = np.zeros(BINS, dtype=int)
    for bins in several:
        for place, depth_bin in enumerate(bins):
            totals[place] += (depth_bin["score"] or 0) * depth_bin["n"]
            counts[place] += depth_bin["n"]
    return _bins(totals.tolist(), counts.tolist())


# ---- Documents -------------------------------------------------------------------------------


def _shared_documents(
    scored: Mapping[str, ScoredRows], release: Release
) -> dict[str, dict[int, str]]:
    """Return a digest of each row's documents, for configurations whose rows share some."""
    groups: dict[tuple[str, str | None], list[str]] = {}
    for name, rows in scored.items():
        if rows.joined.task in metric.QA_TASKS:
            config = rows.joined.config
            groups.setdefault((config.task, config.tokenizer), []).append(name)
    found = {}
    for names in groups.values():
        names.sort(key=lambda name: scored[name].joined.config.max_length)
        documents = _documents(names, release)
        if len({*documents.values()}) == len(documents):
            continue
        for name in names:
            indices = [int(row["index"]) for row in scored[name].rows]
            if indices and documents.keys() >= {*indices}:
                found[name] = {index: documents[index] for index in indices}
    return found


def _documents(names: Sequence[str], release: Release) -> dict[int, str]:
    """Return the documents by row, of the first configuration that has any: 0k may have none."""
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
